#!/usr/bin/env python3
"""What the kernels that train take of an SM: registers, shared memory, spills, and the occupancy that follows.

    scripts/gpu_resources.py [--csv FILE] [--profile FILE...] > docs/gpu/resources.md

Compiles gpu/*.cu for each architecture (nvcc -ptx, then ptxas -v, which reports) and prints a table
in Markdown, one row a kernel with the range over its instances; the CSV file has a row for each
instance. A kernel's threads are those of its launch bounds. Shared memory that is given at launch is
in no compiler's report: profiles that a simulator wrote (simgpu --profile) tell it for the kernels
they met; of others the occupancy is an upper bound, marked so. Kernels that only measure the device
(peaks) are left out.

The exit status is 1 if any kernel spills registers or has a stack frame, 2 if one does not compile.
"""

import argparse
import collections
import concurrent.futures
import csv
import json
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_TRAINING = re.compile(r"code_probe|peak|probes_")

# CUDA C++ programming guide, "Technical specifications per compute capability": of an SM.
SHARED_BYTES = {80: 164 << 10, 86: 100 << 10, 89: 100 << 10, 90: 228 << 10}
MOST_WARPS = {80: 64, 86: 48, 89: 48, 90: 64}
MOST_BLOCKS = {80: 32, 86: 16, 89: 24, 90: 32}
REGISTERS_OF_QUARTER = 16384
SHARED_OF_SYSTEM = 1024  # of each block

Kernel = collections.namedtuple(
    "Kernel", "source architecture instance threads registers shared stack spills more_shared"
)


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--architectures", type=int, nargs="+", default=[80, 90], choices=SHARED_BYTES
    )
    parser.add_argument("--nvcc", default=shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--csv", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--profile", type=pathlib.Path, nargs="+", default=[], metavar="FILE")
    parser.add_argument("sources", nargs="*", type=pathlib.Path, help="instead of all")
    return parser.parse_args()


def run(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(map(str, command))}\n{done.stderr}")
    return done.stdout + done.stderr


def readable(names):
    """Demangled, without what all kernels' names share."""
    text = run(["c++filt", *names]).splitlines() if names else []
    return [shorten(name) for name in text]


def shorten(name):
    name = re.sub(r"\(anonymous namespace\)::|_GLOBAL__N__\w+::", "", name)
    name = re.sub(r"\btrainbench::(gpu::)?", "", name)
    name = re.sub(r"^void ", "", name)
    name = re.sub(r"\(\w+\)(?=-?\d|true|false)", "", name)  # (bool)1, (gpu::Unit)1
    depth = 0
    for index, character in enumerate(name):
        depth += (character == "<") - (character == ">")
        if character == "(" and depth == 0:
            return name[:index]
    return name


def compile_source(nvcc, source, architecture, folder):
    """The kernels of one file for one architecture."""
    ptx = folder / f"{source.stem}.{architecture}.ptx"
    flags = ["-std=c++20", "-O3", "-lineinfo", f"-I{ROOT}"]
    run([nvcc, "-ptx", *flags, f"-arch=compute_{architecture}", source, "-o", ptx])
    ptxas = pathlib.Path(nvcc).resolve().with_name("ptxas")
    report = run([ptxas, "-v", f"-arch=sm_{architecture}", ptx, "-o", folder / f"{ptx.name}.cubin"])
    threads = {}
    more_shared = set()  # is given at launch
    text = ptx.read_text()
    given = re.findall(r"\.extern \.shared [^;]*?(\w+)\[\];", text)
    entry = r"\.entry (\w+)\(.*?\)\s*((?:\.\w+ [\d, ]+\s*)*)\{"
    for name, directives in re.findall(entry, text, re.DOTALL):
        bounds = re.search(r"\.maxntid (\d+)(?:, (\d+))?(?:, (\d+))?", directives)
        extents = [int(extent) for extent in bounds.groups() if extent] if bounds else []
        threads[name] = 1
        for extent in extents:
            threads[name] *= extent
    for body in text.split(".entry ")[1:]:
        if any(symbol in body for symbol in given):
            more_shared.add(re.match(r"\w+", body).group())
    found = re.findall(
        r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
        r"(\d+) bytes spill loads.*?Used (\d+) registers([^\n]*)",
        report,
        re.DOTALL,
    )
    kernels = []
    for (name, stack, stores, loads, registers, rest), instance in zip(
        found, readable([entry[0] for entry in found])
    ):
        shared = re.search(r"(\d+) bytes smem", rest)
        kernels.append(
            Kernel(
                source.name,
                architecture,
                instance,
                threads[name],
                int(registers),
                int(shared.group(1)) if shared else 0,
                int(stack),
                int(stores) + int(loads),
                name in more_shared,
            )
        )
    return kernels


