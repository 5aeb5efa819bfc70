#!/usr/bin/env python3
"""`trainbench info`: what it must tell, and that a GPU driver which does not answer costs nothing.

info_test.py TRAINBENCH HAS_CUDA: HAS_CUDA is 1 for a build with a GPU side.
"""

import json
import math
import subprocess
import sys

program, has_cuda = sys.argv[1], sys.argv[2] == "1"


def info(*arguments):
    run = subprocess.run(
        [program, "info", "--seconds", "0.01", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, f"exit code {run.returncode}: {run.stderr}"
    return run.stdout


def numbers(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for item in value for number in numbers(item)]
    return [value] if isinstance(value, float) else []


# A driver cannot even be loaded within this limit: the child is ended, the rest is still told.
told = json.loads(info("--json", "--gpu-limit", "0.001"))
cpu = told["cpu"]
assert cpu["threads"] == told["machine"]["cpu"]["usable_cores"] >= 1, cpu
for kind in ("flops", "gemm"):
    for precision in ("fp32", "fp64"):
        assert cpu["peaks"][kind][precision] > 0, (kind, cpu)
assert cpu["peaks"]["bandwidth"] > 0, cpu
assert "eigen" in cpu["providers"], cpu
assert told["machine"]["host_id"] and told["build"]["version"], told
assert all(math.isfinite(number) for number in numbers(told))
assert told["gpu"]["devices"] == [], told["gpu"]
expected = "did not end within 0.001 s" if has_cuda else "no CUDA toolkit"
assert expected in told["gpu"]["reason"], told["gpu"]

text = info()
for label in ("CPU: ", "cores", "SIMD", "caches", "FP32", "peak", "best GEMM", "bandwidth", "GPU: "):
    assert label in text, f"no {label!r} in:\n{text}"
print("passed")
