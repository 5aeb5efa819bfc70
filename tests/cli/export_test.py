#!/usr/bin/env python3
"""trainbench export: each format through a strict parser of what its tool documents."""

import csv
import json
import os
import sys
import unittest

from cli import CliTest
from result_files import CASE, google_benchmark, ours

try:
    import jsonschema
except ImportError:
    print("skipped: python3-jsonschema is not installed", file=sys.stderr)
    sys.exit(77)

# github-action-benchmark, "customBiggerIsBetter": README, section "Custom benchmark data".
GITHUB_ACTION_BENCHMARK = {
    "type": "array", "minItems": 1,
    "items": {"type": "object", "required": ["name", "unit", "value"], "additionalProperties": False,
              "properties": {"name": {"type": "string", "minLength": 1}, "unit": {"type": "string", "minLength": 1},
                             "value": {"type": "number"}, "range": {"type": "string"}, "extra": {"type": "string"}}},
}

# Bencher metric format: benchmark name, measure's slug, then value with optional bounds.
BENCHER = {
    "type": "object", "minProperties": 1, "propertyNames": {"minLength": 1, "maxLength": 1024},
    "additionalProperties": {
        "type": "object", "minProperties": 1, "propertyNames": {"pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        "additionalProperties": {
            "type": "object", "required": ["value"], "additionalProperties": False,
            "properties": {key: {"type": "number"} for key in ("value", "lower_value", "upper_value")}}},
}


def refuse(token):
    raise ValueError(f"{token} is no JSON")


def strict_json(text):
    def no_duplicates(pairs):
        keys = [key for key, _ in pairs]
        if len(set(keys)) != len(keys):
            raise ValueError("a key stands twice")
        return dict(pairs)

    return json.loads(text, parse_constant=refuse, object_pairs_hook=no_duplicates)


class ExportTest(CliTest):
    def export(self, text, *arguments):
        return self.run_program("export", self.write("run.json", text), "--format", *arguments)

    def test_github_action_benchmark(self):
        result = self.export(ours(0.5), "github-action-benchmark")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = strict_json(result.stdout)
        jsonschema.validate(rows, GITHUB_ACTION_BENCHMARK)
        self.assertEqual([row["name"] for row in rows], [CASE])
        self.assertEqual(rows[0]["unit"], "samples/s")
        self.assertAlmostEqual(rows[0]["value"], 64 / (1 + 0.0005 * 4.5), places=3)

    def test_bencher(self):
        result = self.export(ours(0.5), "bencher")
        document = strict_json(result.stdout)
        jsonschema.validate(document, BENCHER)
        measures = document[CASE]
        self.assertAlmostEqual(measures["latency"]["value"], 0.5e9 * (1 + 0.0005 * 4.5), places=0)
        for name in ("latency", "throughput"):
            self.assertLess(measures[name]["lower_value"], measures[name]["value"])
            self.assertGreater(measures[name]["upper_value"], measures[name]["value"])
        self.assertEqual(measures["memory"], {"value": 1024.0})

    def test_another_program_counts_iterations(self):
        text = google_benchmark(10).replace('{"num_cpus"', '{"date": "2026-11-30T12:00:00", "num_cpus"')
        (row,) = strict_json(self.export(text, "github-action-benchmark").stdout)
        self.assertEqual(row["unit"], "iterations/s")
        self.assertAlmostEqual(row["value"], 100, delta=0.5)

    def history(self, *arguments):
        os.makedirs(self.path("runs/deeper"))
        # By date in UTC, not by name: c comes first.
        self.write("runs/a.json", ours(2, date="2026-11-02T12:00:00+00:00", commit="aaa"))
        self.write("runs/b.json", ours(3, date="2026-11-03T00:30:00+02:00", commit="bbb"))
        self.write("runs/deeper/c.json", ours(1, date="2026-11-01T12:00:00+00:00", commit="ccc"))
        return self.run_program("export", self.path("runs"), "--format", "csv", *arguments)

    def test_csv_is_a_row_for_each_run(self):
        result = self.history()
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = list(csv.reader(result.stdout.splitlines(), strict=True))
        self.assertEqual(rows[0], ["time", "commit", CASE + " memory_bytes", CASE + " time_ns"])
        self.assertEqual([row[:2] for row in rows[1:]],
                         [["2026-11-01T12:00:00Z", "ccc"], ["2026-11-02T12:00:00Z", "aaa"], ["2026-11-02T22:30:00Z", "bbb"]])
        self.assertEqual([round(float(row[3]) / 1e9) for row in rows[1:]], [1, 2, 3])

    def test_csv_has_no_empty_cell(self):
        names = [self.write("a.json", ours(1)), self.write("b.json", ours(1, case=CASE + ",x:1"))]
        both = json.loads(ours(1))
        both["benchmarks"] += json.loads(ours(1, case=CASE + ",x:1"))["benchmarks"]
        names.append(self.write("c.json", json.dumps(both)))
        self.assert_bad_input(self.run_program("export", *names, "--format", "csv"), "in every run")
        result = self.run_program("export", names[0], names[2], "--format", "csv")
        self.assertEqual(result.returncode, 0, result.stderr)
        rows = list(csv.reader(result.stdout.splitlines(), strict=True))
        self.assertEqual({len(row) for row in rows}, {4})
        self.assertIn("not in every run: " + CASE + ",x:1 time_ns", result.stderr)
        quoted = self.run_program("export", *names[1:], "--format", "csv")
        (header, *_) = csv.reader(quoted.stdout.splitlines(), strict=True)
        self.assertIn(CASE + ",x:1 time_ns", header)

    def test_written_as_a_whole_or_not_at_all(self):
        out = self.write("out.json", "before")
        self.assert_bad_input(self.export("{", "bencher", "--out", out), "run.json")
        with open(out, encoding="utf-8") as file:
            self.assertEqual(file.read(), "before")
        self.assertEqual(self.export(ours(1), "bencher", "--out", out).returncode, 0)
        with open(out, encoding="utf-8") as file:
            jsonschema.validate(strict_json(file.read()), BENCHER)
        self.assertEqual(sorted(os.listdir(self.folder)), ["out.json", "run.json"])

    def test_what_cannot_be_exported(self):
        self.assert_bad_input(self.export(ours(1, simulated=True), "bencher"), "run.json", "speed")
        self.assert_bad_input(self.export(ours(1, status="failed"), "bencher"), "speed")
        self.assert_bad_input(self.export(ours(1), "xml"), "--format")
        self.assert_bad_input(self.export(ours(1), "csv", "--otava", "o.json"), "--otava", "--out")
        self.assert_bad_input(self.history("--filter", "nothing"), "speed")
        two = self.run_program("export", self.path("runs"), "--format", "bencher")
        self.assert_bad_input(two, "bencher", "3")


if __name__ == "__main__":
    unittest.main()