def launched_shared(profiles):
    """The most shared memory that launches gave each kernel."""
    most = collections.Counter()
    for profile in profiles:
        for launch in json.loads(profile.read_text())["launches"]:
            if launch["kind"] == "kernel":
                name = shorten(launch["name"])
                most[name] = max(most[name], launch["dynamic_shared_bytes"])
    return most


def resident_warps(kernel, dynamic):
    """Warps of an SM that the kernel's blocks can fill."""
    warps = (kernel.threads + 31) // 32
    registers_of_warp = (kernel.registers * 32 + 255) // 256 * 256
    shared = (kernel.shared + dynamic + SHARED_OF_SYSTEM + 127) // 128 * 128
    blocks = min(
        4 * (REGISTERS_OF_QUARTER // registers_of_warp) // warps,
        SHARED_BYTES[kernel.architecture] // shared,
        MOST_WARPS[kernel.architecture] // warps,
        MOST_BLOCKS[kernel.architecture],
    )
    return blocks * warps


def span(values, unit=""):
    low, high = min(values), max(values)
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def write_csv(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*Kernel._fields[:6], "launch_shared", *Kernel._fields[6:8], "occupancy"])
        for kernel, dynamic, occupancy in rows:
            unknown = kernel.more_shared and not dynamic
            writer.writerow([*kernel[:6], "unknown" if unknown else dynamic, *kernel[6:8],
                             f"{'<= ' if unknown else ''}{occupancy}%"])


def print_table(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        kernel = row[0]
        name = re.sub(r"<.*", "", kernel.instance)
        groups[kernel.source, name, kernel.architecture].append(row)
    print("| File | Kernel | sm | instances | threads | registers | shared bytes | occupancy | "
          "spilt bytes | stack |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|")
    for (source, name, architecture), of_kernel in sorted(groups.items()):
        kernels = [row[0] for row in of_kernel]
        cells = [
            source,
            f"`{name}`",
            architecture,
            len(kernels),
            span([kernel.threads for kernel in kernels]),
            span([kernel.registers for kernel in kernels]),
            span([kernel.shared + dynamic for kernel, dynamic, _ in of_kernel]),
            ("at most " if any(k.more_shared and not dynamic for k, dynamic, _ in of_kernel) else "")
            + span([occupancy for _, _, occupancy in of_kernel], " %"),
            max(kernel.spills for kernel in kernels),
            max(kernel.stack for kernel in kernels),
        ]
        print("| " + " | ".join(map(str, cells)) + " |")


def main():
    arguments = parse_arguments()
    sources = arguments.sources or [
        path for path in sorted((ROOT / "gpu").glob("*.cu")) if not NOT_TRAINING.match(path.name)
    ]
    try:
        dynamic = launched_shared(arguments.profile)
    except (OSError, ValueError, KeyError) as error:
        print(f"gpu_resources.py: --profile: {error}", file=sys.stderr)
        return 2
    kernels = []
    with tempfile.TemporaryDirectory() as folder:
        with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
            waiting = [
                pool.submit(compile_source, arguments.nvcc, source, architecture, pathlib.Path(folder))
                for source in sources
                for architecture in arguments.architectures
            ]
            try:
                for done in waiting:
                    kernels += done.result()
            except RuntimeError as error:
                pool.shutdown(cancel_futures=True)
                print(f"gpu_resources.py: {error}", file=sys.stderr)
                return 2
    rows = []
    for kernel in kernels:
        given = dynamic[kernel.instance]
        share = 100 * resident_warps(kernel, given) // MOST_WARPS[kernel.architecture]
        rows.append((kernel, given, share))
    if arguments.csv:
        write_csv(arguments.csv, rows)
    print_table(rows)
    bad = [kernel for kernel in kernels if kernel.spills or kernel.stack]
    print(f"\n{len(kernels)} kernels, {len(bad)} of them spill or have a stack frame.")
    for kernel in bad:
        print(
            f"gpu_resources.py: sm_{kernel.architecture} {kernel.instance}: {kernel.spills} bytes "
            f"spilt, {kernel.stack} of stack",
            file=sys.stderr,
        )
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
