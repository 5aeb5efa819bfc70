#!/usr/bin/env python3
"""How much faster trainbench trains a workload on this CPU than PyTorch does.

    scripts/peers/compare_speed.py --trainbench build/trainbench --python VENV/bin/python

Each round runs both, in processes of their own and in alternating order, so that whatever slows
this machine for a while slows both. A round gives one ratio, of the medians of samples a second
over its repetitions. Printed are the rounds, the median ratio and an interval that holds the
median of such ratios with at least 95 % probability (order statistics; needs 6 rounds, and with
fewer the range is shown and called that). With --at-least R the exit code tells how the interval
lies: 0 all above R, 1 all below, 3 on both sides. It is 2 where a program could not do its part.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

PEER = pathlib.Path(__file__).with_name("pytorch.py")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainbench", required=True, metavar="PATH")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--workload", default="mlp")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-provider", default="auto")
    parser.add_argument("--mode", default="eager", choices=("eager", "compile"), help="PyTorch's")
    parser.add_argument("--data", metavar="DIR", help="for both; trainbench's choice if left out")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--repetitions", type=int, default=5, help="of each process")
    parser.add_argument("--min-time", type=float, default=0.5, help="least seconds of each")
    parser.add_argument("--at-least", type=float, metavar="R")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


class BadInput(Exception):
    """One line that says which program could not do its part."""


def run(command, environment):
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadInput(f"{command[0]}: {error.strerror}") from None
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
        raise BadInput(f"{command[0]} ended with {done.returncode}: {lines[-1]}")
    return done.stdout


def median_rate(program, text, prefix):
    try:
        rates = [
            row["samples_per_second"]
            for row in json.loads(text)["benchmarks"]
            if row.get("run_type") == "iteration"
            and row["name"].startswith(prefix)
            and "samples_per_second" in row
        ]
    except (ValueError, KeyError, TypeError):
        raise BadInput(f"{program}: its result is not Google Benchmark's JSON") from None
    if not rates:
        raise BadInput(f"{program}: no samples_per_second of {prefix} in its result")
    return statistics.median(rates)


class Contest:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.name = f"train/{arguments.workload}/cpu/{arguments.precision}/batch:{arguments.batch}"
        self.data = ["--data", arguments.data] if arguments.data else []
        self.suite = folder / "suite.json"
        self.result = folder / "result.json"
        case = {
            "family": "train",
            "case": arguments.workload,
            "device": "cpu",
            "precision": arguments.precision,
            "batch": arguments.batch,
            "threads": arguments.threads,
        }
        suite = {
            "name": "compare-speed",
            "description": "One training case.",
            "repetitions": arguments.repetitions,
            "min_time": arguments.min_time,
            "cases": [case],
        }
        self.suite.write_text(json.dumps(suite))
        # The same threads on the same cores for both.
        self.environment = os.environ | {
            "OMP_NUM_THREADS": str(arguments.threads),
            "OMP_PLACES": "cores",
            "OMP_PROC_BIND": "close",
        }

    def trainbench(self):
        a = self.arguments
        command = [a.trainbench, "run", self.suite, "--out", self.result]
        command += ["--cpu-provider", a.cpu_provider, *self.data]
        self.result.unlink(missing_ok=True)
        run(command, self.environment)
        text = self.result.read_text() if self.result.exists() else ""
        return median_rate(a.trainbench, text, self.name)

    def pytorch(self):
        a = self.arguments
        flags = {
            "--trainbench": a.trainbench,
            "--workload": a.workload,
            "--batch": a.batch,
            "--precision": a.precision,
            "--threads": a.threads,
            "--mode": a.mode,
            "--repetitions": a.repetitions,
            "--min-time": a.min_time,
        }
        words = [str(word) for pair in flags.items() for word in pair]
        command = [a.python, PEER, *words, *self.data]
        return median_rate(PEER.name, run(command, self.environment), self.name)


def median_interval(values, confidence=0.95):
    """Order statistics that enclose the median; None where there are too few.

    Each value lies below the median with probability 1/2, so that the k-th smallest and the k-th
    largest of n miss it with probability 2 P(Binomial(n, 1/2) < k).
    """
    ordered = sorted(values)
    n = len(ordered)
    missed, k = 0.0, 0
    while missed + 2 * math.comb(n, k) / 2**n <= 1 - confidence and k < n // 2:
        missed += 2 * math.comb(n, k) / 2**n
        k += 1
    return (ordered[k - 1], ordered[n - k]) if k > 0 else None


def main():
    arguments = parse_arguments()
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(arguments, pathlib.Path(folder))
        print(f"{contest.name}, {arguments.threads} threads, samples/s")
        print(f"{'round':>5} {'trainbench':>11} {'pytorch':>11} {'ratio':>7}")
        for index in range(arguments.rounds):
            order = [contest.trainbench, contest.pytorch]
            rates = {}
            for contestant in reversed(order) if index % 2 else order:
                rates[contestant.__name__] = contestant()
            ratios.append(rates["trainbench"] / rates["pytorch"])
            ours, theirs = rates["trainbench"], rates["pytorch"]
            print(f"{index + 1:5} {ours:11.5g} {theirs:11.5g} {ratios[-1]:7.3f}", flush=True)

    interval = median_interval(ratios)
    low, high = interval or (min(ratios), max(ratios))
    kind = "95 % interval" if interval else "range"
    middle = statistics.median(ratios)
    rounds = len(ratios)
    print(f"trainbench / pytorch: {middle:.3f}, {kind} {low:.3f} to {high:.3f}, {rounds} rounds")
    if arguments.at_least is None or low >= arguments.at_least:
        return 0
    return 1 if high < arguments.at_least else 3


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadInput as error:
        print(f"compare_speed.py: {error}", file=sys.stderr)
        sys.exit(2)
