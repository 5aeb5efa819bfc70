"""Help, list and CPU runs never open the CUDA driver: the dynamic loader's own log says what was opened."""

import glob
import unittest

from cli import HAS_CUDA, SMALL_RUN, CliTest

DRIVER = ("libcuda.so", "libnvidia-ml.so")


class DriverUntouched(CliTest):
    def opened(self, *arguments):
        """Exit status, and the driver's libraries that the program or a child of it asked the loader for."""
        log = self.path("loader")
        result = self.run_program(*arguments, LD_DEBUG="files", LD_DEBUG_OUTPUT=log)
        found = set()
        for name in glob.glob(log + ".*"):
            with open(name, encoding="utf-8", errors="replace") as file:
                text = file.read()
            self.assertIn("libc.so", text)
            found |= {library for library in DRIVER if f"file={library}" in text}
        return result.returncode, found

    def test_untouched(self):
        for arguments in (["--help"], ["--version"], ["run", "--help"], ["list", "quick"], ["list", "--json"],
                          [*SMALL_RUN, "synthetic", "--out", self.path("result.json")]):
            with self.subTest(" ".join(arguments)):
                self.assertEqual(self.opened(*arguments), (0, set()))

    def test_the_log_shows_a_driver_that_is_opened(self):
        self.assertEqual("libcuda.so" in self.opened("info")[1], HAS_CUDA)


if __name__ == "__main__":
    unittest.main()
