#!/usr/bin/env python3
"""Derives configs/prediction/efficiencies.json from the rows of published.json marked "fit".

    scripts/predict_fit.py --trainbench build/trainbench > configs/prediction/efficiencies.json

Each constant comes from rows of its own, in this order: the rated peaks' reached part from the best
published product and stream; an operation's fixed time from what the smallest product took beyond
its roofs; a convolution's part so that a published ResNet-50 step takes the time it took. Where an
architecture has no row, another's constant stands in: `from` names it.
"""

import argparse
import json

import roofline

PASCAL, VOLTA, AMPERE, ADA, HOPPER = ARCHITECTURES = ("pascal", "volta", "ampere", "ada", "hopper")

# Which row gives what. Nothing else enters.
BANDWIDTH = {HOPPER: "C.5 triad, H100 PCIe", "turing": "C.5 stream, RTX 2070"}
CUDA_CORES = {
    PASCAL: "C.2 product 1760x7000x1760, P100 fp32",
    VOLTA: "C.2 product 1760x7000x1760, V100 fp32",
}
TENSOR_CORES = {
    VOLTA: "C.2 product 1760x7000x1760, V100 fp16",
    AMPERE: "C.1 best bf16 product, A100 SXM",
    HOPPER: "C.1 best bf16 product, H100 SXM",
}
OPERATION_SECONDS = {
    PASCAL: "C.2 product 1760x16x1760, P100 fp32",
    VOLTA: "C.2 product 1760x16x1760, V100 fp16",
}
CUDA_CONVOLUTION = {VOLTA: "C.7 ResNet-50, V100 fp32"}
TENSOR_CONVOLUTION = {
    VOLTA: "C.7 ResNet-50, V100 fp16",
    AMPERE: "C.7 ResNet-50, A100 80 GB fp16",
    HOPPER: "C.7 ResNet-50, H100 SXM5 fp16",
}
# Who stands in for an architecture without a row, nearest first. GDDR for GDDR, HBM for HBM.
STAND_INS = {
    "bandwidth": {PASCAL: HOPPER, VOLTA: HOPPER, AMPERE: HOPPER, ADA: "turing"},
    "cuda_cores": {AMPERE: VOLTA, ADA: VOLTA, HOPPER: VOLTA},
    "tensor_cores": {PASCAL: VOLTA, ADA: AMPERE},
    "operation_seconds": {AMPERE: VOLTA, ADA: VOLTA, HOPPER: VOLTA},
    "cuda_convolution": {PASCAL: VOLTA, AMPERE: VOLTA, ADA: VOLTA, HOPPER: VOLTA},
    "tensor_convolution": {PASCAL: VOLTA, ADA: AMPERE},
}


def rounded(value):
    return float(f"{value:.4g}")


class Fit:
    def __init__(self, rows, binary):
        self.rows = rows
        self.binary = binary
        self.fitted = {name: {} for name in ARCHITECTURES}

    def row(self, name):
        row = self.rows[name]
        assert row["use"] == "fit", f"{name} is held out"
        return row

    def derive(self, constant, table, value_of):
        own = {
            who: {"value": rounded(value_of(self.row(name))), "from": who, "rows": [name]}
            for who, name in table.items()
        }
        for who in ARCHITECTURES:
            stand_in = who if who in own else STAND_INS[constant][who]
            self.fitted[who][constant] = own[stand_in]

    def constants(self, spec):
        return roofline.constants(self.fitted, spec)

    def bandwidth(self, row):
        if row["kind"] == "bandwidth_fraction":
            return row["value"]
        return row["value"] / roofline.device(row["device"])["bandwidth"]

    def product(self, row):
        rate = row["value"]
        if row["kind"] == "product":
            rate = roofline.product(row)[0]["flops"] / row["value"]
        return rate / roofline.device(row["device"])["peaks"][row["precision"]]["flops"]

    def operation_seconds(self, row):
        spec = roofline.device(row["device"])
        fitted = {**self.constants(spec), "operation_seconds": 0}
        return row["value"] - roofline.seconds(
            roofline.product(row), spec, fitted, row["precision"]
        )

    def convolution(self, row):
        """By bisection: a step's time falls as the constant grows."""
        spec = roofline.device(row["device"])
        unit = spec["peaks"][row["precision"]]["unit"].split("-", maxsplit=1)[0]
        step = roofline.step(self.binary, row)
        wanted = step["batch"] / row["value"]
        low, high = 1e-3, 1.0
        for _ in range(60):
            middle = (low + high) / 2
            fitted = {**self.constants(spec), f"{unit}_convolution": middle}
            time = roofline.seconds(step["operations"], spec, fitted, row["precision"])
            low, high = (middle, high) if time > wanted else (low, middle)
        return (low + high) / 2

    def run(self):
        self.derive("bandwidth", BANDWIDTH, self.bandwidth)
        self.derive("cuda_cores", CUDA_CORES, self.product)
        self.derive("tensor_cores", TENSOR_CORES, self.product)
        self.derive("operation_seconds", OPERATION_SECONDS, self.operation_seconds)
        self.derive("cuda_convolution", CUDA_CONVOLUTION, self.convolution)
        self.derive("tensor_convolution", TENSOR_CONVOLUTION, self.convolution)
        return self.fitted


def text_of(fitted):
    lines = []
    for who, constants in fitted.items():
        each = ",\n".join(f'   "{name}": {json.dumps(value)}' for name, value in constants.items())
        lines.append(f'  "{who}": {{\n{each}\n  }}')
    return (
        '{\n "description": "Made by scripts/predict_fit.py from the rows named, which'
        ' published.json holds: parts of rated peaks, and seconds.",\n "architectures": {\n'
        + ",\n".join(lines)
        + "\n }\n}\n"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trainbench", required=True, metavar="PATH", help="it counts the steps")
    arguments = parser.parse_args()
    rows = {row["id"]: row for row in roofline.load("prediction/published.json")["rows"]}
    print(text_of(Fit(rows, arguments.trainbench).run()), end="")


if __name__ == "__main__":
    main()
