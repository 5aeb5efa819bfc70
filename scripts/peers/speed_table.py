#!/usr/bin/env python3
"""How much faster trainbench trains each workload on this CPU than PyTorch does, as a table.

    scripts/peers/speed_table.py --trainbench build/trainbench --python VENV/bin/python \\
        --out results/pytorch-HOST.json

For each workload and precision every round runs trainbench, PyTorch as it stands (eager) and
PyTorch compiled (torch.compile), in processes of their own and in an order that moves on with each
round. A round's ratio is trainbench's samples a second by the better of the two others. The table,
in Markdown, shows medians over the rounds and the range of the ratios; the file holds all numbers.
The first round's compiled processes are run once before, so that PyTorch's cache of compiled code
is there for all of them.
"""

import argparse
import datetime
import json
import math
import pathlib
import statistics
import sys
import tempfile

from compare_speed import BadInput, Contest

WORKLOADS = {"mlp": 256, "resnet20": 128, "resnet50": 8, "lstm": 32, "gpt": 8, "diffusion": 16}
MODES = ("eager", "compile")


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainbench", required=True, metavar="PATH")
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has PyTorch")
    parser.add_argument("--workloads", nargs="+", default=list(WORKLOADS), choices=WORKLOADS)
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--repetitions", type=int, default=3, help="of each process")
    parser.add_argument("--min-time", type=float, default=0.3, help="least seconds of each")
    parser.add_argument("--out", type=pathlib.Path, metavar="FILE.json")
    arguments = parser.parse_args()
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def contests(arguments, workload, precision, folder):
    """The contestants' names and what runs each."""
    of_mode = {}
    for mode in MODES:
        options = argparse.Namespace(
            trainbench=arguments.trainbench,
            python=arguments.python,
            workload=workload,
            batch=WORKLOADS[workload],
            precision=precision,
            threads=arguments.threads,
            cpu_provider="auto",
            mode=mode,
            data=None,
            repetitions=arguments.repetitions,
            min_time=arguments.min_time,
        )
        of_mode[mode] = Contest(options, folder)
    return {
        "trainbench": of_mode["eager"].trainbench,
        **{mode: contest.pytorch for mode, contest in of_mode.items()},
    }


def measured(arguments, workload, precision):
    with tempfile.TemporaryDirectory() as folder:
        runs = contests(arguments, workload, precision, pathlib.Path(folder))
        runs["compile"]()
        rates = {name: [] for name in runs}
        names = list(runs)
        for index in range(arguments.rounds):
            turn = index % len(names)
            for name in names[turn:] + names[:turn]:
                rates[name].append(runs[name]())
        result = json.loads((pathlib.Path(folder) / "result.json").read_text())
    ratios = [
        ours / max(eager, compiled)
        for ours, eager, compiled in zip(rates["trainbench"], rates["eager"], rates["compile"])
    ]
    shares = [row.get("fraction_of_peak_flops") for row in result["benchmarks"]]
    return {
        "workload": workload,
        "batch": WORKLOADS[workload],
        "precision": precision,
        "samples_per_second": rates,
        "ratios": ratios,
        "fraction_of_peak_flops": next((share for share in shares if share is not None), None),
    }


def digits(value):
    """Three significant ones."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def table(rows):
    lines = [
        "| workload | batch | precision | trainbench | PyTorch eager | compiled | ratio | of peak |",
        "|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        rates = [
            digits(statistics.median(row["samples_per_second"][name]))
            for name in ("trainbench", *MODES)
        ]
        ratios = row["ratios"]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        share = row["fraction_of_peak_flops"]
        lines.append(
            f"| `{row['workload']}` | {row['batch']} | {row['precision']} | {' | '.join(rates)} | "
            f"{ratio} | {'-' if share is None else f'{100 * share:.0f} %'} |"
        )
    for precision in dict.fromkeys(row["precision"] for row in rows):
        medians = [statistics.median(r["ratios"]) for r in rows if r["precision"] == precision]
        lines.append("")
        lines.append(
            f"Geometric mean of the {len(medians)} ratios in {precision}: "
            f"{statistics.geometric_mean(medians):.2f}."
        )
    return "\n".join(lines)


def write(arguments, rows):
    options = {
        name: value for name, value in vars(arguments).items()
        if name in ("threads", "rounds", "repetitions", "min_time")
    }
    now = datetime.datetime.now().astimezone().isoformat(timespec="seconds")
    document = {"date": now, "options": options, "rows": rows}
    whole = arguments.out.with_name(arguments.out.name + ".part")
    whole.write_text(json.dumps(document, indent=1) + "\n")
    whole.replace(arguments.out)


def main():
    arguments = parse_arguments()
    rows = []
    for precision in arguments.precisions:
        for workload in arguments.workloads:
            rows.append(measured(arguments, workload, precision))
            print(f"{workload} {precision}: {statistics.median(rows[-1]['ratios']):.2f}",
                  file=sys.stderr, flush=True)
            if arguments.out is not None:
                write(arguments, rows)  # the rest takes long, and may not come
    print(table(rows))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BadInput as error:
        print(f"speed_table.py: {error}", file=sys.stderr)
        sys.exit(2)
