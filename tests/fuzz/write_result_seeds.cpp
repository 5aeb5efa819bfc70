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
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
