#!/usr/bin/env python3
"""Compares `stream/triad` with a tuned OpenMP triad in C (triad.c) in interleaved blocks.

    scripts/peers/triad.py --trainbench build/release/trainbench [--blocks 10] [--threads N]

In each block both programs run once, in random order, on arrays of the same length and as many threads, bound alike;
the block's ratio is that of their medians. Prints the median ratio over the blocks and their quartiles; exit status 1
where the median is below 0.95.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

PASSES = 40


def run(command, environment):
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"triad.py: {command[0]} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def ours(arguments, folder, environment):
    suite = folder / "triad.json"
    case = {"family": "stream", "case": "triad", "device": "cpu", "threads": arguments.threads}
    suite.write_text(json.dumps({"name": "triad", "repetitions": 5, "min_time": 0.1, "cases": [case]}))
    result = folder / "result.json"
    run([arguments.trainbench, "run", str(suite), "--out", str(result)], environment)
    rows = [row for row in json.loads(result.read_text())["benchmarks"] if row["run_type"] == "iteration"]
    return statistics.median(row["bytes_per_second"] for row in rows), rows[0]["working_set_bytes"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trainbench", required=True)
    parser.add_argument("--blocks", type=int, default=10)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--cc", default="gcc")
    arguments = parser.parse_args()
    environment = dict(os.environ, OMP_NUM_THREADS=str(arguments.threads), OMP_PROC_BIND="close", OMP_PLACES="cores")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        peer = str(folder / "triad")
        source = str(pathlib.Path(__file__).with_name("triad.c"))
        run([arguments.cc, "-O3", "-march=native", "-fopenmp", source, "-o", peer], environment)
        _, working_set = ours(arguments, folder, environment)
        count = str(int(working_set / 12))

        def theirs():
            passes = [float(line) for line in run([peer, count, str(PASSES)], environment).split()]
            return statistics.median(passes[PASSES // 4:])

        ratios = []
        for block in range(arguments.blocks):
            sides = [("ours", lambda: ours(arguments, folder, environment)[0]), ("theirs", theirs)]
            random.shuffle(sides)
            rates = {side: measure() for side, measure in sides}
            ratios.append(rates["ours"] / rates["theirs"])
            print(f"block {block + 1}: {rates['ours'] / 1e9:.2f} GB/s, the peer {rates['theirs'] / 1e9:.2f} GB/s, "
                  f"ratio {ratios[-1]:.3f}", flush=True)
    low, middle, high = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    print(f"stream/triad reaches {middle:.3f} of the peer's bandwidth (quartiles {low:.3f} to {high:.3f}, "
          f"{len(ratios)} blocks, {arguments.threads} threads, {count} floats an array)")
    return 0 if middle >= 0.95 else 1


if __name__ == "__main__":
    sys.exit(main())
