#pragma once

#include <map>
#include <memory>
#include <string>

#include "common/config/typed_reader.h"
#include "common/report/result.h"

namespace trainbench {

/// Collects the cases of a result file from its rows, which come one at a time: a file of 100 MB is
/// never held as a document.
class ResultRows {
 public:
  virtual ~ResultRows() = default;
  /// Throws InputError that names the file and the path in it.
  virtual void add(const JsonNode& row) = 0;
  /// What is to be said once all rows were seen; `rows` names the list in errors.
  virtual void finish(const JsonNode& rows) { static_cast<void>(rows); }
  std::vector<CaseResult> take() { return std::move(results_); }

 protected:
  /// The case of this name; null where no row had it before.
  CaseResult* find(const std::string& name);
  /// A new case, known by its full name.
  CaseResult& append(CaseResult result);
  std::vector<CaseResult>& results() { return results_; }

 private:
  std::vector<CaseResult> results_;
  std::map<std::string, std::size_t> index_;
};

std::unique_ptr<ResultRows> own_rows();
std::unique_ptr<ResultRows> google_rows();

/// Reads our own context into the report; a document without one is refused.
void read_own_context(const JsonNode& node, Report& report);

/// The numbers of a row that are neither Google Benchmark's own nor among `constant`.
std::map<std::string, double> read_counters(const ObjectReader& row,
                                            const std::map<std::string, double>& constant);

enum class ResultKind : std::uint8_t { own, any };

/// The report in the text of a result file, which `file` names. `own`: of this program alone.
Report read_result_text(const std::string& text, const std::string& file, ResultKind kind);

}  // namespace trainbench
