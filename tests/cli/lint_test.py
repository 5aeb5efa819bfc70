#!/usr/bin/env python3
"""trainbench lint: exit statuses, both formats, and text of a file that must not reach the terminal as it is."""

import glob
import json
import os
import unittest

from cli import SOURCE, CliTest
from result_files import CASE, google_benchmark, ours


class LintTest(CliTest):
    def planted(self, name="planted.json", **changes):
        """A measured case; nothing checked its outputs."""
        return self.write(name, ours(1, **changes))

    def honest(self, change=None):
        """A file kept with the sources, with a change to its document."""
        (path, *_) = sorted(glob.glob(os.path.join(SOURCE, "results", "*.json")))
        if change is None:
            return path
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        change(document)
        return self.write("changed.json", json.dumps(document))

    def test_an_honest_file_exits_0(self):
        result = self.run_program("lint", self.honest())
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("Nothing found", result.stdout)
        result = self.run_program("lint", self.honest(), "--format", "json")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(json.loads(result.stdout)["findings"], [])

    def test_findings_exit_1_and_name_file_case_and_rule(self):
        def debug(document):
            document["context"]["trainbench"]["build"]["build_type"] = "Debug"

        result = self.run_program("lint", self.honest(), self.honest(debug), self.planted())
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stderr, "")
        self.assertIn("debug-build: ", result.stdout)
        self.assertIn("changed.json: a debug build\n", result.stdout)
        self.assertIn(f"planted.json: {CASE}: no output was held to a reference\n", result.stdout)

    def test_json_holds_the_rules_and_the_findings(self):
        path = self.planted(partial=True)
        result = self.run_program("lint", path, "--format", "json")
        self.assertEqual(result.returncode, 1, result.stderr)
        document = json.loads(result.stdout)
        self.assertEqual(document["files"], [path])
        rules = [rule["id"] for rule in document["rules"]]
        self.assertEqual([finding["rule"] for finding in document["findings"]], ["partial-run", "unchecked"])
        for finding in document["findings"]:
            self.assertIn(finding["rule"], rules)
            self.assertEqual(finding["files"], [path])
        self.assertEqual(document["findings"][1]["where"], CASE)

    def test_text_of_a_file_cannot_steer_the_terminal(self):
        evil = "\x1b[2Jx\x07\x9b31m\x7f\n::error::y"
        path = self.write("evil.json", ours(1, sanitizers=evil))
        for style in ("table", "json"):
            result = self.run_program("lint", path, "--format", style)
            self.assertEqual(result.returncode, 1, result.stderr)
            text = result.stdout.replace("\n", "")
            self.assertEqual([c for c in text if ord(c) < 0x20 or 0x7f <= ord(c) < 0xa0], [])
            self.assertNotIn("\n::error", result.stdout)
        found = json.loads(result.stdout)["findings"]
        self.assertIn("31m", " ".join(finding["detail"] for finding in found))
        named = self.write("named.json", ours(1, case=f"train/{evil}/cpu/fp32/batch:32"))
        self.assert_bad_input(self.run_program("lint", named), "named.json")

    def test_bad_input(self):
        self.assert_bad_input(self.run_program("lint"), "files")
        self.assert_bad_input(self.run_program("lint", self.path("none.json")), "none.json")
        self.assert_bad_input(self.run_program("lint", self.write("cut.json", ours(1)[:-9])), "cut.json")
        other = self.write("other.json", google_benchmark(10))
        self.assert_bad_input(self.run_program("lint", other), "other.json")
        dated = json.loads(google_benchmark(10))
        dated["context"]["date"] = "2026-11-30T12:00:00Z"
        self.assert_bad_input(self.run_program("lint", self.write("dated.json", json.dumps(dated))), "trainbench run")
        empty = self.write("empty.json", ours(1, count=0))
        self.assert_bad_input(self.run_program("lint", empty), "empty.json", "no case")
        self.assert_bad_input(self.run_program("lint", self.planted(), "--format", "csv"), "--format", "csv")


if __name__ == "__main__":
    unittest.main()
