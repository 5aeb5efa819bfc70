"""Result files for the tests of the command line: ours and another program's."""

import json

CASE = "train/mlp/cpu/fp32/batch:32"


def google_benchmark(time, count=10, name="BM_step", **row):
    """A result of another program: `count` repetitions around `time` ms, a twentieth of a percent apart."""
    rows = [
        {"name": name, "run_name": name, "run_type": "iteration", "repetition_index": i, "iterations": 5,
         "real_time": time * (1 + 0.0005 * i), "cpu_time": time, "time_unit": "ms", **row}
        for i in range(count)
    ]
    return json.dumps({"context": {"num_cpus": 2}, "benchmarks": rows})


def ours(time, case=CASE, count=10, date="2026-11-30T12:00:00+00:00", commit="0123456789ab", partial=False,
         status="ok", simulated=False, **changes):
    """A result of trainbench, `time` seconds a step; `changes` replace what stands in build or machine."""
    build = {"commit": commit, "build_type": "Release", "compiler": "GNU 12.2.0", "flags": "-O3", "sanitizers": ""}
    machine = {"host_id": "one"}
    for values in (build, machine):
        values.update({key: value for key, value in changes.items() if key in values})
    own = {"schema_version": 1, "partial": partial, "build": build, "machine": machine}
    rows = []
    for i in range(count):
        value = time * (1 + 0.0005 * i)
        rows.append({
            "name": case, "run_name": case, "run_type": "iteration", "repetition_index": i, "iterations": 5,
            "real_time": value, "cpu_time": value, "time_unit": "s", "wall_time": value,
            "samples_per_second": 32 / value, "flops_per_iteration": 1e9, "memory_bytes_parameters": 1000.0,
            "memory_bytes_workspace": 24.0,
            "trainbench": {"status": status, "simulated": simulated, "served": {}, "process": 0,
                           "constant": ["flops_per_iteration", "memory_bytes_parameters", "memory_bytes_workspace"]}})
    return json.dumps({"context": {"date": date, "host_name": "h", "trainbench": own}, "benchmarks": rows})
