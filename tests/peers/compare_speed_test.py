"""compare_speed.py and speed_table.py with programs whose rates are known: ratios, interval, order, exit status."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PEERS = pathlib.Path(os.environ["TRAINBENCH_SOURCE_DIR"], "scripts/peers")
PROGRAM = PEERS / "compare_speed.py"

# Stands for trainbench and for an interpreter that has PyTorch. Its first line of rates is this round's: what its
# repetitions measured. Each run leaves a line in calls.json.
CONTESTANT = """#!{python}
import json, os, pathlib, sys
folder = pathlib.Path({folder!r})
suite = json.loads(pathlib.Path(sys.argv[2]).read_text()) if sys.argv[1] == "run" else None
with open(folder / "calls.json", "a") as calls:
    places = os.environ.get("OMP_PLACES"), os.environ.get("OMP_NUM_THREADS")
    print(json.dumps({{"name": {name!r}, "words": sys.argv[1:], "suite": suite, "omp": places}}), file=calls)
plan = folder / ({name!r} + ".rates")
first, _, rest = plan.read_text().partition("\\n")
plan.write_text(rest)
if first.startswith("fail"):
    sys.exit("first line\\n" + first)
rows = [{{"name": "train/mlp/cpu/fp32/batch:64/threads:3", "run_type": "iteration", "samples_per_second": float(rate)}}
        for rate in first.split()]
rows.append({{"name": "train/mlp/cpu/fp32/batch:64_mean", "run_type": "aggregate", "samples_per_second": 1e9}})
text = json.dumps({{"benchmarks": rows}})
if "--out" in sys.argv:
    pathlib.Path(sys.argv[sys.argv.index("--out") + 1]).write_text(text)
else:
    print(text)
"""


class Contestants(unittest.TestCase):
    BATCH = 64

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("trainbench", "pytorch"):
            program = self.folder / name
            text = CONTESTANT.format(python=sys.executable, folder=folder.name, name=name)
            program.write_text(text.replace("batch:64", f"batch:{self.BATCH}"))
            program.chmod(0o755)

    def plan(self, name, lines):
        """What each run of that contestant will say."""
        (self.folder / f"{name}.rates").write_text("".join(f"{line}\n" for line in lines))

    def read_calls(self):
        return [json.loads(line) for line in (self.folder / "calls.json").read_text().splitlines()]


class CompareSpeed(Contestants):
    def compare(self, ours, theirs, *flags):
        """Runs it with those lines of rates, one a round."""
        self.plan("trainbench", ours)
        self.plan("pytorch", theirs)
        (self.folder / "calls.json").write_text("")
        done = subprocess.run(
            [sys.executable, "-B", PROGRAM, "--trainbench", self.folder / "trainbench", "--python",
             self.folder / "pytorch", "--batch", "64", "--threads", "3", "--rounds", str(len(ours)), *flags],
            capture_output=True, text=True, check=False)
        self.calls = self.read_calls()
        return done

    def test_ratio_and_interval(self):
        """Of 6 ratios the interval is the range: both ends are missed with probability 2/64."""
        done = self.compare([f"1 {rate} 900" for rate in (130, 120, 125, 110, 140, 115)], [100] * 6)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1],
                         "trainbench / pytorch: 1.225, 95 % interval 1.100 to 1.400, 6 rounds")

    def test_interval_of_more_rounds(self):
        """Of 10 ratios the second least and largest are missed with probability 2 (1 + 10)/1024, the third with more."""
        done = self.compare([100 + rate for rate in (9, 1, 2, 3, 4, 5, 6, 7, 8, 10)], [100] * 10)
        self.assertIn(" 1.055, 95 % interval 1.020 to 1.090, 10 rounds", done.stdout)

    def test_few_rounds_have_a_range(self):
        done = self.compare([110, 130], [100, 100])
        self.assertIn(" 1.200, range 1.100 to 1.300, 2 rounds", done.stdout)

    def test_exit_status(self):
        for limit, expected in (("1.05", 0), ("1.1", 0), ("1.2", 3), ("1.3", 3), ("1.31", 1)):
            done = self.compare([110, 130], [100, 100], "--at-least", limit)
            self.assertEqual(done.returncode, expected, limit)

    def test_both_do_the_same(self):
        """The same case, threads, binding and data, in alternating order."""
        self.compare([1, 1, 1], [1, 1, 1], "--data", "some/folder", "--precision", "fp32",
                     "--mode", "compile")
        self.assertEqual([call["name"] for call in self.calls],
                         ["trainbench", "pytorch", "pytorch", "trainbench", "trainbench", "pytorch"])
        for call in self.calls:
            self.assertEqual(call["omp"], ["cores", "3"])
            words = call["words"]
            self.assertEqual(words[words.index("--data") + 1], "some/folder")
            if call["suite"]:
                self.assertEqual(call["suite"]["cases"],
                                 [{"family": "train", "case": "mlp", "device": "cpu", "precision": "fp32", "batch": 64,
                                   "threads": 3}])
            else:
                for flag, value in (("--workload", "mlp"), ("--batch", "64"), ("--threads", "3"),
                                    ("--precision", "fp32"), ("--mode", "compile")):
                    self.assertEqual(words[words.index(flag) + 1], value)

    def check_unable(self, done, *words):
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_program_that_fails(self):
        self.check_unable(self.compare([1], ["fail: no PyTorch here"]), "pytorch ended with 1", "fail: no PyTorch here")
        self.check_unable(self.compare(["fail"], [1]), "trainbench ended with 1")
        self.check_unable(self.compare([""], [1]), "no samples_per_second of train/mlp/cpu/fp32/batch:64")

    def test_program_that_is_not_there(self):
        self.check_unable(self.compare([1], [1], "--python", "/nowhere/python"), "/nowhere/python: No such file")


class SpeedTable(Contestants):
    BATCH = 256

    def table(self, ours, theirs, *flags):
        self.plan("trainbench", ours)
        self.plan("pytorch", theirs)
        return subprocess.run(
            [sys.executable, "-B", PEERS / "speed_table.py", "--trainbench", self.folder / "trainbench", "--python",
             self.folder / "pytorch", "--workloads", "mlp", "--precisions", "fp32", "--rounds", "2", *flags],
            capture_output=True, text=True, check=False)

    def test_ratio_by_the_better_of_both(self):
        """The first run only fills the compiler's cache; then each round has its order: trainbench, eager, compiled, and
        eager, compiled, trainbench."""
        done = self.table([150, 180], [1, 100, 50, 80, 120], "--out", self.folder / "out.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("| `mlp` | 256 | fp32 | 165 | 90.0 | 85.0 | 1.50 (1.50 to 1.50) | - |", done.stdout)
        self.assertIn("Geometric mean of the 1 ratios in fp32: 1.50.", done.stdout)
        self.assertEqual([call["name"] for call in self.read_calls()],
                         ["pytorch", "trainbench", "pytorch", "pytorch", "pytorch", "pytorch", "trainbench"])
        row, = json.loads((self.folder / "out.json").read_text())["rows"]
        self.assertEqual(row["samples_per_second"], {"trainbench": [150, 180], "eager": [100, 80], "compile": [50, 120]})
        self.assertEqual(row["ratios"], [1.5, 1.5])

    def test_program_that_fails(self):
        done = self.table([1, 1], ["fail: no PyTorch here"])
        self.assertEqual(done.returncode, 2)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn("speed_table.py: ", done.stderr)


if __name__ == "__main__":
    unittest.main()
