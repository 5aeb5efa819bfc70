#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/config/name_filter.h"
#include "common/report/result.h"

namespace trainbench {

/// A result file among others: when it was measured and of what.
struct RunFile {
  std::string path;
  std::int64_t time = 0;  ///< of the run's start, seconds since 1970 in UTC
  std::string commit;     ///< empty where the file does not say
  Report report;
};

/// The seconds since 1970 of "2026-11-30T17:48:44+01:00", Google Benchmark's date; -1 for what is
/// none. Without a zone it is UTC.
std::int64_t seconds_of_date(const std::string& date);
/// "2026-11-30T16:48:44Z".
std::string utc_date(std::int64_t seconds);

/// Reads a result file, ours or another program's. Throws InputError, also where it has no date.
RunFile read_run_file(const std::string& path);
/// The same of a file's text.
RunFile parse_run_file(const std::string& text, const std::string& path);

/// Reads the files, and of each folder every file in and below it that ends in .json, without the
/// cases that `filter` does not find. In the order of their dates. Throws InputError that names the
/// first that cannot be read; a folder without any is one.
std::vector<RunFile> read_run_files(const std::vector<std::string>& files_and_folders,
                                    const NameFilter& filter);

}  // namespace trainbench
