#!/usr/bin/env python3
"""The template of a workflow is YAML, and what it calls is there: scripts, subcommands, flags."""

import os
import re
import unittest

from cli import SOURCE, CliTest, skip

try:
    import yaml
except ImportError:
    skip("python3-yaml is not installed")

TEMPLATE = os.path.join(SOURCE, "docs/workflows/trainbench.yml")


class WorkflowTest(CliTest):
    def setUp(self):
        super().setUp()
        with open(TEMPLATE, encoding="utf-8") as file:
            self.workflow = yaml.safe_load(file)

    def commands(self):
        for job in self.workflow["jobs"].values():
            for step in job["steps"]:
                yield from re.split(r"\n|&&|;", step.get("run", "").replace("\\\n", " "))

    def test_jobs_have_what_github_needs(self):
        # YAML 1.1 reads the key "on" as true.
        self.assertEqual(set(self.workflow), {"name", True, "permissions", "jobs"})
        for job in self.workflow["jobs"].values():
            self.assertIn("runs-on", job)
            for step in job["steps"]:
                self.assertEqual(len({"run", "uses"} & set(step)), 1, step)

    def test_what_it_calls_is_there(self):
        called = 0
        for command in self.commands():
            words = command.split()
            if not words:
                continue
            script = re.sub(r"^\.\./base/", "", words[0])
            if script.startswith("scripts/"):
                self.assertTrue(os.access(os.path.join(SOURCE, script), os.X_OK), script)
            if script != "scripts/bench.sh" and not script.endswith("/trainbench"):
                continue
            called += 1
            depth = 2 if words[1] == "baseline" else 1
            text = self.run_program(*words[1:1 + depth], "--help").stdout
            for flag in re.findall(r"--[a-z-]+", command):
                self.assertIn(flag, text, command)
        self.assertGreater(called, 5)


if __name__ == "__main__":
    unittest.main()
