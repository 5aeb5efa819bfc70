#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/report/result.h"

namespace trainbench {

class Descriptor;

/// A file that gets one line of JSON for each repetition as it ends, so that a run that dies has
/// lost none: {"name": "train/mlp/...", "sample": {...}}.
class Journal {
 public:
  /// Starts an empty journal. Throws InputError that names the path.
  explicit Journal(std::string path);
  ~Journal();

  /// The line is the kernel's before this returns; the disk is not waited for.
  void append(const CaseId& id, const Sample& sample);

  /// The run has ended well and its result file is written.
  void remove();

 private:
  std::string path_;
  std::unique_ptr<Descriptor> file_;
};

struct JournalEntry {
  CaseId id;
  Sample sample;
};

/// Reads a journal back. A last line that was cut short is left out; any other defect is an
/// InputError that names file and line.
std::vector<JournalEntry> read_journal(const std::string& path);

}  // namespace trainbench
