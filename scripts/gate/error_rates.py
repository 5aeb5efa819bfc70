#!/usr/bin/env python3
"""How often `trainbench compare` is wrong, and what it finds, on this machine's own noise.

    scripts/gate/error_rates.py collect --trainbench build/trainbench --pool DIR
    scripts/gate/error_rates.py judge --trainbench build/trainbench --pool DIR --out FILE.json

`collect` runs the suite `gate` in bursts over an hour: processes of the program as it is, and
processes in which every case is slowed by 3 % or by 5 % through the program's test hook. One
burst's processes are a block: they share what the machine did at that time.

`judge` draws gate decisions from the pool. A decision takes N processes for each side, every one
from another block, and runs the real `compare` on them:

  A against A   no case differs; a run is wrong if any case is called SLOWER or FASTER.
  power         one case of the new side, another one each time, is slower: by a factor on its
                times, or with samples of the slowed processes. It is found if its verdict is
                SLOWER, at --max-slowdown 1%. That any other case is then called so is wrong.

Bounds of the rates are Clopper and Pearson's, one-sided at 95 %.
"""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile
import time

EFFECTS = (1.01, 1.02, 1.03, 1.05, 1.10)
HOOKED = (1.03, 1.05)
TIMES = ("real_time", "cpu_time", "wall_time")
COUNTS = ("allocations", "bytes_per_iteration", "flops_per_iteration", "operations_per_iteration")


def resolved(path):
    return pathlib.Path(path).resolve()


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    collect = commands.add_parser("collect", help="measure the pool")
    judge = commands.add_parser("judge", help="draw decisions from it")
    for command in (collect, judge):
        command.add_argument("--trainbench", type=resolved, required=True)
        command.add_argument("--pool", type=pathlib.Path, required=True)
    collect.add_argument("--bursts", type=int, default=24)
    collect.add_argument("--pause", type=float, default=140, help="seconds between bursts")
    collect.add_argument("--processes", type=int, default=3, help="of the program, a burst")
    collect.add_argument("--repetitions", type=int, default=4, help="of each process")
    collect.add_argument("--prefix", default="", help="command to run each burst under")
    judge.add_argument("--out", type=pathlib.Path, required=True)
    judge.add_argument("--decisions", type=int, default=2000, help="of A against A")
    judge.add_argument("--power-decisions", type=int, default=300, help="a point of the curve")
    judge.add_argument("--sizes", default="7,8,10,12", help="processes a side")
    judge.add_argument("--recommended", type=int, default=10)
    judge.add_argument("--seed", type=int, default=1)
    judge.add_argument("--jobs", type=int, default=os.cpu_count())
    return parser.parse_args()


def kinds():
    """Folder of the pool -> factor that its processes are slowed by."""
    return {"plain": 1.0, **{f"slow-{factor}": factor for factor in HOOKED}}


def collect(options):
    for kind in kinds():
        (options.pool / kind).mkdir(parents=True, exist_ok=True)
    for burst in range(options.bursts):
        started = time.monotonic()
        for kind, factor in kinds().items():
            processes = options.processes if factor == 1 else 1
            environment = dict(os.environ)
            if factor != 1:
                environment["TRAINBENCH_TEST_FAULT"] = f"slow:.:{factor}"
            stamp = time.strftime("%Y%m%dT%H%M%S")
            command = shlex.split(options.prefix) + [
                str(options.trainbench), "run", "gate", "--data", "synthetic",
                "--processes", str(processes),
                "--repetitions", str(processes * options.repetitions),
                "--out", str(options.pool / kind / f"{burst:03}-{stamp}.json"),
            ]  # fmt: skip
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"burst {burst}: exit {done.returncode}: {done.stderr.strip()}")
        print(f"burst {burst + 1} of {options.bursts}: {time.monotonic() - started:.0f} s", flush=True)
        if burst + 1 < options.bursts:
            time.sleep(options.pause)


class Pool:
    """The processes of one kind: by block, the rows of each by case."""

    def __init__(self, folder):
        self.context = None
        self.blocks = []
        for path in sorted(folder.glob("*.json")):
            document = json.loads(path.read_text())
            self.context = document["context"]
            processes = collections.defaultdict(lambda: collections.defaultdict(list))
            first = {}
            for row in document["benchmarks"]:
                if row["run_type"] != "iteration":
                    continue
                # What is constant stands in a case's first row alone.
                whole = first.setdefault(row["name"], row)
                own = {**whole["trainbench"], **row["trainbench"]}
                processes[own["process"]][row["name"]].append({**whole, **row, "trainbench": own})
            self.blocks.append(list(processes.values()))
        if not self.blocks:
            sys.exit(f"{folder}: holds no results; run collect first")

    def leave_out_others(self):
        """Drops the blocks with a process that is not the same program at work: memory or counts,
        which are constant, are not what most processes have. Returns how many those are."""
        constants = [[constants_of(process) for process in block] for block in self.blocks]
        usual, _ = collections.Counter(one for block in constants for one in block).most_common(1)[0]
        kept = [
            block
            for block, own in zip(self.blocks, constants)
            if all(one == usual for one in own)
        ]
        left_out = len(self.blocks) - len(kept)
        self.blocks = kept
        return left_out

    def cases(self):
        return list(self.blocks[0][0])

    def processes(self):
        return sum(len(block) for block in self.blocks)

    def samples(self):
        return min(
            sum(len(process[case]) for block in self.blocks for process in block)
            for case in self.cases()
        )


