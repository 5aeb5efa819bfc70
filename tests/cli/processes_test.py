"""run --processes: repetitions shared by child processes; one that crashes or hangs costs the case it was in."""

import json
import os
import unittest

from cli import CliTest, repetitions_of, sanitized

REPETITIONS = 4
SUITE = {"name": "small", "repetitions": REPETITIONS, "min_time": 0.001, "cases": [
    {"family": "train", "case": "mlp", "device": "cpu", "precision": ["fp32", "bf16"], "batch": 16,
     "sizes": {"hidden": 64}},
    {"family": "loader", "case": "images28", "device": "cpu", "batch": 16}]}
GOOD = ["train/mlp/cpu/fp32/batch:16/hidden:64", "loader/images28/cpu/u8/batch:16"]
FAULTY = "train/mlp/cpu/bf16/batch:16/hidden:64"


class Processes(CliTest):
    def setUp(self):
        super().setUp()
        self.suite = self.write("suite.json", json.dumps(SUITE))

    def run_suite(self, *arguments, **changes):
        return self.run_program("run", self.suite, "--data", "synthetic", *arguments, **changes)

    def measure(self, *arguments, **changes):
        """The program's answer, its result, and the result's rows of repetitions by case."""
        answer = self.run_suite("--out", self.path("result.json"), *arguments, **changes)
        with open(self.path("result.json"), encoding="utf-8") as file:
            result = json.load(file)
        rows = repetitions_of(result)
        self.assertEqual(sorted(os.listdir(self.folder)), ["result.json", "suite.json"])
        return answer, result, rows

    def processes(self, rows):
        return [row["trainbench"]["process"] for row in rows]

    def check_failure(self, fault, reason, *arguments):
        """Two processes: the first dies in its first repetition of one case, and everything else is measured."""
        answer, result, rows = self.measure("--processes", "2", *arguments, TRAINBENCH_TEST_FAULT=f"{fault}:bf16")
        self.assertEqual(answer.returncode, 1, answer.stderr)
        failed = rows[FAULTY][0]
        self.assertEqual(failed["trainbench"]["status"], "failed")
        self.assertIn(reason, failed["trainbench"]["reason"])
        self.assertIn(reason, answer.stdout)
        for name in GOOD:
            self.assertEqual(len(rows[name]), REPETITIONS, rows[name])
            for row in rows[name]:
                self.assertEqual(row["trainbench"]["status"], "ok")
                self.assertIn("samples_per_second", row)
        self.assertIn("NOT REAL", answer.stdout)
        self.assertEqual(result["context"]["trainbench"]["test_fault"], f"{fault}:bf16")

    def test_each_has_its_share(self):
        answer, result, rows = self.measure("--processes", "3")
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(result["context"]["trainbench"]["settings"]["processes"], 3)
        self.assertEqual(set(rows), {*GOOD, FAULTY})
        for name in rows:
            self.assertEqual(self.processes(rows[name]), [0, 0, 1, 2])
            self.assertEqual([row["repetition_index"] for row in rows[name]], [0, 1, 2, 3])
            for row in rows[name]:
                self.assertGreater(row["cpu_time"], 0)

    @unittest.skipIf(sanitized(), "times of a build with sanitizers are not compared")
    def test_compare_takes_a_process_as_one_value(self):
        self.measure("--processes", str(REPETITIONS))
        path = self.path("result.json")
        compared = self.run_program("compare", path, path, "--format", "json")
        self.assertEqual(compared.returncode, 0, compared.stderr)
        for case in json.loads(compared.stdout)["cases"]:
            self.assertEqual((case["unit"], case["base_units"]), ("process", REPETITIONS))

    def test_standard_output(self):
        run = self.run_suite("--processes", "1", "--out", "-", "--format", "json", TMPDIR=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(len(json.loads(run.stdout)["benchmarks"]), 3 * (REPETITIONS + 4))
        self.assertEqual(os.listdir(self.folder), ["suite.json"])

    def test_signals(self):
        self.check_failure("crash", "SIGSEGV (Segmentation fault)")
        self.check_failure("kill", "killed (SIGKILL), most likely out of memory")

    def test_hang(self):
        self.check_failure("hang", "longer than the time limit of 10 s", "--time-limit", "10")

    def test_exception(self):
        self.check_failure("fail", "planted by a test")

    def test_bad_input(self):
        self.assert_bad_input(self.run_suite("--processes", "0"), "--processes")
        self.assert_bad_input(self.run_suite("--processes", "5"), "--processes", "4 repetitions")
        self.assert_bad_input(self.run_suite("--time-limit", "5"), "--time-limit", "--processes")
        self.assert_bad_input(self.run_suite(TRAINBENCH_TEST_FAULT="slow:x"), "TRAINBENCH_TEST_FAULT")


if __name__ == "__main__":
    unittest.main()
