"""A run's JSON is what the schema says, and tools for Google Benchmark's JSON read it."""

import json
import os
import subprocess
import unittest

from cli import SMALL_RUN, SOURCE, CliTest, skip

try:
    import jsonschema
except ImportError:
    skip("python3-jsonschema is not installed")

COMPARE = "/usr/share/benchmark/compare.py"
if not os.path.exists(COMPARE):
    skip("libbenchmark-tools is not installed")


class Result(CliTest):
    def measure(self, name):
        run = self.run_program(*SMALL_RUN, "synthetic", "--out", self.path(name))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn(self.path(name), run.stderr)
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file, parse_constant=self.fail)  # NaN and infinities

    def test_schema(self):
        with open(os.path.join(SOURCE, "configs/schema/result.schema.json"), encoding="utf-8") as file:
            schema = json.load(file)
        result = self.measure("a.json")
        jsonschema.Draft202012Validator(schema).validate(result)
        for row in result["benchmarks"]:
            aggregate = "_" + row["aggregate_name"] if row["run_type"] == "aggregate" else ""
            self.assertEqual(row["name"], row["run_name"] + aggregate)
            self.assertTrue(row["name"].startswith("train/mlp/cpu/fp32/"))

    def test_says_what_was_checked_and_left_out(self):
        result = self.measure("a.json")
        context = result["context"]["trainbench"]
        self.assertTrue(context["sampling"]["stop"] and context["sampling"]["discarded"])
        self.assertEqual(context["precisions"],
                         {"fp32": {"compute": "f32", "master": "f32", "math": "exact", "loss_scaling": False}})
        self.assertEqual(list(context["initial_weights"]), ["random_numbers", "mlp"])
        rows = [row for row in result["benchmarks"] if row["run_type"] == "iteration"]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertGreaterEqual(row["untimed_iterations"], 1)
        # More than one result of a step, each of them whole or this many elements of it.
        self.assertGreater(rows[0]["checked_outputs"], context["parity"]["elements"])
        self.assertLessEqual(rows[0]["error_of_tolerance"], 1)

    def test_standard_output(self):
        run = self.run_program(*SMALL_RUN, "synthetic", "--out", "-", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(json.loads(run.stdout)["benchmarks"])

    def test_google_benchmarks_compare(self):
        self.measure("a.json")
        self.measure("b.json")
        compared = subprocess.run(["/usr/bin/python3", COMPARE, "benchmarks", self.path("a.json"), self.path("b.json")],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(compared.returncode, 0, compared.stderr)
        self.assertIn("train/mlp/cpu/fp32/", compared.stdout)


if __name__ == "__main__":
    unittest.main()
