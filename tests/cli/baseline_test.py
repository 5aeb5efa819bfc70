#!/usr/bin/env python3
"""trainbench baseline: kept by machine and build, pooled, and nothing that is no baseline is kept."""

import os
import subprocess
import unittest

from cli import BINARY, CliTest
from result_files import google_benchmark, ours


class BaselineTest(CliTest):
    def save(self, text, name="run.json"):
        return self.run_program("baseline", "save", self.write(name, text))

    def check(self, *texts, arguments=()):
        files = [self.write(f"new{i}.json", text) for i, text in enumerate(texts)]
        return self.run_program("baseline", "check", *files, *arguments)

    def kept(self):
        folder = self.path("results/baselines")
        return sorted(os.path.join(root, name) for root, _, names in os.walk(folder) for name in names)

    def test_several_runs_are_pooled(self):
        for day in range(1, 6):
            result = self.save(ours(1 + 0.001 * day, date=f"2026-11-0{day}T12:00:00Z"))
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.kept()), 5)
        same = self.check(*[ours(1 + 0.001 * i) for i in range(5)])
        self.assertEqual(same.returncode, 0, same.stderr)
        self.assertIn("5 runs", same.stdout)
        self.assertIn("5/5 processes", same.stdout)
        slower = self.check(*[ours(1.1 + 0.001 * i) for i in range(5)])
        self.assertEqual(slower.returncode, 1)
        self.assertIn("1 SLOWER", slower.stdout)
        few = self.check(ours(1), arguments=("--last", "2"))
        self.assertIn("2 runs", few.stdout)

    def test_a_pipe_is_kept_whole(self):
        text = ours(1)
        result = subprocess.run([BINARY, "baseline", "save", "/dev/stdin"], cwd=self.folder, input=text,
                                capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        (kept,) = self.kept()
        with open(kept, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_a_single_new_process_is_said(self):
        for day in range(1, 4):
            self.save(ours(1, date=f"2026-11-0{day}T12:00:00Z"))
        self.assertIn("single process", self.check(ours(1)).stdout)

    def test_the_same_run_is_kept_once_and_byte_for_byte(self):
        text = ours(1)
        for _ in range(2):
            self.assertEqual(self.save(text).returncode, 0)
        (path,) = self.kept()
        with open(path, encoding="utf-8") as file:
            self.assertEqual(file.read(), text)

    def test_where_there_is_none(self):
        self.assert_bad_input(self.check(ours(1)), "no baseline of machine one", "baseline save")
        self.save(ours(1))
        self.assert_bad_input(self.check(ours(1, host_id="two")), "no baseline of machine two")
        self.assert_bad_input(self.check(ours(1, flags="-O2")), "machine one", "for this build")
        self.assertEqual(self.check(ours(1, commit="ffff")).returncode, 0)

    def test_what_is_no_baseline(self):
        for text, word in ((ours(1, partial=True), "interrupted"), (ours(1, build_type="Debug"), "debug build"),
                           (ours(1, status="failed"), "no case"), (ours(1, date="yesterday"), "/context/date"),
                           (google_benchmark(1), "/context/date"), ("{", "run.json")):
            self.assert_bad_input(self.save(text), "run.json", word)
        self.assertEqual(self.kept(), [])

    def test_a_name_from_a_file_leads_nowhere_else(self):
        self.assertEqual(self.save(ours(1, host_id="../../../away")).returncode, 0)
        (path,) = self.kept()
        self.assertNotIn("away", path)

    def test_another_programs_runs(self):
        text = google_benchmark(10).replace('{"num_cpus"', '{"date": "2026-11-30T12:00:00+01:00", "host_name": "h", "num_cpus"')
        self.assertEqual(self.save(text).returncode, 0)
        self.assertEqual(self.check(text).returncode, 0)

    def test_a_folder_that_cannot_be_written(self):
        self.write("file", "")
        result = self.run_program("baseline", "save", self.write("run.json", ours(1)), "--dir", self.path("file"))
        self.assert_bad_input(result, "file")


if __name__ == "__main__":
    unittest.main()
