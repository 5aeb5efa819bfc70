// Writes the seeds of fuzz_result into a folder: write_result_seeds FOLDER. Small ones: the fuzzer
// changes them byte by byte.

#include <cstdio>
#include <exception>
#include <string>

#include "common/report/atomic_file.h"
#include "common/report/json.h"
#include "tests/report/sample_report.h"

int main(int argc, char** argv) {
  using namespace trainbench;
  if (argc != 2) return 2;
  try {
    const std::string folder = std::string(argv[1]) + "/";
    Report report;
    write_file_atomically(folder + "empty.json", to_json(report));
    report.results.push_back(sample_case("train/mlp/cpu/fp32/batch:256", 0.03));
    report.results.back().samples.resize(1);
    write_file_atomically(folder + "measured.json", to_json(report));
    report.partial = true;
    report.results = {unmeasured_case("train/mlp/gpu/tf32/batch:32", Status::skipped, "no GPU")};
    write_file_atomically(folder + "skipped.json", to_json(report));
    // What another program's Google Benchmark writes, NaN and aggregates included.
    write_file_atomically(folder + "foreign.json",
                          R"({"context": {"host_name": "h", "num_cpus": 2}, "benchmarks": [
{"name": "a/8", "run_name": "a/8", "run_type": "iteration", "iterations": 5, "real_time": 1.5,
 "cpu_time": 1.5, "time_unit": "ms", "items_per_second": NaN},
{"name": "a/8_mean", "run_name": "a/8", "run_type": "aggregate", "aggregate_name": "mean",
 "iterations": 1, "real_time": 1.5, "cpu_time": 1.5, "time_unit": "ms"},
{"name": "b", "run_name": "b", "run_type": "iteration", "skipped": true, "skip_message": "s"}]})");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
