"""What the tests of the command line share: running the program, and what bad input must look like."""

import os
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ["TRAINBENCH_BINARY"]
HAS_CUDA = os.environ["TRAINBENCH_HAS_CUDA"] == "1"
SOURCE = os.environ["TRAINBENCH_SOURCE_DIR"]

# One case, measured for a moment: what the numbers are does not matter here. It asks for --data.
SMALL_RUN = ("run", "quick", "--device", "cpu", "--filter", "^train/mlp/cpu/fp32/batch:32$", "--repetitions", "2",
             "--min-time", "0.01", "--data")


def sanitized():
    """Whether the program was built with sanitizers: then none of its times is compared."""
    version = subprocess.run([BINARY, "--version"], capture_output=True, text=True, check=True)
    return "sanitizers:" in version.stdout


def skip(reason):
    """Ends the whole program with the status that CTest reads as skipped."""
    print(f"skipped: {reason}", file=sys.stderr)
    sys.exit(77)


def repetitions_of(result):
    """A result's rows of repetitions by case."""
    rows = {}
    for row in result["benchmarks"]:
        if row["run_type"] == "iteration":
            rows.setdefault(row["run_name"], []).append(row)
    return rows


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def environment(self, **changes):
        return {**os.environ, **changes}

    def run_program(self, *arguments, **changes):
        """Runs it in an empty folder without a terminal; changes go to its environment."""
        return subprocess.run([BINARY, *arguments], cwd=self.folder, env=self.environment(**changes),
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def assert_bad_input(self, result, *words):
        """Exit status 2, nothing on standard output, one line on standard error that names the words."""
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith("trainbench: "), lines[0])
        for word in words:
            self.assertIn(word, lines[0])
