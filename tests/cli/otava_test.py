#!/usr/bin/env python3
"""The real Apache Otava finds in an exported history the change that is in it, and none in another."""

import json
import os
import shutil
import subprocess
import unittest

from cli import CliTest, skip
from result_files import CASE, ours

OTAVA = os.environ.get("TRAINBENCH_OTAVA") or shutil.which("otava")
if not OTAVA:
    skip("Apache Otava is not installed (pip install apache-otava; TRAINBENCH_OTAVA names the program)")

STEADY = CASE + ",x:1"  # a comma: both files must quote it alike


class OtavaTest(CliTest):
    def analyze(self, config):
        result = subprocess.run([OTAVA, "analyze", "--config-file", config, "trainbench", "--output", "json"],
                                cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("ERROR", result.stderr)
        return json.loads(result.stdout)["trainbench"]

    def test_finds_the_change_and_its_commit(self):
        os.makedirs(self.path("runs"))
        for day in range(1, 29):
            noise = 1 + 0.002 * ((7 * day) % 5 - 2)
            run = json.loads(ours(noise * (1 if day < 15 else 1.1), date=f"2026-02-{day:02}T12:00:00Z", commit=f"c{day}"))
            run["benchmarks"] += json.loads(ours(noise, case=STEADY))["benchmarks"]
            self.write(f"runs/{day}.json", json.dumps(run))
        history, config = self.path("history.csv"), self.path("otava.json")
        result = self.run_program("export", self.path("runs"), "--format", "csv", "--out", history, "--otava", config)
        self.assertEqual(result.returncode, 0, result.stderr)
        (point,) = self.analyze(config)
        self.assertEqual(point["attributes"], {"commit": "c15"})
        (change,) = point["changes"]
        self.assertEqual(change["metric"], CASE + " time_ns")
        self.assertAlmostEqual(float(change["magnitude"]), 0.1, delta=0.01)


if __name__ == "__main__":
    unittest.main()
