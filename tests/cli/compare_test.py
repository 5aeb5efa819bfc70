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


def ours(time, case="train/mlp/cpu/fp32/batch:32", **context):
    """A result of trainbench; what context says replaces what stands in build or machine."""
    build = {"build_type": "Release", "compiler": "GNU 12.2.0", "flags": "-O3", "sanitizers": ""}
    machine = {"host_id": "one"}
    for values in (build, machine):
        values.update({key: value for key, value in context.items() if key in values})
    own = {"schema_version": 1, "partial": False, "build": build, "machine": machine}
    rows = [
        {"name": case, "run_name": case, "run_type": "iteration", "repetition_index": i, "iterations": 5,
         "real_time": time * (1 + 0.0005 * i), "cpu_time": time, "time_unit": "s",
         "wall_time": time * (1 + 0.0005 * i), "flops_per_iteration": 1e9,
         "trainbench": {"status": "ok", "simulated": False, "served": {}, "constant": ["flops_per_iteration"],
                        "process": 0}}
        for i in range(10)
    ]
    return json.dumps({"context": {"trainbench": own}, "benchmarks": rows})


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
                self.assert_bad_input(self.compare(debug, debug, *flags), "build", "--exact")
            counts = self.compare(debug, debug, "--exact", "flops", "--cross-host")
            self.assertEqual(counts.returncode, 0, counts.stderr)
            self.assertIn("Times were not compared", counts.stdout)

    def test_nothing_in_common_is_said(self):
        result = self.compare(ours(1), ours(1, case="train/gpt/cpu/fp32/batch:32"), "--fail-on", "missing")
        self.assertEqual(result.returncode, 1)
        self.assertIn("nothing was compared", result.stdout)

    def test_per_case_names_that_fit_nothing_are_said(self):
        thresholds = self.write("limits.json", '{"train/mlp/cpu/fp32/batch:23": 0.2}')
        result = self.compare(ours(1), ours(1), "--per-case", thresholds)
        self.assertIn("no case has 1 of its 1 names", result.stdout)

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
