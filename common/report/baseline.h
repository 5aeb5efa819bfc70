#pragma once

#include <string>
#include <vector>

#include "common/report/run_files.h"

namespace trainbench {

/// Runs that later ones are judged by, each a file of its own: FOLDER/<machine>/<build>/<date>...
/// A machine and a build share baselines with no other.
class BaselineStore {
 public:
  explicit BaselineStore(std::string folder) : folder_(std::move(folder)) {}

  /// Keeps a run, whose file is copied byte for byte; returns where. The same run again is the same
  /// file. Throws InputError for what no time can be compared with: an interrupted run, a debug
  /// build, a run that measured nothing, one that does not say its machine.
  std::string save(const std::string& result_file) const;

  /// The newest `most` runs with which `fresh` may be compared, the oldest first. Throws InputError
  /// that says why there is none. `any_terms`: also those of other drivers, devices or libraries.
  std::vector<RunFile> runs_for(const Report& fresh, std::size_t most, bool any_terms) const;

  /// Of a report's machine and build.
  std::string folder_of(const Report& report) const;

 private:
  std::string folder_;
};

}  // namespace trainbench
