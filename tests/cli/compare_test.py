#!/usr/bin/env python3
"""trainbench compare on files of its own and of other programs: verdicts, exit codes, formats, bad input."""

import json
import unittest
import xml.etree.ElementTree

from cli import CliTest


def google_benchmark(time, count=10, name="BM_step", **row):
    """A result of another program: `count` repetitions around `time`, half a percent apart."""
    rows = [
        {"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "iterations": 5,
         "real_time": time * (1 + 0.0005 * i), "cpu_time": time, "time_unit": "ms", **row}
        for i in range(count)
    ]
    return json.dumps({"context": {"num_cpus": 2}, "benchmarks": rows})


class CompareTest(CliTest):
    def compare(self, base, new, *arguments):
        return self.run_program("compare", self.write("base.json", base), self.write("new.json", new), *arguments)

    def test_equal_sides_pass(self):
        result = self.compare(google_benchmark(10), google_benchmark(10))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("1 SAME", result.stdout)

    def test_a_regression_exits_1_and_a_gain_0(self):
        result = self.compare(google_benchmark(10), google_benchmark(11))
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertIn("1 SLOWER", result.stdout)
        result = self.compare(google_benchmark(11), google_benchmark(10))
        self.assertEqual(result.returncode, 0)
        self.assertIn("1 FASTER", result.stdout)

    def test_undecided_exits_3_where_asked(self):
        few = google_benchmark(10, count=3), google_benchmark(20, count=3)
        self.assertEqual(self.compare(*few).returncode, 0)
        result = self.compare(*few, "--fail-on", "slower,ambiguous")
        self.assertEqual(result.returncode, 3)
        self.assertIn("5 a side could", result.stdout)

    def test_missing_fails_where_asked(self):
        sides = google_benchmark(10), google_benchmark(10, name="BM_other")
        self.assertEqual(self.compare(*sides).returncode, 0)
        self.assertEqual(self.compare(*sides, "--fail-on", "missing").returncode, 1)

    def test_several_files_are_several_processes(self):
        for i in range(5):
            self.write(f"base{i}.json", google_benchmark(10 + 0.01 * i))
            self.write(f"new{i}.json", google_benchmark(11 + 0.01 * i))
        files = [",".join(self.path(f"{side}{i}.json") for i in range(5)) for side in ("base", "new")]
        result = self.run_program("compare", *files, "--format", "json")
        self.assertEqual(result.returncode, 1, result.stderr)
        case = json.loads(result.stdout)["cases"][0]
        self.assertEqual((case["unit"], case["base_units"], case["new_units"]), ("process", 5, 5))

    def test_per_case_thresholds(self):
        sides = google_benchmark(10), google_benchmark(11)
        loose = self.write("loose.json", '{"BM_step": 0.2}')
        self.assertEqual(self.compare(*sides, "--per-case", loose).returncode, 0)
        broken = self.write("broken.json", '{"BM_step": "much"}')
        self.assert_bad_input(self.compare(*sides, "--per-case", broken), "broken.json", "BM_step")

    def test_machine_readable_formats_parse(self):
        sides = google_benchmark(10), google_benchmark(11)
        junit = self.compare(*sides, "--format", "junit")
        suite = xml.etree.ElementTree.fromstring(junit.stdout)
        self.assertEqual(suite.attrib["failures"], "1")
        github = self.compare(*sides, "--format", "github").stdout
        self.assertTrue(github.startswith("::error title=trainbench SLOWER::BM_step"), github)
        self.assertIn("| SLOWER |", self.compare(*sides, "--format", "markdown").stdout)

    def test_no_file_and_no_number(self):
        good = self.write("good.json", google_benchmark(10))
        self.assert_bad_input(self.run_program("compare", "", ""), "result file")
        self.assert_bad_input(self.run_program("compare", good, ""), "result file")
        # Against NaN nothing is larger: every regression would pass.
        for flag in ("--alpha", "--max-slowdown"):
            self.assert_bad_input(self.run_program("compare", good, good, flag, "nan"), flag, "nan")

    def test_bad_files(self):
        good = google_benchmark(10)
        for text, word in (("", "new.json"), ("{", "new.json:1:2"), ("[]", "new.json"), ('{"benchmarks": 3}', "benchmarks"),
                           (google_benchmark(10, run_type="aggregate"), "aggregates only"),
                           ("[" * 100000, "new.json")):
            with self.subTest(text=text[:20]):
                self.assert_bad_input(self.compare(good, text), word)
        self.assert_bad_input(self.run_program("compare", self.path("base.json"), self.path("none.json")), "none.json")
        self.assert_bad_input(self.compare(good, good, "--filter", "("), "--filter")
        self.assert_bad_input(self.compare(good, good, "--filter", "nothing"), "no case")
        self.assert_bad_input(self.compare(good, good, "--fail-on", "slow"), "--fail-on")
        self.assert_bad_input(self.compare(good, good, "--metric", "wal_time"), "--metric", "wal_time")
        self.assert_bad_input(self.compare(good, good, "--exact", "flop"), "--exact", "flop")


if __name__ == "__main__":
    unittest.main()
