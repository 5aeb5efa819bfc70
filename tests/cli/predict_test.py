#!/usr/bin/env python3
"""trainbench predict: its estimates, where their constants come from, and bad input."""

import json
import os
import subprocess
import sys
import unittest

from cli import BINARY, SOURCE, CliTest

sys.path.insert(0, os.path.join(SOURCE, "scripts"))
import roofline  # noqa: E402


def script(name):
    path = os.path.join(SOURCE, "scripts", name)
    return subprocess.run([sys.executable, "-B", path, "--trainbench", BINARY], capture_output=True, text=True,
                          check=True).stdout


class Predict(CliTest):
    def predict(self, *arguments):
        result = self.run_program("predict", *arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def test_says_that_nothing_was_measured(self):
        text = self.predict("--on", "h200", "--workload", "mlp")
        self.assertTrue(text.startswith("PREDICTED, not measured"), text)
        self.assertIn("assumptions:", text)
        self.assertLessEqual(max(map(len, text.splitlines())), 110)
        document = json.loads(self.predict("--on", "h200", "--workload", "mlp", "--json"))
        self.assertIs(document["estimate"], True)
        self.assertGreater(len(document["assumptions"]), 4)

    def test_every_workload_on_every_device(self):
        steps = json.loads(self.predict("--json", "--precision", "fp32"))["steps"]
        self.assertEqual({step["workload"] for step in steps},
                         {"mlp", "resnet20", "resnet50", "diffusion", "gpt", "gpt2", "lstm"})
        for step in steps:
            self.assertEqual(len(step["estimates"]), 8)
            for estimate in step["estimates"]:
                self.assertLess(0, estimate["fraction_of_peak_flops"])
                self.assertLess(estimate["fraction_of_peak_flops"], 1)
                self.assertAlmostEqual(sum(estimate["seconds_by_limit"].values()) / estimate["estimated_seconds"], 1)

    def test_a_precision_without_a_rate_is_no_estimate(self):
        step = json.loads(self.predict("--json", "--on", "p100", "--workload", "mlp", "--precision", "fp16"))["steps"][0]
        self.assertIn("keeps sums in fp16", step["estimates"][0]["reason"])
        self.assertNotIn("estimated_seconds", step["estimates"][0])

    def test_the_scripts_have_the_same_model(self):
        fitted = roofline.load("prediction/efficiencies.json")["architectures"]
        for workload, device, precision in (("resnet50", "v100", "fp32"), ("resnet50", "h200", "bf16"),
                                            ("gpt2", "rtx-4090", "fp16"), ("lstm", "a100-40gb", "tf32")):
            row = {"device": device, "workload": workload, "precision": precision, "batch": 4, "sizes": {}}
            step = roofline.step(BINARY, row)
            spec = roofline.device(device)
            seconds = roofline.seconds(step["operations"], spec, roofline.constants(fitted, spec), precision)
            self.assertAlmostEqual(seconds / step["estimates"][0]["estimated_seconds"], 1, places=9)

    def test_constants_follow_from_the_rows_they_name(self):
        with open(os.path.join(SOURCE, "configs/prediction/efficiencies.json"), encoding="utf-8") as file:
            self.assertEqual(script("predict_fit.py"), file.read())

    def test_no_constant_was_fitted_on_a_row_that_is_held_out(self):
        rows = {row["id"]: row["use"] for row in roofline.load("prediction/published.json")["rows"]}
        named = set()
        for constants in roofline.load("prediction/efficiencies.json")["architectures"].values():
            for constant in constants.values():
                named.update(constant["rows"])
        self.assertEqual({rows[name] for name in named}, {"fit"})
        self.assertEqual(named, {name for name, use in rows.items() if use == "fit"})

    def test_every_row_held_out_is_compared(self):
        rows = roofline.load("prediction/published.json")["rows"]
        self.assertEqual(len(rows), len({row["id"] for row in rows}))
        text = script("predict_check.py")
        for row in rows:
            compared = any(f"| {row['id']} {after}" in text for after in "|(")
            self.assertEqual(compared, row["use"] == "held out", row["id"])
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            self.assertIn(text.strip(), file.read(), "README's table is not what the script prints")

    def test_sizes_and_batch_reach_the_model(self):
        step = json.loads(self.predict("--json", "--on", "h200", "--workload", "gpt2", "--batch", "2", "--size",
                                       "layers=48,width=1600,heads=25"))["steps"][0]
        self.assertEqual(step["batch"], 2)
        self.assertAlmostEqual(step["parameters"] / 1.558e9, 1, places=2)

    def test_plans(self):
        ask = ("--json", "--workload", "llama-70b", "--on", "a100-80gb,h200")
        (plan,) = json.loads(self.predict(*ask))["plans"]
        self.assertEqual(plan["parameters"], 68976648192)
        memory = plan["memory_bytes"]["bf16"]
        self.assertEqual(sum(size for kind, size in memory.items() if kind != "total"), memory["total"])
        a100, h200 = plan["estimates"]
        self.assertEqual(a100["least_devices"], -(-memory["total"] // (80 << 30)))
        self.assertGreater(a100["least_devices"], h200["least_devices"])
        hours = plan["tokens"] / a100["tokens_per_second_each"] / 3600
        self.assertAlmostEqual(a100["device_hours"] / hours, 1)
        self.assertAlmostEqual(a100["energy_mwh"] / (hours * 400 / 1e6), 1)
        (half,) = json.loads(self.predict(*ask, "--tokens", "1e12", "--devices", "2000"))["plans"]
        self.assertAlmostEqual(half["estimates"][0]["device_hours"] / a100["device_hours"], 0.5)
        self.assertAlmostEqual(half["estimates"][0]["days"] * 2000 * 24 / half["estimates"][0]["device_hours"], 1)
        self.assertIn("no fit", self.predict("--workload", "llama-70b", "--on", "h200", "--devices", "2"))

    def test_bad_input(self):
        def check(arguments, *words):
            self.assert_bad_input(self.run_program("predict", *arguments), *words)
        check(["--on", "h20"], "h20", "h200")
        check(["--on", "missing.json"], "missing.json")
        check(["--on", self.write("card.json", '{"name": "x"}')], "card.json", "architecture")
        check(["--workload", "mpl"], "mpl", "mlp")
        check(["--workload", "llama-70"], "llama-70b")
        check(["--tokens", "many"], "--tokens")
        check(["--devices", "0"], "--devices")
        check(["--precision", "fp31"], "fp31", "fp32")
        check(["--batch", "0"], "--batch")
        check(["--workload", "gpt2", "--size", "layers"], "--size", "layers=48")
        check(["--workload", "gpt2", "--size", "layer=4"], "layer", "layers")
        check(["--size", "layers=4"], "--workload")


if __name__ == "__main__":
    unittest.main()
