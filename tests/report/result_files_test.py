"""Result files as others read them: Python's parser, the schema, Google Benchmark's compare.py.

Usage: result_files_test.py WRITE_SAMPLES SOURCE_DIR. Exit code 77: something to read with is missing.
"""

import copy
import json
import os
import subprocess
import sys
import tempfile
import unittest

COMPARE = "/usr/share/benchmark/compare.py"
PYTHON = "/usr/bin/python3"
try:
    import jsonschema
    import scipy  # compare.py needs it
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)
if not os.path.exists(COMPARE):
    print("skipped: libbenchmark-tools is not installed")
    sys.exit(77)

WRITE_SAMPLES, SOURCE = sys.argv[1:3]


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file, parse_constant=refuse)


def erase(node, key):
    del node[key]


def change(node, key, value):
    node[key] = value


# What the schema must refuse: what is done to a good file.
DEFECTS = {
    "no context": lambda d: erase(d, "context"),
    "no host": lambda d: erase(d["context"], "host_name"),
    "no trainbench object": lambda d: erase(d["context"], "trainbench"),
    "future version": lambda d: change(d["context"]["trainbench"], "schema_version", 2),
    "partial is a word": lambda d: change(d["context"]["trainbench"], "partial", "no"),
    "unknown device": lambda d: change(d["context"]["trainbench"]["devices"][0], "kind", "tpu"),
    "negative peak": lambda d: change(d["context"]["trainbench"]["devices"][0]["peaks"]["flops"], "fp32", -1),
    "no time": lambda d: erase(d["benchmarks"][0], "real_time"),
    "other unit": lambda d: change(d["benchmarks"][0], "time_unit", "ns"),
    "text as counter": lambda d: change(d["benchmarks"][0], "loss_last", "0.5"),
    "suffix in the name": lambda d: change(d["benchmarks"][0], "run_name", "train/mlp/cpu/fp32/batch:256/real_time"),
    "unknown status": lambda d: change(d["benchmarks"][0]["trainbench"], "status", "passed"),
    "failed without a reason": lambda d: change(d["benchmarks"][0]["trainbench"], "status", "failed"),
    "measured in no iterations": lambda d: change(d["benchmarks"][0], "iterations", 0),
    "repetition without its index": lambda d: erase(d["benchmarks"][0], "repetition_index"),
    "error in a row that is ok": lambda d: change(d["benchmarks"][0], "error_occurred", True),
}


class ResultFiles(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([WRITE_SAMPLES, cls.folder.name], check=True)
        cls.schema = load(os.path.join(SOURCE, "configs/schema/result.schema.json"))
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def compare(self, first, second):
        command = [PYTHON, COMPARE, "--no-color", "benchmarks", self.path(first), self.path(second)]
        run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def test_schema_accepts_what_is_written(self):
        for name in ("a.json", "b.json", "odd.json"):
            with self.subTest(name):
                self.validator.validate(load(self.path(name)))

    def test_schema_refuses_defects(self):
        good = load(self.path("a.json"))
        for name, spoil in DEFECTS.items():
            with self.subTest(name):
                document = copy.deepcopy(good)
                spoil(document)
                self.assertFalse(self.validator.is_valid(document))

    def test_odd_values_survive(self):
        odd = load(self.path("odd.json"))
        self.assertTrue(odd["context"]["trainbench"]["note"].startswith('tab\t quote" \u00e9 '))
        self.assertNotIn("peak", odd["context"]["trainbench"])
        rows = odd["benchmarks"]
        self.assertNotIn("loss_last", rows[0])
        self.assertEqual(rows[0]["trainbench"]["omitted"], {"loss_last": "not a number"})
        self.assertEqual(rows[2]["smallest"], 5e-324)

    def test_compare_sees_the_difference(self):
        # b's times are 1.25 times a's: compare.py prints (new - old) / old.
        lines = [line.split() for line in self.compare("a.json", "b.json").splitlines()]
        changes = {}
        for words in lines:
            if words and words[0].startswith("train/"):
                changes.setdefault(words[0], []).append(words[1])
        name = "train/mlp/cpu/fp32/batch:256"
        self.assertEqual(changes[name], ["+0.2500"] * 10)
        self.assertEqual(changes[name + "_median"], ["+0.2500"])
        # No two of the ten and ten values overlap in order enough for chance: the U test says so.
        self.assertLess(float(changes[name + "_pvalue"][0]), 0.01)

    def test_compare_reads_odd_files_too(self):
        self.assertIn("train/mlp/cpu/fp32/batch:256", self.compare("odd.json", "a.json"))
        self.assertIn("train/mlp/cpu/fp32/batch:256", self.compare("a.json", "odd.json"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
