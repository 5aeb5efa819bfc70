#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/config/json_file.h"
#include "common/report/result.h"

namespace trainbench {

class Descriptor;

/// A file that gets one line of JSON for each thing that happens to a case, as it happens, so that
/// a run that dies has lost no repetition and shows which case it was in:
///   {"event": "begin", "name": "train/mlp/..."}: a case is prepared, or a repetition of it begins;
///   {"event": "checked", ...}: its output was right; what is true of all its repetitions;
///   {"event": "sample", ...}: a repetition has ended.
class Journal {
 public:
  /// Starts an empty journal. Throws InputError that names the path.
  explicit Journal(std::string path);
  ~Journal();

  /// The line is the kernel's before these return; the disk is not waited for.
  void begin(const CaseId& id);
  void checked(const CaseResult& result);
  void append(const CaseId& id, const Sample& sample);

  /// The run has ended well and its result file is written.
  void remove();

 private:
  void write(const Json& line);

  std::string path_;
  std::unique_ptr<Descriptor> file_;
};

struct JournalEntry {
  enum class Event { begin, checked, sample };
  Event event = Event::begin;
  CaseResult result;  ///< its id; for `checked` counters, served and details; the one sample
};

/// Reads a journal back. A last line that was cut short is left out; any other defect is an
/// InputError that names file and line.
std::vector<JournalEntry> read_journal(const std::string& path);

}  // namespace trainbench
