#!/usr/bin/env python3
"""trainbench history: trends of cases over many result files."""

import csv
import json
import os
import unittest

from cli import CliTest
from result_files import CASE, ours


class HistoryTest(CliTest):
    def setUp(self):
        super().setUp()
        os.makedirs(self.path("runs"))
        for day, time in ((1, 2.0), (2, 1.0), (3, 1.5)):
            self.write(f"runs/{4 - day}.json", ours(time, date=f"2026-11-0{day}T12:00:00Z", commit=f"c{day}"))

    def history(self, *arguments):
        return self.run_program("history", self.path("runs"), *arguments)

    def test_first_last_best_and_change(self):
        text = self.history().stdout
        (row,) = [line for line in text.splitlines() if CASE in line]
        self.assertEqual(row.split(), ["3", "2.00", "s", "1.50", "s", "1.00", "s", "-25.0%", CASE, "█▁▅"])
        self.assertIn("otava analyze", text)

    def test_a_pipe_in_the_folder_is_passed_over(self):
        os.mkfifo(self.path("runs/pipe.json"))
        self.assertEqual(self.history().returncode, 0)

    def test_a_rate_is_best_where_it_is_highest(self):
        text = self.history("--metric", "samples_per_second").stdout
        (row,) = [line for line in text.splitlines() if CASE in line]
        self.assertEqual(row.split()[3], "31.93")

    def test_machine_readable_formats(self):
        document = json.loads(self.history("--format", "json").stdout)
        (trend,) = document["trends"]
        self.assertEqual([point["commit"] for point in trend["points"]], ["c1", "c2", "c3"])
        rows = list(csv.DictReader(self.history("--format", "csv").stdout.splitlines(), strict=True))
        self.assertEqual([row["time"] for row in rows], [f"2026-11-0{day}T12:00:00Z" for day in (1, 2, 3)])
        markdown = [line for line in self.history("--format", "markdown").stdout.splitlines() if line.startswith("|")]
        self.assertEqual({line.count("|") for line in markdown}, {8})

    def test_machines_are_trends_of_their_own(self):
        self.write("runs/other.json", ours(9, host_id="two"))
        document = json.loads(self.history("--format", "json").stdout)
        self.assertEqual([(each["machine"], len(each["points"])) for each in document["trends"]], [("one", 3), ("two", 1)])
        self.assertIn(CASE + " on two", self.history().stdout)

    def test_simulated_times_are_none(self):
        self.write("runs/4.json", ours(9, simulated=True))
        self.assertNotIn("9.0", self.history().stdout)

    def test_bad_input(self):
        self.assert_bad_input(self.history("--metric", "nothing"), "nothing")
        self.write("runs/5.json", "{")
        self.assert_bad_input(self.history(), "5.json")
        os.makedirs(self.path("empty"))
        self.assert_bad_input(self.run_program("history", self.path("empty")), "empty", "no result file")
        self.assert_bad_input(self.run_program("history", self.path("none")), "none")


if __name__ == "__main__":
    unittest.main()
