#!/usr/bin/env python3
"""Little address space: one line instead of a library that waits for memory for ever.

memory_guard_test.py TRAINBENCH
"""

import resource
import subprocess
import sys


def limited(megabytes):
    limit = megabytes << 20
    return subprocess.run([sys.argv[1], "--version"], capture_output=True, text=True, timeout=60, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))


for megabytes in (195, 511):
    run = limited(megabytes)
    assert run.returncode == 2, f"{megabytes} MiB: exit code {run.returncode} instead of 2: {run.stderr}"
    lines = run.stderr.splitlines()
    assert len(lines) == 1 and lines[0].startswith("trainbench: the address space is limited to"), lines
    assert run.stdout == "", run.stdout
run = limited(1 << 20)
assert run.returncode == 0 and run.stdout.startswith("trainbench "), run.stderr
print("passed")
