// Writes result files into a folder for result_files_test.py: write_samples FOLDER.

#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>

#include "common/report/atomic_file.h"
#include "common/report/json.h"
#include "tests/report/sample_report.h"

int main(int argc, char** argv) {
  using namespace trainbench;
  if (argc != 2) return 2;
  try {
    const std::string folder = std::string(argv[1]) + "/";
    write_file_atomically(folder + "a.json", to_json(sample_report(1)));
    write_file_atomically(folder + "b.json", to_json(sample_report(1.25)));

    // All that could make a file unreadable: numbers without a JSON form, bytes that are no text.
    Report odd = sample_report();
    odd.partial = true;
    odd.context["note"] = "tab\t quote\" \xc3\xa9 \xff";
    odd.context["peak"] = std::numeric_limits<double>::infinity();
    odd.results[0].samples[0].counters["loss_last"] = std::nan("");
    odd.results[0].samples[1].real_time = -std::numeric_limits<double>::infinity();
    odd.results[0].samples[2].counters["smallest"] = std::numeric_limits<double>::denorm_min();
    odd.results[1].samples.resize(1);
    odd.results[2].status = Status::failed;
    odd.results[2].reason = "the loss is not finite";
    odd.results[3].simulated = true;
    write_file_atomically(folder + "odd.json", to_json(odd));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
