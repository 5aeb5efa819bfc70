#!/usr/bin/env python3
"""trainbench compare on files of its own and of other programs: verdicts, exit codes, formats, bad input."""

import json
import os
import unittest
import xml.etree.ElementTree

from cli import CliTest
from result_files import google_benchmark, ours


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

    def test_a_copy_of_a_file_is_no_process(self):
        base, new = (self.write(f"{name}.json", google_benchmark(10)) for name in ("base", "new"))
        os.symlink(base, self.path("copy.json"))
        twice = ",".join([base, self.path("copy.json")])
        self.assert_bad_input(self.run_program("compare", twice, new), "copy.json", "twice")
        self.assert_bad_input(self.run_program("compare", new, ",".join([base, base])), "base.json", "twice")
        self.assertEqual(self.run_program("compare", base, base).returncode, 0)

    def test_a_metric_that_no_repetition_has_is_refused(self):
        self.assert_bad_input(self.compare(ours(1), ours(1), "--metric", "flops_per_iteration"), "--exact")
        self.assert_bad_input(self.compare(ours(1), ours(1), "--metric", "flops"), "--metric", "flops")

    def test_no_name_hides_what_stands_after_it(self):
        base, new = (google_benchmark(time, name="a\0b\n\x1b[1m") for time in (10, 11))
        for format in ("table", "markdown", "json", "junit", "github"):
            with self.subTest(format):
                result = self.compare(base, new, "--format", format)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("SLOWER", result.stdout)
                self.assertIn("u0000b", result.stdout)
                self.assertFalse(set(result.stdout) & set("\0\x1b\r"))

    def test_a_file_is_named_in_one_line(self):
        self.assert_bad_input(self.run_program("compare", "no\nsuch.json", "x"), "no?such.json")

    def test_one_row_of_100_megabytes_is_refused(self):
        counters = ",".join(f'"c{i}": {i}' for i in range(1100000))
        path = self.write("wide.json", f'{{"benchmarks": [{{"name": "a", {counters}}}]}}')
        self.assert_bad_input(self.run_program("compare", path, path), "wide.json", "values")
        counters = ",".join(f'"c{i}": {i}' for i in range(300000))
        row = '"name": "a", "iterations": 1, "real_time": 1, "cpu_time": 1'
        path = self.write("less.json", f'{{"benchmarks": [{{{row}, {counters}}}]}}')
        self.assertEqual(self.run_program("compare", path, path).returncode, 0)

    def test_missing_fails_where_asked(self):
        base, fresh = (json.loads(google_benchmark(10, name=name)) for name in ("BM_gone", "BM_other"))
        for side in (base, fresh):
            side["benchmarks"] += json.loads(google_benchmark(10))["benchmarks"]
        sides = json.dumps(base), json.dumps(fresh)
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

    def test_percent(self):
        sides = google_benchmark(10), google_benchmark(11)
        self.assertEqual(self.compare(*sides, "--max-slowdown", "20%").returncode, 0)
        self.assertEqual(self.compare(*sides, "--max-slowdown", "2%").returncode, 1)

    def test_machine_readable_formats_parse(self):
        sides = google_benchmark(10), google_benchmark(11)
        junit = self.compare(*sides, "--format", "junit")
        suite = xml.etree.ElementTree.fromstring(junit.stdout)
        self.assertEqual(suite.attrib["failures"], "1")
        github = self.compare(*sides, "--format", "github").stdout
        self.assertTrue(github.startswith("::error title=trainbench SLOWER::BM_step"), github)
        self.assertIn("| SLOWER |", self.compare(*sides, "--format", "markdown").stdout)

    def test_different_builds_are_refused_by_name(self):
        base = ours(1)
        for key, value, word in (("host_id", "two", "machine"), ("compiler", "Clang 14", "compiler"),
                                 ("flags", "-O2", "compiler flags"), ("build_type", "RelWithDebInfo", "build type")):
            with self.subTest(key=key):
                new = ours(2, **{key: value})
                self.assert_bad_input(self.compare(base, new), word, value, "--cross-host")
                crossed = self.compare(base, new, "--cross-host")
                self.assertEqual(crossed.returncode, 1, crossed.stderr)
                self.assertIn("--cross-host: the sides differ in " + word, crossed.stdout)
                # Counts hold anywhere: the times, twice as long, are not looked at.
                counts = self.compare(base, new, "--exact", "flops")
                self.assertEqual(counts.returncode, 0, counts.stderr)
                self.assertIn("Times were not compared", counts.stdout)
                self.assertIn("the sides differ in " + word, counts.stdout)

    def test_debug_builds_are_refused_even_across_hosts(self):
        for changes in ({"build_type": "Debug"}, {"sanitizers": "address"}):
            debug = ours(1, **changes)
            for flags in ((), ("--cross-host",)):
                self.assert_bad_input(self.compare(debug, debug, *flags), "build", "--counts-only")
            counts = self.compare(debug, debug, "--exact", "flops", "--cross-host")
            self.assertEqual(counts.returncode, 0, counts.stderr)
            self.assertIn("Times were not compared", counts.stdout)

    def test_counts_alone(self):
        result = self.compare(ours(1), ours(2, host_id="two"), "--counts-only", "--format", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        document = json.loads(result.stdout)
        self.assertFalse(document["times_compared"])
        self.assertIn("machine", " ".join(document["remarks"]))

    def test_nothing_in_common_is_said(self):
        result = self.compare(ours(1), ours(1, case="train/gpt/cpu/fp32/batch:32"), "--fail-on", "missing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing was compared", result.stdout)

    def test_a_gate_that_compared_nothing_has_not_passed(self):
        result = self.compare(ours(1), ours(1, case="train/gpt/cpu/fp32/batch:32"))
        self.assertEqual(result.returncode, 2)
        self.assertIn("no case was measured on both sides", result.stderr)

    def test_per_case_names_that_fit_nothing_are_said(self):
        thresholds = self.write("limits.json", '{"train/mlp/cpu/fp32/batch:23": 0.2}')
        result = self.compare(ours(1), ours(1), "--per-case", thresholds)
        self.assertIn("no case has 1 of its 1 names", result.stdout)

    def test_nan_and_infinity_are_read(self):
        rows = google_benchmark(10).replace('"iterations"', '"rate": NaN, "most": -Infinity, "iterations"')
        result = self.compare(rows, rows)
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_a_file_that_is_too_large_or_never_ends(self):
        good = self.write("good.json", google_benchmark(10))
        with open(self.path("large.json"), "wb") as file:
            file.truncate(300 << 20)
        for path in (self.path("large.json"), "/dev/zero"):
            self.assert_bad_input(self.run_program("compare", good, path), path, "larger than")
        self.assert_bad_input(self.run_program("compare", good, self.folder), "folder")

    def test_many_repetitions_of_one_case(self):
        many = google_benchmark(10, count=20000)
        result = self.compare(many, many)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("20000/20000", result.stdout)

    def test_a_filter_that_would_backtrack_for_ever(self):
        name = "BM_" + "a" * 2000
        sides = google_benchmark(10, name=name), google_benchmark(10, name=name)
        self.assert_bad_input(self.compare(*sides, "--filter", "^BM_(a+)+b$"), "no case")
        self.assertEqual(self.compare(*sides, "--filter", "^BM_(a+)+$").returncode, 0)

    def test_help_names_the_counters(self):
        text = self.run_program("compare", "--help").stdout
        for name in ("flops", "bytes", "launches", "allocations", "memory", "operations_per_iteration"):
            self.assertIn(name, text)

    def test_no_file_and_no_number(self):
        good = self.write("good.json", google_benchmark(10))
        self.assert_bad_input(self.run_program("compare", "", ""), "result file")
        self.assert_bad_input(self.run_program("compare", good, ""), "result file")
        # Against NaN nothing is larger: every regression would pass.
        for flag in ("--alpha", "--max-slowdown"):
            self.assert_bad_input(self.run_program("compare", good, good, flag, "nan"), flag, "nan")

    def test_bad_files(self):
        good = google_benchmark(10)
        whole = ours(1)
        for cut in range(0, len(whole) - 1, len(whole) // 40):
            self.assert_bad_input(self.compare(good, whole[:cut]), "new.json")
        nested = json.loads(whole)
        deep = []
        for _ in range(100):
            deep = [deep]
        nested["context"]["deep"] = deep
        self.assert_bad_input(self.compare(good, json.dumps(nested)), "new.json", "/context/deep", "nested deeper")
        for text, word in (("", "new.json"), ("{", "new.json:1:2"), ("[]", "new.json"), ('{"benchmarks": 3}', "benchmarks"),
                           (google_benchmark(10, run_type="aggregate"), "aggregates only"),
                           ("[" * 100000, "new.json"), ("name,time\nBM_step,10\n", "new.json:1:2"),
                           ("<testsuite/>", "new.json:1:1"), ("null", "new.json"), ("\0" * 100, "new.json"),
                           ('{"context": {}}', "benchmarks"), ('{"benchmarks": {}}', "benchmarks"),
                           ('{"benchmarks": [1]}', "/benchmarks/0"),
                           ('{"benchmarks": [], "benchmarks": []}', "stands twice")):
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
