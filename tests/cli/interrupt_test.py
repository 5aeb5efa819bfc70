"""Ctrl-C during a run: what was measured is written and marked partial, exit status 130."""

import glob
import json
import os
import signal
import subprocess
import time
import unittest

from cli import BINARY, CliTest


class Interrupt(CliTest):
    def check_partial_result(self, journals, *arguments):
        """`journals`: a pattern of where the run keeps what it has measured."""
        output = self.path("result.json")
        # Far more than will be run: the signal comes after the first repetition.
        process = subprocess.Popen(
            [BINARY, "run", "quick", "--device", "cpu", "--filter", "train/mlp.*batch:32", "--data", "synthetic",
             "--repetitions", "1000", "--min-time", "0.01", "--out", output, *arguments],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while process.poll() is None and not any('"sample"' in self.read(name) for name in glob.glob(output + journals)):
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "ended before it was interrupted")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()

        self.assertEqual(process.returncode, 130, errors)
        with open(output, encoding="utf-8") as file:
            result = json.load(file)
        self.assertTrue(result["context"]["trainbench"]["partial"])
        statuses = {row["trainbench"]["status"] for row in result["benchmarks"]}
        self.assertIn("ok", statuses)
        self.assertNotIn("failed", statuses)
        self.assertEqual(os.listdir(self.folder), ["result.json"])

    def read(self, name):
        try:
            with open(name, encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def test_one_process(self):
        self.check_partial_result(".journal")

    def test_several_processes(self):
        self.check_partial_result(".parts-*/*.journal", "--processes", "2")


if __name__ == "__main__":
    unittest.main()
