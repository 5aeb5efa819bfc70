#!/usr/bin/env python3
"""Compares the predictions of `trainbench predict` with published measurements, as Markdown.

    scripts/predict_check.py --trainbench build/trainbench [--all]

Each row of configs/prediction/published.json that no constant was fitted on is predicted. The error
is of the speed: +20% says that the prediction is a fifth faster than what was published. --all adds
the rows that were fitted on (none of them says how good the model is) and those not predicted.
"""

import argparse
import statistics

import roofline


def predict(row, binary, efficiencies):
    """What the row's value is predicted to be."""
    spec = roofline.device(row["device"])
    fitted = roofline.constants(efficiencies, spec)
    kind = row["kind"]
    if kind == "bandwidth":
        return spec["bandwidth"] * fitted["bandwidth"]
    if kind == "product_rate":
        return roofline.product_flops(spec, fitted, row["precision"])
    if kind in ("product", "convolution"):
        operations = getattr(roofline, kind)(row)
        return roofline.seconds(operations, spec, fitted, row["precision"])
    if kind == "plan":
        return roofline.plan(binary, row)["device_hours"]
    step = roofline.step(binary, row)
    (estimate,) = step["estimates"]
    time = estimate["estimated_seconds"]
    return time if row["quantity"] == "seconds" else step[COUNTS[row["quantity"]]] / time


WHAT = {
    "product_rate": "products and attention",
    "product": "products and attention",
    "convolution": "convolutions",
    "bandwidth": "streams",
    "step": "training steps",
    "plan": "plans",
}
COUNTS = {"tokens_per_second": "tokens", "samples_per_second": "batch"}
UNITS = {
    "bandwidth": ("GB/s", 1e9),
    "product_rate": ("TFLOP/s", 1e12),
    "product": ("ms", 1e-3),
    "convolution": ("ms", 1e-3),
    "seconds": ("ms", 1e-3),
    "plan": ("k device hours", 1e3),
    "tokens_per_second": ("tokens/s", 1),
    "samples_per_second": ("images/s", 1),
}


def unit_of(row):
    return UNITS[row.get("quantity", row["kind"])]


def is_time(row):
    return row["kind"] in ("product", "convolution", "plan") or row.get("quantity") == "seconds"


def shown(value):
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def print_table(rows, binary, efficiencies):
    """Returns the errors by the first word of each id: the section of numbers.md."""
    errors = {}
    print("| published measurement | published | predicted | error |\n|---|---:|---:|---:|")
    for row in rows:
        predicted, published = predict(row, binary, efficiencies), row["value"]
        ratio = published / predicted if is_time(row) else predicted / published
        kind = row["kind"]
        errors.setdefault(WHAT[kind], []).append(ratio - 1)
        unit, scale = unit_of(row)
        note = f" ({row['note']})" if "note" in row else ""
        values = f"{shown(published / scale)} {unit} | {shown(predicted / scale)}"
        print(f"| {row['id']}{note} | {values} | {100 * (ratio - 1):+.0f} % |")
    return errors


def print_summary(errors):
    print("\n| what | rows | median of the error's size | largest |\n|---|---:|---:|---:|")
    for what, each in errors.items():
        worst = max(each, key=abs)
        middle = statistics.median(abs(error) for error in each)
        print(f"| {what} | {len(each)} | {100 * middle:.0f} % | {100 * worst:+.0f} % |")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainbench", required=True, metavar="PATH")
    parser.add_argument("--all", action="store_true", help="the rows that say nothing too")
    arguments = parser.parse_args()
    efficiencies = roofline.load("prediction/efficiencies.json")["architectures"]
    rows = roofline.load("prediction/published.json")["rows"]

    def used(use):
        return [row for row in rows if row["use"] == use]

    print_summary(print_table(used("held out"), arguments.trainbench, efficiencies))
    if not arguments.all:
        return
    print("\nFitted on, so no test of the model:\n")
    predictable = [row for row in used("fit") if row["kind"] != "bandwidth_fraction"]
    print_table(predictable, arguments.trainbench, efficiencies)
    print("\nNot predicted:\n")
    for row in used("not predicted"):
        print(f"- {row['id']}: {row['reason']}")


if __name__ == "__main__":
    main()
