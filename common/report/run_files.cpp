#include "common/report/run_files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>

#include "common/config/json_file.h"
#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/report/google_reader.h"

namespace trainbench {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (fs::recursive_directory_iterator entry(path, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code ignored;
    const fs::file_status status = entry->status(ignored);
    // A pipe that nobody writes to would be waited for.
    if (fs::is_other(status) || fs::is_directory(status)) continue;
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  if (error) throw InputError(path + ": cannot be read: " + error.message());
  if (files.empty()) throw InputError(path + ": no result file (.json) is in this folder");
  std::sort(files.begin(), files.end());
  return files;
}

std::string text_at(const nlohmann::ordered_json& object, const std::string& pointer) {
  const nlohmann::ordered_json::json_pointer place(pointer);
  if (!object.is_object() || !object.contains(place) || !object.at(place).is_string()) return "";
  return object.at(place).get<std::string>();
}

}  // namespace

std::int64_t seconds_of_date(const std::string& date) {
  std::tm parts{};
  std::array<char, 2> separator{};
  int read = 0;
  const int fields = std::sscanf(date.c_str(), "%4d-%2d-%2d%1[T ]%2d:%2d:%2d%n", &parts.tm_year,
                                 &parts.tm_mon, &parts.tm_mday, separator.data(), &parts.tm_hour,
                                 &parts.tm_min, &parts.tm_sec, &read);
  const bool possible = fields == 7 && parts.tm_mon >= 1 && parts.tm_mon <= 12 &&
                        parts.tm_mday >= 1 && parts.tm_mday <= 31 && parts.tm_year >= 1970 &&
                        parts.tm_hour >= 0 && parts.tm_hour < 24 && parts.tm_min >= 0 &&
                        parts.tm_min < 60 && parts.tm_sec >= 0 && parts.tm_sec <= 60;
  if (!possible) return -1;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  std::int64_t seconds = ::timegm(&parts);
  std::array<char, 2> sign{};
  int hours = 0;
  int minutes = 0;
  const std::string zone = date.substr(static_cast<std::size_t>(read));
  if (std::sscanf(zone.c_str(), "%1[+-]%2d:%2d", sign.data(), &hours, &minutes) == 3) {
    seconds -= (sign[0] == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  }
  return seconds;
}

std::string utc_date(std::int64_t seconds) {
  const std::time_t time = seconds;
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

RunFile parse_run_file(const std::string& text, const std::string& path) {
  RunFile run;
  run.path = path;
  run.report = read_any_result(text, path);
  const std::string date = text_at(run.report.google_context, "/date");
  run.time = seconds_of_date(date);
  if (run.time < 0) {
    throw InputError(path + ": /context/date: " + in_quotes(date) +
                     " is no date such as 2026-11-30T17:48:44+01:00");
  }
  run.commit = text_at(run.report.context, "/build/commit");
  return run;
}

RunFile read_run_file(const std::string& path) {
  return parse_run_file(read_text_file(path, kResultLimits.bytes), path);
}

std::vector<RunFile> read_run_files(const std::vector<std::string>& files_and_folders,
                                    const NameFilter& filter) {
  std::vector<RunFile> runs;
  for (const std::string& given : files_and_folders) {
    for (const std::string& path : files_of(given)) {
      RunFile run = read_run_file(path);
      std::erase_if(run.report.results,
                    [&](const CaseResult& result) { return !filter.finds(result.id.full_name()); });
      runs.push_back(std::move(run));
    }
  }
  std::stable_sort(runs.begin(), runs.end(),
                   [](const RunFile& a, const RunFile& b) { return a.time < b.time; });
  return runs;
}

}  // namespace trainbench
