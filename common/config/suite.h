#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "common/config/json_file.h"
#include "common/models/model.h"
#include "common/report/result.h"

namespace trainbench {

/// One case as a suite asks for it.
struct SuiteCase {
  CaseId id;
  ModelSizes sizes;  ///< sizes that differ from the model's defaults; also among the id's keys
};

/// A named list of cases and how they are sampled.
struct Suite {
  std::string name;
  std::string description;
  int repetitions = 10;
  double min_time = 0.1;  ///< least seconds of one repetition
  std::vector<SuiteCase> cases;
};

/// What replaces a suite's own axes; an empty list leaves the suite's.
struct SuiteOverrides {
  std::vector<std::string> devices;  ///< "cpu", "gpu" or "all"
  std::vector<std::string> precisions;
  std::vector<std::int64_t> batches;
  std::vector<std::int64_t> threads;
  std::string filter;  ///< keeps the cases whose full name this regular expression finds
};

/// Reads and expands a suite: a file, or a name looked up as NAME.json in the configs folders.
/// Throws InputError that names the file, the key, what was wrong and the nearest right spelling.
Suite load_suite(const std::string& name_or_file, const SuiteOverrides& overrides);

/// The same from a document; `file` names it in errors.
Suite read_suite(const Json& document, const std::string& file, const SuiteOverrides& overrides);

/// The names that the regular expression finds; an empty one finds all. Throws InputError for what
/// is no regular expression.
std::vector<std::string> keep_matching(std::vector<std::string> names,
                                       const std::string& expression);

/// The folders there are to look for suites in: beside the binary, the install prefix's, the source
/// tree's.
std::vector<std::filesystem::path> config_folders();

/// The suites in those folders, sorted.
std::vector<std::string> suite_names();

/// What a command's help says of the suite it takes: the names there are.
std::string suite_help();

/// The file of a suite; throws InputError where no folder has it. A file's own existence is not
/// checked.
std::filesystem::path find_suite(const std::string& name_or_file);

}  // namespace trainbench
