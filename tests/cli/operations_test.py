#!/usr/bin/env python3
"""The families of operations from outside: they run, are checked, follow the overrides and can be compared."""

import json
import unittest

from cli import CliTest, repetitions_of, sanitized

OWN = "^(matmul|conv|attention|scaling|infer)/"


class Operations(CliTest):
    def run_ci(self, *arguments):
        """The rows of repetitions of the suite ci's operations on the CPU, by case."""
        answer = self.run_program("run", "ci", "--device", "cpu", "--data", "synthetic", "--repetitions", "2",
                                  "--min-time", "0.001", "--no-peaks", "--out", self.path("result.json"), *arguments)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        with open(self.path("result.json"), encoding="utf-8") as file:
            result = json.load(file)
        rows = repetitions_of(result)
        return answer, rows

    def test_each_family_is_measured_and_checked(self):
        answer, rows = self.run_ci("--filter", OWN)
        self.assertEqual({name.split("/")[0] for name in rows}, {"matmul", "conv", "attention", "scaling", "infer"})
        for name, repetitions in rows.items():
            first = repetitions[0]
            if first["trainbench"]["status"] == "skipped":
                self.assertTrue(first["trainbench"]["reason"], name)
                continue
            self.assertEqual(len(repetitions), 2, name)
            self.assertGreater(first["wall_time"], 0, name)
            self.assertGreater(first["bytes_per_second"], 0, name)
            self.assertGreater(first["checked_outputs"], 0, name)
            self.assertLessEqual(first["error_of_tolerance"], 1, name)
            if name.startswith("infer/"):
                self.assertLessEqual(first["p50_time"], first["p99_time"], name)
        served = rows["matmul/nn/cpu/fp32/m:33/n:40/k:72/provider:naive/threads:1"][0]["trainbench"]["served"]
        self.assertEqual(list(served.values()), ["naive"])
        self.assertIn("naive", answer.stdout)

    def test_a_result_compared_with_itself_is_no_change(self):
        self.run_ci("--filter", "^(matmul|infer/mlp)/")
        times = ["--counts-only"] if sanitized() else []
        answer = self.run_program("compare", self.path("result.json"), self.path("result.json"), *times)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        self.assertIn("matmul/nt/cpu/fp32/m:33/n:40/k:72", answer.stdout)

    def test_flags_replace_the_axes_that_a_family_has(self):
        _, rows = self.run_ci("--filter", "^(conv|matmul/tn)/", "--batch", "2", "--threads", "1", "--precision", "fp64")
        self.assertIn("matmul/tn/cpu/fp64/m:33/n:40/k:72/threads:1", rows)
        self.assertIn("conv/forward/cpu/fp64/batch:2/image:6/channels:8/filters:16/kernel:3/stride:2/padding:1/threads:1",
                      rows)
        for name in rows:
            self.assertIn("/fp64/", name)
            self.assertTrue(name.endswith("/threads:1"), name)

    def test_the_list_says_which_claim_each_family_tests(self):
        lines = self.run_program("list", "why").stdout.splitlines()
        claims = {line.split(":")[0][2:] for line in lines if line.startswith("# ")}
        families = {line.split("/")[0] for line in lines if not line.startswith("# ")}
        self.assertEqual(claims, families)
        self.assertLessEqual({"matmul", "conv", "attention", "scaling", "infer"}, families)


if __name__ == "__main__":
    unittest.main()