def constants_of(process):
    """The counters of a process that a comparison takes literally."""
    return tuple(
        (case, name, rows[0][name])
        for case, rows in sorted(process.items())
        for name in sorted(rows[0])
        if name.startswith("memory_bytes_") or name in COUNTS
    )


def draw(pool, count, choose):
    """`count` processes, each from another block."""
    return [choose.choice(block) for block in choose.sample(pool.blocks, count)]


def document(context, processes):
    rows = []
    for number, process in enumerate(processes):
        for case in process.values():
            for row in case:
                rows.append({**row, "trainbench": {**row["trainbench"], "process": number}})
    return {"context": context, "benchmarks": rows}


def slowed(rows, factor):
    return [{**row, **{key: row[key] * factor for key in TIMES}} for row in rows]


def verdicts(trainbench, context, base, new, limit):
    """Case -> verdict of the program's own comparison."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, processes in (("base", base), ("new", new)):
            path = pathlib.Path(folder, f"{name}.json")
            path.write_text(json.dumps(document(context, processes)))
            paths.append(str(path))
        command = [str(trainbench), "compare", *paths, "--format", "json"]
        if limit:
            command += ["--max-slowdown", limit]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            sys.exit(f"compare: exit {done.returncode}: {done.stderr.strip()}")
        return {case["name"]: case["verdict"] for case in json.loads(done.stdout)["cases"]}


def bound(hits, total, upper):
    """Clopper and Pearson's one-sided 95 % bound of a rate."""
    from scipy.stats import beta

    if upper:
        return 1.0 if hits == total else float(beta.ppf(0.95, hits + 1, total - hits))
    return 0.0 if hits == 0 else float(beta.ppf(0.05, hits, total - hits + 1))


def decide(job):
    """One decision; runs in a worker. Returns (planted case's verdict or None, the others')."""
    options, plain, slow, size, factor, limit, seed = job
    choose = random.Random(seed)
    sides = draw(plain, 2 * size, choose)
    base, new = sides[:size], sides[size:]
    planted = None
    if factor != 1:
        planted = choose.choice(plain.cases())
        source = draw(slow, size, choose) if slow else None
        new = [
            {**process, planted: source[i][planted] if slow else slowed(process[planted], factor)}
            for i, process in enumerate(new)
        ]
    found = verdicts(options.trainbench, plain.context, base, new, limit)
    return (found.pop(planted) if planted else None), list(found.values())


def run_decisions(pool, options, plain, slow, size, factor, limit, count):
    jobs = [
        (options, plain, slow, size, factor, limit, f"{options.seed}/{size}/{factor}/{limit}/{i}")
        for i in range(count)
    ]
    results = list(pool.map(decide, jobs))
    wrong = sum(any(v in ("SLOWER", "FASTER") for v in others) for _, others in results)
    undecided = sum(any(v == "AMBIGUOUS" for v in others) for _, others in results)
    summary = {
        "processes_a_side": size,
        "max_slowdown": limit or "default",
        "decisions": count,
        "wrong_runs": wrong,
        "wrong_share": wrong / count,
        "wrong_share_upper_bound": bound(wrong, count, upper=True),
        "undecided_runs": undecided,
    }
    if factor != 1:
        hits = sum(verdict == "SLOWER" for verdict, _ in results)
        summary.update(
            effect=factor - 1,
            planted_by="test hook" if slow else "factor on the times",
            found=hits,
            power=hits / count,
            power_lower_bound=bound(hits, count, upper=False),
        )
    return summary


def judge(options):
    plain = Pool(options.pool / "plain")
    left_out = plain.leave_out_others()
    if left_out:
        print(f"{left_out} of the bursts left out: memory or counts of a process differ", flush=True)
    hooked = {factor: Pool(options.pool / f"slow-{factor}") for factor in HOOKED}
    sizes = [int(size) for size in options.sizes.split(",")]
    rows = []

    def report(row):
        rows.append(row)
        power = f"  found {row['power']:.1%}" if "power" in row else ""
        effect = f"  +{row['effect']:.0%} by {row['planted_by']}" if "effect" in row else ""
        print(
            f"{row['processes_a_side']:3} processes a side, limit {row['max_slowdown']}{effect}: "
            f"wrong {row['wrong_runs']} of {row['decisions']}{power}",
            flush=True,
        )

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for limit in (None, "0.01"):
            report(
                run_decisions(
                    pool, options, plain, None, options.recommended, 1, limit, options.decisions
                )
            )
        count = options.power_decisions
        for size in sizes:
            for factor in EFFECTS:
                report(run_decisions(pool, options, plain, None, size, factor, "0.01", count))
        for factor, slow in hooked.items():
            report(
                run_decisions(
                    pool, options, plain, slow, options.recommended, factor, "0.01", count
                )
            )
    result = {
        "context": plain.context,
        "pool": {
            "blocks": len(plain.blocks),
            "blocks_left_out": left_out,
            "processes": plain.processes(),
            "cases": plain.cases(),
            "samples_of_each_case": plain.samples(),
        },
        "recommended_processes": options.recommended,
        "rows": rows,
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    arguments = parse_arguments()
    {"collect": collect, "judge": judge}[arguments.command](arguments)
