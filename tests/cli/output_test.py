"""Output that cannot be written is no success: exit status 2, a line that says so, and the result file where it can be."""

import json
import os
import resource
import signal
import subprocess
import unittest

from cli import BINARY, SMALL_RUN, SOURCE, CliTest


class Output(CliTest):
    def check_lost(self, arguments, **streams):
        result = subprocess.run([BINARY, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                text=True, check=False, **streams)
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("standard output cannot be written", result.stderr)

    def test_full(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            self.check_lost(["list", "quick"], stdout=full)
            self.check_lost(["--help"], stdout=full)
            self.check_lost([*SMALL_RUN, "synthetic", "--out", "-"], stdout=full)

    def test_closed(self):
        """The result file must not take the place of standard output, and the table with it."""
        output = self.path("result.json")
        self.check_lost([*SMALL_RUN, "synthetic", "--out", output], preexec_fn=lambda: os.close(1))
        with open(output, encoding="utf-8") as file:
            self.assertTrue(json.load(file)["benchmarks"])

    def test_reader_that_leaves(self):
        """The result is written and its journal gone before anything is printed."""
        output = self.path("result.json")
        reading, writing = os.pipe()
        os.close(reading)
        result = subprocess.run([BINARY, *SMALL_RUN, "synthetic", "--out", output, "--format", "json"],  # above a buffer
                                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=writing, stderr=subprocess.PIPE,
                                check=False, restore_signals=True)
        os.close(writing)
        self.assertEqual(result.returncode, -signal.SIGPIPE, result.stderr)
        self.assertEqual(os.listdir(self.folder), ["result.json"])

    def test_file_size_limit(self):
        output = self.path("result.json")
        result = subprocess.run(
            [BINARY, *SMALL_RUN, "synthetic", "--out", output], cwd=self.folder, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
        self.assert_bad_input(result, output, "File too large")

    def test_help_names_every_suite(self):
        suites = [name.removesuffix(".json") for name in sorted(os.listdir(os.path.join(SOURCE, "configs")))
                  if name.endswith(".json")]
        self.assertTrue(suites)
        for command in ("run", "ab"):
            self.assertIn(f"A suite ({', '.join(suites)}) or a JSON file", self.run_program(command, "--help").stdout)


if __name__ == "__main__":
    unittest.main()
