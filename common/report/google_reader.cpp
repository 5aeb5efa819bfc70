#include "common/report/google_reader.h"

#include <limits>

#include "common/config/visible.h"
#include "common/report/result_rows.h"

namespace trainbench {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr std::size_t kLongestMessage = 1 << 20;
constexpr const char* kAggregatesOnly =
    "holds aggregates only; single repetitions are needed: run without "
    "--benchmark_report_aggregates_only";

double seconds_a_unit(const ObjectReader& row) {
  const auto unit = row.optional("time_unit");
  const std::string name = unit ? unit->choice({"ns", "us", "ms", "s"}) : "ns";
  if (name == "ns") return 1e-9;
  if (name == "us") return 1e-6;
  return name == "ms" ? 1e-3 : 1.0;
}

/// How Google Benchmark marks a repetition that measured nothing: errors in all versions, skips
/// with a message since 1.8.
struct Mark {
  const char* flag;
  const char* message;
  Status status;
};
constexpr Mark kMarks[] = {{"error_occurred", "error_message", Status::failed},
                           {"skipped", "skip_message", Status::skipped}};

const Mark* mark_of(const ObjectReader& row) {
  for (const Mark& mark : kMarks) {
    const auto flag = row.optional(mark.flag);
    if (flag && flag->boolean()) return &mark;
  }
  return nullptr;
}

bool is_aggregate(const ObjectReader& row) {
  const auto type = row.optional("run_type");
  return type && type->text() == "aggregate";
}

/// A mean's row is named "case_mean", but its run_name is the case's. Tables, files and terminals
/// take any name: whatever would end or redraw a line there is spelled out.
std::string name_of_case(const ObjectReader& row) {
  const auto run_name = row.optional("run_name");
  return visible(run_name ? run_name->text() : row.required("name").text());
}

Sample read_sample(const ObjectReader& row) {
  const double unit = seconds_a_unit(row);
  Sample sample;
  sample.iterations = row.required("iterations").integer(0, INT64_MAX);
  sample.real_time = row.required("real_time").number(0, kMost) * unit;
  sample.cpu_time = row.required("cpu_time").number(0, kMost) * unit;
  sample.counters = read_counters(row, {});
  return sample;
}

class GoogleRows : public ResultRows {
 public:
  void add(const JsonNode& node) override {
    const ObjectReader row(node);
    const std::string name = name_of_case(row);
    CaseResult* result = find(name);
    if (result == nullptr) {
      CaseResult fresh;
      fresh.id = CaseId::of_another_program(name);
      fresh.status = Status::skipped;  // until a repetition says otherwise
      fresh.reason = kAggregatesOnly;
      result = &append(std::move(fresh));
    }
    if (is_aggregate(row)) return;
    any_repetition_ = true;
    if (result->samples.empty() && result->reason == kAggregatesOnly) {
      result->status = Status::ok;
      result->reason.clear();
    }
    if (const Mark* mark = mark_of(row)) {
      result->status = mark->status;
      if (const auto text = row.optional(mark->message)) {
        result->reason = text->text(0, kLongestMessage);
      }
    } else {
      Sample sample = read_sample(row);
      if (sample.iterations > 0) result->samples.push_back(std::move(sample));
    }
  }

  void finish(const JsonNode& rows) override {
    if (!results().empty() && !any_repetition_) rows.fail(kAggregatesOnly);
  }

 private:
  bool any_repetition_ = false;
};

}  // namespace

std::unique_ptr<ResultRows> google_rows() { return std::make_unique<GoogleRows>(); }

Report read_any_result(const std::string& text, const std::string& file) {
  return read_result_text(text, file, ResultKind::any);
}

Report read_any_result_file(const std::string& path) {
  return read_any_result(read_text_file(path, kResultLimits.bytes), path);
}

}  // namespace trainbench
