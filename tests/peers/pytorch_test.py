"""pytorch.py before PyTorch has any part in it: its help, its refusals, and what it reads of trainbench's table."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path(os.environ["TRAINBENCH_SOURCE_DIR"], "scripts/peers/pytorch.py")
BINARY = os.environ["TRAINBENCH_BINARY"]


class PyTorch(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_peer(self, *arguments, torch="raise ImportError"):
        """With a module of that text in PyTorch's place."""
        (self.folder / "torch.py").write_text(torch)
        return subprocess.run([sys.executable, "-B", PROGRAM, *arguments], capture_output=True, text=True, check=False,
                              env={**os.environ, "PYTHONPATH": str(self.folder)})

    def check_refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("pytorch.py: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_help(self):
        done = self.run_peer("--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        for flag in ("--trainbench", "--workload", "--data", "--batch", "--precision", "--threads", "--device",
                     "--mode"):
            self.assertIn(flag, done.stdout)

    def test_wrong_flags(self):
        self.check_refused(self.run_peer(), "--trainbench")
        for flag, value in (("--batch", "0"), ("--batch", "x"), ("--min-time", "inf"), ("--device", "tpu"),
                            ("--precision", "fp8"), ("--workload", "mpl")):
            self.check_refused(self.run_peer("--trainbench", BINARY, flag, value), flag)
        self.check_refused(self.run_peer("--trainbench", BINARY, "--bach", "1"), "--bach")

    def test_no_pytorch(self):
        self.check_refused(self.run_peer("--trainbench", BINARY), "no PyTorch in", "pip install torch")

    def test_no_trainbench(self):
        for program in ("/nowhere/trainbench", "/bin/false", "/bin/echo"):
            self.check_refused(self.run_peer("--trainbench", program, torch=""), program, "a built trainbench")

    def test_table_has_what_it_reads(self):
        table = json.loads(subprocess.run([BINARY, "list", "--workloads", "--json"], capture_output=True, text=True,
                                          check=True).stdout)
        source = "".join(path.read_text(encoding="utf-8") for path in PROGRAM.parent.glob("pytorch*.py"))
        keys = set(re.findall(r'workload\["(\w+)"\]', source))
        self.assertGreater(len(keys), 8)
        optional = {"sgd": {"beta1", "beta2", "epsilon"}, "adamw": {"momentum"}}
        mlp = table["mlp"]
        self.assertEqual(keys - set(mlp), optional[mlp["optimizer"]])
        sizes = {size for workload in table.values() for size in workload["sizes"]}
        self.assertLessEqual(set(re.findall(r'sizes\["(\w+)"\]', source)), sizes)


if __name__ == "__main__":
    unittest.main()
