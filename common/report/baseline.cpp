#include "common/report/baseline.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "common/config/json_file.h"
#include "common/core/error.h"
#include "common/report/atomic_file.h"
#include "common/report/comparability.h"

namespace trainbench {
namespace {

namespace fs = std::filesystem;

void require_fit(const RunFile& run) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(run.path + ": is no baseline: " + why);
  };
  if (machine_of(run.report).empty()) refuse("it does not say what machine it was measured on");
  if (run.report.partial) refuse("the run was interrupted");
  const std::string unfit = unfit_build(run.report);
  if (!unfit.empty()) refuse("times of " + unfit + " mean nothing");
  const bool measured =
      std::any_of(run.report.results.begin(), run.report.results.end(),
                  [](const CaseResult& each) { return each.outcome() == Status::ok; });
  if (!measured) refuse("no case of it was measured");
}

bool has_entries(const std::string& folder) {
  std::error_code error;
  const fs::directory_iterator entries(folder, error);
  return !error && entries != fs::directory_iterator();
}

/// Tells runs of one second apart.
std::string checksum(const std::string& text) {
  const auto bytes = reinterpret_cast<const Bytef*>(text.data());
  std::array<char, 16> hex{};
  std::snprintf(hex.data(), hex.size(), "%08lx", ::crc32_z(0, bytes, text.size()));
  return hex.data();
}

}  // namespace

std::string BaselineStore::folder_of(const Report& report) const {
  return folder_ + "/" + machine_of(report) + "/" + build_of(report);
}

std::string BaselineStore::save(const std::string& result_file) const {
  // Read once: what is kept is what was judged, and a pipe has its text but once.
  const std::string text = read_text_file(result_file, kResultLimits.bytes);
  const RunFile run = parse_run_file(text, result_file);
  require_fit(run);
  std::string date = utc_date(run.time);
  std::erase(date, ':');
  const std::string path = folder_of(run.report) + "/" + date + "-" + checksum(text) + ".json";
  write_file_atomically(path, text);
  return path;
}

std::vector<RunFile> BaselineStore::runs_for(const Report& fresh, std::size_t most,
                                             bool any_terms) const {
  const std::string own = folder_of(fresh);
  const std::string advice = "; trainbench baseline save FILE makes one";
  if (!has_entries(own)) {
    const std::string machine = machine_of(fresh);
    const bool other_builds = has_entries(folder_ + "/" + machine);
    throw InputError(
        folder_ + ": no baseline of machine " + machine +
        (other_builds ? " for this build, only for others of other compilers or flags" : "") +
        advice);
  }
  std::vector<RunFile> runs = read_run_files({own}, NameFilter(""));
  std::string difference;
  if (!any_terms) {
    std::erase_if(runs, [&](const RunFile& run) {
      const std::string here = differences({&run.report, &fresh});
      if (!here.empty()) difference = here;
      return !here.empty();
    });
  }
  if (runs.empty()) {
    throw InputError(own + ": no baseline on these terms; the last differs in " + difference +
                     advice);
  }
  if (runs.size() > most) runs.erase(runs.begin(), runs.end() - static_cast<std::ptrdiff_t>(most));
  return runs;
}

}  // namespace trainbench
