#!/usr/bin/env python3
"""The program under an emulated older CPU: one clear line instead of an illegal instruction.

isa_guard_test.py TRAINBENCH ARCH: ARCH is the -march that TRAINBENCH was built with. Needs
qemu-x86_64 (Debian's qemu-user); exits 77, skipped, without it.
"""

import os
import shutil
import subprocess
import sys

program, arch = sys.argv[1:]
qemu = shutil.which("qemu-x86_64")
if qemu is None:
    print("skipped: there is no qemu-x86_64 here; Debian's qemu-user has it")
    sys.exit(77)

# With thread binding settled the program does not start itself again: qemu would let that second start
# run on the real CPU.
run = subprocess.run(
    [qemu, "-cpu", "Nehalem", program, "--version"],
    capture_output=True,
    text=True,
    timeout=60,
    env={**os.environ, "OMP_PROC_BIND": "false"},
)
lines = [line for line in run.stderr.splitlines() if not line.startswith("qemu-x86_64: warning")]
if arch in ("x86-64", "x86-64-v2"):
    assert run.returncode == 0, f"a portable build does not run: {run.returncode}, {lines}"
    assert run.stdout.startswith("trainbench "), run.stdout
else:
    assert run.returncode == 2, f"exit code {run.returncode} instead of 2: {lines}"
    assert len(lines) == 1 and lines[0].startswith("trainbench: built for a CPU with "), lines
    assert "TRAINBENCH_ARCH" in lines[0], lines
print("passed")
