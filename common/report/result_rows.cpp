#include "common/report/result_rows.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/core/error.h"

namespace trainbench {
namespace {

constexpr const char* kRows = "benchmarks";
constexpr const char* kOwn = "trainbench";

/// Numbers of a row that are Google Benchmark's own; every other number is a counter.
bool is_own_key(std::string_view key) {
  constexpr std::array<std::string_view, 8> keys{"family_index", "per_family_instance_index",
                                                 "repetitions",  "repetition_index",
                                                 "threads",      "iterations",
                                                 "real_time",    "cpu_time"};
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

/// Google Benchmark writes NaN and Infinity as such, which JSON does not have: null stands for
/// them.
std::string without_nonfinite(const std::string& text) {
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (in_string && text[i] == '\\' && i + 1 < text.size()) {
      result += text[i++];
    } else if (text[i] == '"') {
      in_string = !in_string;
    } else if (!in_string && (text[i] == 'N' || text[i] == 'I' || text[i] == '-')) {
      const std::string_view rest = std::string_view(text).substr(i);
      std::size_t length = 0;
      for (const std::string_view token : {"NaN", "-NaN", "Infinity", "-Infinity"}) {
        if (rest.starts_with(token)) length = token.size();
      }
      if (length > 0) {
        result += "null";
        i += length - 1;
        continue;
      }
    }
    result += text[i];
  }
  return result;
}

class ResultReader {
 public:
  ResultReader(const std::string& file, ResultKind kind) : file_(file), kind_(kind) {}

  Report read(const std::string& text) {
    // Rows that stand before the context, as no known writer has them, wait in the document.
    const ElementSink sink{kRows, [this](const Json& before, std::size_t index, const Json& row) {
                             if (!rows_ && !before.contains(kContext)) return false;
                             begin(before);
                             rows_->add({row, file_, "/benchmarks/" + std::to_string(index)});
                             return true;
                           }};
    const Json document = parse_json(text, file_, kResultLimits, sink);
    const ObjectReader top(JsonNode(document, file_));
    begin(document);
    const JsonNode list = top.required(kRows);
    for (const JsonNode& row : list.elements(0, kMostRows)) rows_->add(row);
    rows_->finish(list);
    report_.results = rows_->take();
    return std::move(report_);
  }

 private:
  static constexpr std::size_t kMostRows = 10'000'000;
  static constexpr const char* kContext = "context";

  /// Reads the context, which says whose rows these are.
  void begin(const Json& document) {
    if (rows_) return;
    const ObjectReader top(JsonNode(document, file_));
    const auto context = top.optional(kContext);
    const bool object = context && context->value().is_object();
    const bool own = kind_ == ResultKind::own || (object && context->value().contains(kOwn));
    if (own) read_own_context(top.required(kContext), report_);
    if (object) {
      for (const auto& [key, value] : context->value().items()) {
        if (key != kOwn) report_.google_context[key] = value;
      }
    }
    rows_ = own ? own_rows() : google_rows();
  }

  const std::string& file_;
  ResultKind kind_;
  std::unique_ptr<ResultRows> rows_;
  Report report_;
};

}  // namespace

CaseResult* ResultRows::find(const std::string& name) {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &results_[found->second];
}

CaseResult& ResultRows::append(CaseResult result) {
  index_.emplace(result.id.full_name(), results_.size());
  return results_.emplace_back(std::move(result));
}

std::map<std::string, double> read_counters(const ObjectReader& row,
                                            const std::map<std::string, double>& constant) {
  std::map<std::string, double> counters;
  for (const auto& [key, value] : row.node().value().items()) {
    if (!value.is_number() || is_own_key(key) || constant.contains(key)) continue;
    counters.emplace(key, value.get<double>());
  }
  return counters;
}

Report read_result_text(const std::string& text, const std::string& file, ResultKind kind) {
  try {
    return ResultReader(file, kind).read(text);
  } catch (const InputError&) {
    // Only then: few files have these tokens.
    if (kind == ResultKind::own) throw;
    const std::string finite = without_nonfinite(text);
    if (finite == text) throw;
    return ResultReader(file, kind).read(finite);
  }
}

}  // namespace trainbench
