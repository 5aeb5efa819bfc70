"""trainbench ab: two builds in turns. A build that differs is the same one behind a script that plants a fault in it."""

import glob
import json
import os
import signal
import subprocess
import time
import unittest

from cli import BINARY, CliTest, sanitized, skip

if sanitized():
    skip("times of a build with sanitizers are not compared")

MLP = {"family": "train", "case": "mlp", "device": "cpu", "precision": "fp32", "sizes": {"hidden": 64}}
BOTH, ONLY_A, ONLY_B = (f"train/mlp/cpu/fp32/batch:{batch}/hidden:64" for batch in (8, 16, 32))


class Ab(CliTest):
    def setUp(self):
        super().setUp()
        self.write_suite("suite.json", 8)

    def write_suite(self, name, *batches):
        suite = {"name": "small", "repetitions": 2, "min_time": 0.001, "cases": [{**MLP, "batch": list(batches)}]}
        return self.write(name, json.dumps(suite))

    def program(self, name, first=""):
        """A program that does `first` and is then the binary."""
        path = self.write(name, f'#!/bin/sh\n{first}\nexec "{BINARY}" "$@"\n')
        os.chmod(path, 0o755)
        return path

    def arguments(self, b, *further):
        return ["ab", BINARY, b, "suite.json", "--data", "synthetic", "--out", self.path("evidence"), *further]

    def ab(self, b, *further):
        result = self.run_program(*self.arguments(b, *further), TMPDIR=self.folder)
        self.assertEqual(glob.glob(self.path("trainbench-ab-*")), [])
        return result

    def evidence(self, side):
        with open(self.path(f"evidence/{side}.json"), encoding="utf-8") as file:
            return json.load(file)

    def test_a_slower_build(self):
        slow = self.program("slow", "export TRAINBENCH_TEST_FAULT=slow:batch:2")
        # One case at 0.05 takes six blocks; so wide an interval is narrow enough at once.
        result = self.ab(slow, "--alpha", "0.05", "--width", "1000%", "--max-slowdown", "10%", "--format", "json")
        self.assertEqual(result.returncode, 1, result.stderr)
        case = json.loads(result.stdout)["cases"][0]
        self.assertEqual((case["verdict"], case["unit"], case["base_units"]), ("SLOWER", "block", 6))
        for side in ("a", "b"):
            evidence = self.evidence(side)
            blocks = [row["trainbench"]["process"] for row in evidence["benchmarks"] if row["run_type"] == "iteration"]
            self.assertEqual(blocks, [block for block in range(6) for _ in range(3)])
        self.assertIn("test_fault", evidence["context"]["trainbench"])
        compared = self.run_program("compare", self.path("evidence/a.json"), self.path("evidence/b.json"))
        self.assertIn("6/6 processes", compared.stdout)
        self.assertIn("NOT REAL", compared.stdout)

    def test_cases_of_one_side_and_too_few_blocks(self):
        os.mkdir(self.path("other"))
        self.write_suite("suite.json", 8, 16)
        self.write_suite("other/suite.json", 8, 32)
        other = self.program("other.sh", f'cd "{self.path("other")}"')
        result = self.ab(other, "--budget", "0", "--format", "json", "--fail-on", "ambiguous")
        self.assertEqual(result.returncode, 3, result.stderr)
        cases = {case["name"]: case for case in json.loads(result.stdout)["cases"]}
        self.assertEqual({name: case["verdict"] for name, case in cases.items()},
                         {BOTH: "AMBIGUOUS", ONLY_A: "MISSING", ONLY_B: "NEW"})
        self.assertEqual(cases[BOTH]["base_units"], 1)
        self.assertIn("too few blocks to decide; 8 could", json.dumps(cases[BOTH]))
        self.assertIn("budget", result.stderr)
        self.assertEqual(self.ab(other, "--budget", "0", "--fail-on", "missing").returncode, 1)

    def test_a_crashing_build(self):
        crashing = self.program("crashing", "export TRAINBENCH_TEST_FAULT=crash:batch")
        result = self.ab(crashing)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("FAILED", result.stdout)
        self.assertIn("SIGSEGV", result.stdout)

    def test_interrupt(self):
        process = subprocess.Popen([BINARY, *self.arguments(BINARY)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while process.poll() is None and not os.path.exists(self.path("evidence/b.json")):
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
        self.assertEqual(process.returncode, 130, errors)
        self.assertIn("interrupted", output)
        self.assertTrue(self.evidence("a")["context"]["trainbench"]["partial"])

    def test_bad_input(self):
        self.assert_bad_input(self.ab(self.path("none")), "none", "no program")
        self.assert_bad_input(self.ab("/bin/true"), "/bin/true", "no result")
        self.assert_bad_input(self.ab(BINARY, "--filter", "no such case"), BINARY, "no such case")
        self.assert_bad_input(self.ab(BINARY, "--device", "gpx"), "gpx", "gpu")
        self.assert_bad_input(self.ab(BINARY, "--width", "1 %"), "--width", "1%")
        self.assert_bad_input(self.ab(BINARY, "--metric", "none"), "--metric", "none")


if __name__ == "__main__":
    unittest.main()
