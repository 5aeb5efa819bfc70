#!/usr/bin/env python3
"""Trains a trainbench workload with PyTorch, eager or compiled, and prints Google Benchmark's JSON.

    python -m venv VENV && VENV/bin/pip install torch
    VENV/bin/python scripts/peers/pytorch.py --trainbench build/trainbench --workload mlp \\
        --batch 256 --precision fp32 --threads 2 --device cpu

Sizes, data, optimizer, learning rate, input scaling and initialization come from trainbench's own
table. A step is what trainbench calls resident: batches of bytes lie in device memory, and
converting them, the forward pass, the loss, the backward pass and the update are timed. Both train
on the same files; their order, the weights and a synthetic set are drawn from the same
distributions, not from the same numbers.
"""

import argparse
import contextlib
import datetime
import json
import math
import platform
import subprocess
import sys
import time

from pytorch_data import DATA, BadInput

try:
    import torch
except ImportError:
    torch = None

# As many as trainbench cycles through.
RESIDENT_BATCHES = 8
WARM_UP_SECONDS = 1.0
WARM_UP_STEPS = 5

DEVICES = {"cpu": "cpu", "cuda": "gpu"}  # PyTorch's name: trainbench's
PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "fp64")


class Parser(argparse.ArgumentParser):
    def error(self, message):
        raise BadInput(message + "; --help lists the flags")


def positive(kind):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = 0
        if not (value > 0 and math.isfinite(value)):
            raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
        return value

    return parse


def sizes_of(text):
    try:
        return {name: int(size) for name, size in (each.split("=") for each in text.split(","))}
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=N,...") from None


def parse_arguments():
    parser = Parser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("--trainbench", required=True, metavar="PATH", help="the program to read the workload from")
    add("--workload", default="mlp", choices=sorted(MODELS))
    add("--data", metavar="DIR", help="IDX files, or synthetic (default: trainbench's choice)")
    add("--batch", type=positive(int), help="samples a step (default: the workload's)")
    add("--precision", default="fp32", choices=PRECISIONS)
    add("--threads", type=positive(int), help="CPU threads (default: PyTorch's choice)")
    add("--device", default="cpu", choices=sorted(DEVICES))
    add("--mode", default="eager", choices=("eager", "compile"), help="compile: torch.compile")
    add("--repetitions", type=positive(int), default=10)
    add("--min-time", type=positive(float), default=0.5, help="least seconds of a repetition")
    add("--seed", type=int, default=1)
    add(
        "--sizes",
        type=sizes_of,
        default={},
        metavar="NAME=N,...",
        help="sizes of the model other than the workload's",
    )
    return parser.parse_args()


