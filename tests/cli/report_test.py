#!/usr/bin/env python3
"""trainbench report: the page in a real browser with nothing else to load, in Markdown, and what it refuses."""

import json
import re
import shutil
import subprocess
import unittest

from cli import CliTest
from result_files import CASE, ours

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Runs at the end of the page: uses it as a reader would and leaves what came of it in the title.
PROBE = """
<script>
{
const seen = {};
const tables = [...document.querySelectorAll("main table")];
const table = tables.find((each) => each.caption !== null && each.caption.textContent.startsWith("train/mlp"));
const column = [...table.tHead.rows[0].cells].findIndex((cell) => cell.textContent === "time");
const times = () => [...table.tBodies[0].rows].map((row) => row.cells[column].textContent).join(",");
table.tHead.rows[0].cells[column].querySelector("button").click();
seen.up = times();
table.tHead.rows[0].cells[column].querySelector("button").click();
seen.down = times();
const field = document.querySelector("input");
field.value = "bf16 mlp";
field.dispatchEvent(new Event("input"));
seen.left = [...table.tBodies[0].rows].filter((row) => !row.hidden).length;
seen.wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
setTimeout(() => {
  seen.plots = document.querySelectorAll(".plot .main-svg").length;
  seen.figures = document.querySelectorAll("figure").length;
  document.title = JSON.stringify(seen);
}, 1500);
}
</script>
"""


class ReportTest(CliTest):
    def setUp(self):
        super().setUp()
        self.file = self.write("run.json", ours(2.0))
        self.other = self.write("other.json", ours(1.0, host_id="two"))

    def report(self, *arguments):
        return self.run_program("report", *arguments)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def test_markdown_has_each_row(self):
        self.assertEqual(self.report(self.file, self.other, "--out", "page.md").returncode, 0)
        text = self.read("page.md")
        self.assertIn("# How fast neural networks train here", text)
        rows = [line for line in text.splitlines() if re.match(r"\| [AB] \| cpu ", line)]
        self.assertEqual(len(rows), 2)
        for line in (line for line in text.splitlines() if line.startswith("|")):
            self.assertEqual(line[-1], "|")

    def test_the_page_loads_nothing(self):
        self.assertEqual(self.report(self.file).returncode, 0)
        page = re.sub(r"<script>.*?</script>", "", self.read("report.html"), flags=re.DOTALL)
        self.assertNotRegex(page, r"(src|href)=\"(?!#)")
        self.assertIn("default-src 'none'", page)
        self.assertIn(CASE.split("/")[1], page)

    def test_bad_input(self):
        self.assert_bad_input(self.report(self.file, "--out", "page.pdf"), "page.pdf", ".html or .md")
        self.assert_bad_input(self.report(self.path("none.json")), "none.json")
        self.assert_bad_input(self.report(self.file, "--out", self.path("run.json/page.md")), "run.json/page.md")
        self.assert_bad_input(self.report(self.write("broken.json", "{")), "broken.json")

    @unittest.skipUnless(CHROMIUM, "no Chromium")
    def test_it_works_in_a_browser(self):
        slow, fast = (ours(time, case=f"train/mlp/cpu/{precision}/batch:256") for time, precision in
                      ((2.0, "fp32"), (1.0, "bf16")))
        self.report(self.write("a.json", slow), self.write("b.json", fast), "--out", "page.html")
        page = self.read("page.html")
        self.write("page.html", page.replace("</body>", PROBE + "</body>"))
        drawn = "Plotly.newPlot" in page and "plotly.js" in page
        for width in (400, 1400):
            done = subprocess.run(
                [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                 f"--user-data-dir={self.path('profile')}", f"--window-size={width},2000",
                 "--virtual-time-budget=10000", "--dump-dom", "file://" + self.path("page.html")],
                capture_output=True, text=True, check=True, timeout=120)
            console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
            self.assertEqual(console, [])
            title = re.search(r"<title>(.*?)</title>", done.stdout).group(1)
            seen = json.loads(title)
            self.assertEqual((seen["up"], seen["down"]), ("1.00 s,2.00 s", "2.00 s,1.00 s"))
            self.assertEqual(seen["left"], 1)
            self.assertFalse(seen["wide"], f"the page is wider than {width} pixels")
            self.assertGreaterEqual(seen["figures"], 1)
            if drawn:
                self.assertGreaterEqual(seen["plots"], seen["figures"])


if __name__ == "__main__":
    unittest.main()
