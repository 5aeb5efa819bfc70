"""Ctrl-C during a run: what was measured is written and marked partial, exit status 130."""

import json
import os
import signal
import subprocess
import time
import unittest

from cli import BINARY, CliTest


class Interrupt(CliTest):
    def test_partial_result(self):
        output = self.path("result.json")
        journal = output + ".journal"
        # Far more than will be run: the signal comes after the first repetition.
        process = subprocess.Popen(
            [BINARY, "run", "quick", "--device", "cpu", "--filter", "train/mlp", "--data", "synthetic",
             "--repetitions", "1000", "--min-time", "0.01", "--out", output],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        while process.poll() is None and not (os.path.exists(journal) and os.path.getsize(journal) > 0):
            time.sleep(0.02)
        self.assertIsNone(process.poll(), "ended before it was interrupted")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate()

        self.assertEqual(process.returncode, 130, errors)
        with open(output, encoding="utf-8") as file:
            result = json.load(file)
        self.assertTrue(result["context"]["trainbench"]["partial"])
        measured = [row for row in result["benchmarks"] if row["trainbench"]["status"] == "ok"]
        self.assertTrue(measured)
        self.assertFalse(os.path.exists(journal))


if __name__ == "__main__":
    unittest.main()
