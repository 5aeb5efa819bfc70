"""The model of `trainbench predict` for what its scripts fit and check: see common/cost/roofline.h.

A test holds it to the program's own estimates.
"""

import json
import pathlib
import subprocess

CONFIGS = pathlib.Path(__file__).resolve().parent.parent / "configs"
BYTES = {"fp64": 8, "fp32": 4, "tf32": 4, "fp16": 2, "bf16": 2, "fp8": 1}


def load(name):
    return json.loads((CONFIGS / name).read_text(encoding="utf-8"))


def device(name):
    return load(f"devices/{name}.json")


def constants(efficiencies, spec):
    """An architecture's constants by name."""
    return {name: each["value"] for name, each in efficiencies[spec["architecture"]].items()}


def product_flops(spec, fitted, precision):
    peak = spec["peaks"][precision]
    return peak["flops"] * fitted[peak["unit"].replace("-", "_")]


def convolution_flops(spec, fitted, precision):
    unit = spec["peaks"][precision]["unit"].split("-", maxsplit=1)[0]
    return product_flops(spec, fitted, precision) * fitted[f"{unit}_convolution"]


def seconds(operations, spec, fitted, precision):
    """Of operations one after the other, each {operation, calls, flops, bytes}."""
    total = 0.0
    for each in operations:
        convolution = each["operation"].startswith("conv2d")
        roof = (convolution_flops if convolution else product_flops)(spec, fitted, precision)
        traffic = each["bytes"] / (spec["bandwidth"] * fitted["bandwidth"])
        total += max(each["flops"] / roof, traffic) + each["calls"] * fitted["operation_seconds"]
    return total


def product(row):
    """The one operation of a published product m x n x k; sums are stored in fp32 or wider."""
    m, n, k = row["size"]
    size = BYTES[row["precision"]]
    traffic = (m * k + k * n) * size + m * n * max(size, 4)
    return [{"operation": "matmul", "calls": 1, "flops": 2 * m * n * k, "bytes": traffic}]


def convolution(row):
    """The one operation of a published convolution: any of its three passes."""
    shape, size = row["shape"], BYTES[row["precision"]]
    across, down = shape["filter"]
    width = (shape["width"] - across) // shape["stride"] + 1
    height = (shape["height"] - down) // shape["stride"] + 1
    patch = across * down * shape["channels"]
    pixels = shape["batch"] * width * height
    operands = shape["batch"] * shape["width"] * shape["height"] * shape["channels"]
    elements = operands + patch * shape["filters"] + pixels * shape["filters"]
    flops = 2 * pixels * patch * shape["filters"]
    return [{"operation": "conv2d", "calls": 1, "flops": flops, "bytes": elements * size}]


def ask(binary, *arguments):
    command = [binary, "predict", "--json", *arguments]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(answer.stdout)


def step(binary, row):
    """A training step as the program counts it: its batch, tokens, operations and estimate."""
    sizes = [f"--size={name}={value}" for name, value in row["sizes"].items()]
    on = ["--operations", "--on", row["device"], "--precision", row["precision"]]
    what = ["--workload", row["workload"], "--batch", str(row["batch"]), *sizes]
    return ask(binary, *on, *what)["steps"][0]


def plan(binary, row):
    """What the program plans for a model that is never built, on one kind of device."""
    answer = ask(binary, "--on", row["device"], "--workload", row["model"])
    return answer["plans"][0]["estimates"][0]
