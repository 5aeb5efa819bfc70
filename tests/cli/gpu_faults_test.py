"""A GPU that is asked for and is not there: one line says why, whatever is wrong with driver or device."""

import os
import subprocess
import unittest

from cli import BINARY, CliTest

SIMULATOR = os.environ["TRAINBENCH_SIMGPU"]
RUN = ("run", "ci", "--device", "gpu", "--data", "synthetic", "--filter", "^train/(mlp|lstm)/gpu/fp32/", "--repetitions",
       "2", "--min-time", "0.001")


class GpuFaultsTest(CliTest):
    def run_under(self, *options):
        return subprocess.run([SIMULATOR, "run", *options, "--", BINARY, *RUN, "--out", self.path("result.json")],
                              cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)

    def test_a_missing_device_is_one_line(self):
        for fault, reason in (("no-driver", "no NVIDIA driver is installed"), ("old-driver", "driver is too old"),
                              ("no-device", "finds no device"), ("prohibited", "compute mode is Prohibited")):
            with self.subTest(fault):
                answer = self.run_under("--fault", fault)
                self.assert_bad_input(answer, "--device gpu", reason)


if __name__ == "__main__":
    unittest.main()