def read_workload(program, name):
    command = [program, "list", "--workloads", "--json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return json.loads(done.stdout)[name]
    except (OSError, subprocess.CalledProcessError, ValueError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        raise BadInput(
            f"--trainbench {program}: no workload {name!r} from `list --workloads --json` "
            f"({reason}); give the path of a built trainbench"
        ) from None


def mlp(sizes):
    widths = [sizes["inputs"], *[sizes["hidden"]] * (sizes["layers"] - 1), sizes["classes"]]
    layers = [torch.nn.Flatten()]
    for inputs, outputs in zip(widths, widths[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def diffusion(sizes):
    from pytorch_diffusion import Diffusion  # needs PyTorch

    return Diffusion(sizes)


def gpt(sizes):
    from pytorch_gpt import Gpt  # needs PyTorch

    return Gpt(sizes)


def resnet(bottleneck):
    def make(sizes):
        from pytorch_resnet import Resnet  # needs PyTorch

        return Resnet(sizes, bottleneck)

    return make


def lstm(sizes):
    from pytorch_lstm import Lstm  # needs PyTorch

    return Lstm(sizes)


# A model without a loss of its own is a classifier.
MODELS = {
    "mlp": mlp,
    "resnet20": resnet(bottleneck=False),
    "resnet50": resnet(bottleneck=True),
    "diffusion": diffusion,
    "gpt": gpt,
    "gpt2": gpt,
    "lstm": lstm,
}


def initialize(model):
    """Its own way, or uniform in +-1/sqrt(fan in), weights and biases; normal before a batch norm."""
    if hasattr(model, "initialize"):
        model.initialize()
        return
    for layer in model.modules():
        if isinstance(layer, torch.nn.Conv2d) and layer.bias is None:
            torch.nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(layer, (torch.nn.Linear, torch.nn.Conv2d)):
            bound = 1 / math.sqrt(layer.weight[0].numel())
            torch.nn.init.uniform_(layer.weight, -bound, bound)
            torch.nn.init.uniform_(layer.bias, -bound, bound)


def make_optimizer(model, workload):
    options = {"lr": workload["learning_rate"], "weight_decay": workload["weight_decay"]}
    if workload["optimizer"] == "sgd":
        return torch.optim.SGD(model.parameters(), momentum=workload["momentum"], **options)
    betas = (workload["beta1"], workload["beta2"])
    return torch.optim.AdamW(model.parameters(), betas=betas, eps=workload["epsilon"], **options)


class Training:
    """A model and its optimizer on a device; what trainbench's Trainer is."""

    def __init__(self, arguments, workload):
        device = arguments.device
        precision = arguments.precision
        self.scale, self.shift = workload["input_scale"], workload["input_shift"]
        self.clip = workload["gradient_clip"]
        self.kind = torch.float64 if precision == "fp64" else torch.float32
        half = {"bf16": torch.bfloat16, "fp16": torch.float16}.get(precision)
        self.autocast = torch.autocast(device, half) if half else contextlib.nullcontext()
        self.scaler = torch.amp.GradScaler(device, enabled=precision == "fp16")

        torch.manual_seed(arguments.seed)
        samples, labels = DATA[workload["data"]](
            arguments.data, RESIDENT_BATCHES * arguments.batch, workload["sizes"]
        )
        sizes = dict(workload["sizes"])
        if "channels" in sizes:
            sizes["channels"] = samples.shape[1]
        self.model = MODELS[arguments.workload](sizes)
        initialize(self.model)
        self.model.to(device, self.kind, memory_format=torch.channels_last)
        self.optimizer = make_optimizer(self.model, workload)
        self.loss_function = getattr(self.model, "loss", torch.nn.CrossEntropyLoss())
        self.forward = torch.compile(self.model) if arguments.mode == "compile" else self.model
        labels = [None] * RESIDENT_BATCHES if labels is None else labels.split(arguments.batch)
        layout = torch.channels_last if samples.dim() == 4 else torch.contiguous_format
        self.batches = [
            (
                some.contiguous(memory_format=layout).to(device),
                None if theirs is None else theirs.contiguous().to(device),
            )
            for some, theirs in zip(samples.split(arguments.batch), labels)
        ]
        self.steps = 0

    def inputs_and_labels(self):
        samples, labels = self.batches[self.steps % RESIDENT_BATCHES]
        self.steps += 1
        if labels is None:
            sequences = samples.long()
            return sequences[:, :-1], sequences[:, 1:].flatten()
        return samples.to(self.kind) * self.scale + self.shift, labels

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        with self.autocast:
            inputs, labels = self.inputs_and_labels()
            loss = self.loss_function(self.forward(inputs), labels)
        self.scaler.scale(loss).backward()
        if self.clip > 0:
            self.scaler.unscale_(self.optimizer)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def timed(training, device, iterations):
    """Wall and CPU seconds of that many steps, and the last one's loss."""
    synchronize(device)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(iterations):
        loss = training.step()
    synchronize(device)
    return time.perf_counter() - wall, time.process_time() - cpu, loss.item()


def measure(training, arguments):
    """One row a repetition, all of the same number of steps."""
    loss_first = training.step().item()
    steps, start = 0, time.perf_counter()
    while steps < WARM_UP_STEPS or time.perf_counter() - start < WARM_UP_SECONDS:
        timed(training, arguments.device, 1)
        steps += 1
    probe = 5
    seconds, _, _ = timed(training, arguments.device, probe)
    iterations = max(1, math.ceil(arguments.min_time / (seconds / probe)))

    device = DEVICES[arguments.device]
    name = f"train/{arguments.workload}/{device}/{arguments.precision}/batch:{arguments.batch}"
    for index in range(arguments.repetitions):
        wall, cpu, loss_last = timed(training, arguments.device, iterations)
        yield {
            "name": name,
            "family_index": 0,
            "per_family_instance_index": 0,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": arguments.repetitions,
            "repetition_index": index,
            "threads": 1,
            "iterations": iterations,
            "real_time": wall / iterations,
            "cpu_time": cpu / iterations,
            "time_unit": "s",
            "samples_per_second": arguments.batch * iterations / wall,
            "loss_first": loss_first,
            "loss_last": loss_last,
        }


def describe(arguments, workload):
    cuda = arguments.device == "cuda"
    lines = torch.__config__.show().splitlines()
    return {
        "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "host_name": platform.node(),
        "executable": sys.executable,
        "library_build_type": "release",
        "peer": {
            "name": "pytorch",
            "version": torch.__version__,
            "mode": arguments.mode,
            "device": torch.cuda.get_device_name() if cuda else "cpu",
            "cpu_capability": torch.backends.cpu.get_cpu_capability(),
            "cuda": torch.version.cuda if cuda else None,
            "threads": torch.get_num_threads(),
            "libraries": [line.strip(" -") for line in lines if "Intel(R)" in line],
            "seed": arguments.seed,
            "data": arguments.data,
            "workload": workload,
            "argv": sys.argv[1:],
        },
    }


def prepare(arguments):
    """Checks what was asked for against this PyTorch and sets it up."""
    if arguments.device == "cuda" and not torch.cuda.is_available():
        raise BadInput("--device cuda: this PyTorch finds no CUDA device; use --device cpu")
    if arguments.device == "cpu" and arguments.precision == "tf32":
        raise BadInput("--precision tf32 is a format of GPU tensor cores; use fp32 here")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)  # as trainbench does
    torch.backends.cuda.matmul.allow_tf32 = arguments.precision == "tf32"
    torch.backends.cudnn.allow_tf32 = arguments.precision == "tf32"


def main():
    try:
        arguments = parse_arguments()
        if torch is None:
            raise BadInput(
                f"no PyTorch in {sys.executable}; run this with the python of an environment that "
                "has it (pip install torch)"
            )
        workload = read_workload(arguments.trainbench, arguments.workload)
        workload["sizes"].update(arguments.sizes)
        arguments.batch = arguments.batch or workload["batch"]
        arguments.data = arguments.data or workload["data_source"]
        prepare(arguments)
        training = Training(arguments, workload)
    except BadInput as error:
        print(f"pytorch.py: {error}", file=sys.stderr)
        return 2
    context = describe(arguments, workload)
    rows = list(measure(training, arguments))
    json.dump({"context": context, "benchmarks": rows}, sys.stdout, indent=2, allow_nan=False)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
