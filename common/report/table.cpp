#include "common/report/table.h"

#include <algorithm>
#include <map>
#include <optional>

#include "common/config/json_file.h"
#include "common/memory.h"
#include "common/report/family_table.h"
#include "common/report/numbers.h"
#include "common/report/speedup.h"
#include "common/report/statistics.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

constexpr std::size_t kWidth = 100;
/// A spread of this part of the median says that the machine was busy with something else.
constexpr double kNoisy = 0.10;
constexpr const char* kNothing = "-";
/// What rows of sequences have beside their samples a second, and the column that shows it.
constexpr const char* kTokens = "tokens_per_second";
constexpr std::ptrdiff_t kTokenColumn = 7;

using Align = TextTable::Align;

/// The median of a counter over the repetitions as `show` writes it.
template <class Show>
std::string cell(const CaseResult& result, const std::string& counter, Show&& show) {
  const std::vector<double> values = result.values(counter);
  return values.empty() ? kNothing : show(median(values));
}

/// The same for what the clock says: nothing where the clock is a simulation's.
template <class Show>
std::string timed_cell(const CaseResult& result, const std::string& counter, Show&& show) {
  return result.simulated ? kNothing : cell(result, counter, show);
}

std::string rate_cell(const CaseResult& result, const std::string& counter) {
  return timed_cell(result, counter, [](double value) { return si(value, ""); });
}

std::string total_memory(const CaseResult& result) {
  double bytes = 0;
  for (const MemoryKind kind : kMemoryKinds) {
    const auto values = result.values("memory_bytes_" + std::string(name_of(kind)));
    if (!values.empty()) bytes += median(values);
  }
  return bytes == 0 ? kNothing : bytes_text(bytes);
}

std::string losses(const CaseResult& result) {
  const auto three_digits = [](double value) { return significant(value, 3); };
  const std::string first = cell(result, "loss_first", three_digits);
  // The last repetition taken has trained the longest.
  const std::vector<double> last = result.values("loss_last");
  return last.empty() ? kNothing : first + " -> " + three_digits(last.back());
}

/// Interquartile range of the wall time as a part of its median; nothing on a simulated device.
std::optional<double> spread(const CaseResult& result) {
  std::vector<double> times = result.values("wall_time");
  if (result.simulated || times.empty()) return std::nullopt;
  return summarize(std::move(times)).relative_iqr();
}

/// Letters that the legend below the tables explains.
std::string marks(const CaseResult& result) {
  std::string letters;
  const std::vector<double> bound = result.values("loader_bound");
  if (!bound.empty() && median(bound) > 0.5) letters += 'L';
  if (result.details.is_object() && result.details.value("above_peak", false)) letters += 'P';
  if (spread(result).value_or(0) > kNoisy) letters += 'N';
  return letters;
}

constexpr std::pair<char, const char*> kLegend[] = {
    {'L', "the loader sets the pace of this step"},
    {'P',
     "a repetition was above the measured peak: convolutions were filtered (served: winograd), or "
     "the peak or the count is wrong"},
    {'N', "noisy: the interquartile range is more than 10 % of the median"},
};

/// Families whose iteration takes a batch of samples have their columns; the others' follow from
/// what they have.
bool has_samples(const CaseResult& result) {
  return result.id.family == "train" || result.id.family == "loader";
}

class TableWriter {
 public:
  explicit TableWriter(const Report& report) : report_(report) {}

  std::string text() {
    title();
    for (const std::string& group : groups()) table(group);
    for (const std::string& family : other_families()) {
      const std::string table = family_table(report_, family, marks);
      if (!table.empty()) text_ += "\n" + table;
    }
    for (const CaseResult& result : report_.results) {
      if (result.outcome() == Status::ok) marks_ += marks(result);
    }
    legend();
    text_ += speedup_text(report_);
    unmeasured(Status::failed, "failed");
    unmeasured(Status::skipped, "skipped");
    return std::move(text_);
  }

 private:
  void title() {
    if (report_.context.is_object() && report_.context.contains("test_fault")) {
      text_ += "NOT REAL: TRAINBENCH_TEST_FAULT planted " +
               report_.context["test_fault"].dump(-1, ' ', false, Json::error_handler_t::replace) +
               " in these results.\n";
    }
    if (report_.partial) text_ += "Interrupted: not all repetitions were taken.\n";
    for (const Json& device : devices_of(report_)) {
      if (!device.contains("name")) continue;
      std::string line = device.value("kind", "?") + ": " + device.value("name", "?");
      const auto units = device.value("units", std::int64_t{0});
      const char* word = device.value("kind", "") == "cpu" ? " core" : " SM";
      if (units > 0) line += ", " + std::to_string(units) + word + (units == 1 ? "" : "s");
      if (device.value("simulated", false)) line += "; simulated: its times are no speed";
      text_ += wrapped(line, kWidth, "     ") + "\n";
    }
  }

  std::vector<std::string> groups() const {
    std::vector<std::string> names;
    for (const CaseResult& result : report_.results) {
      if (!has_samples(result)) continue;
      const std::string name = group_name(result.id);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
  }

  std::vector<std::string> other_families() const {
    std::vector<std::string> names;
    for (const CaseResult& result : report_.results) {
      if (has_samples(result)) continue;
      const std::string& name = result.id.family;
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    return names;
  }

  void table(const std::string& group) {
    std::vector<const CaseResult*> results;
    for (const CaseResult& result : report_.results) {
      if (result.outcome() == Status::ok && group_name(result.id) == group) {
        results.push_back(&result);
      }
    }
    const bool sequences = std::any_of(results.begin(), results.end(), [](const CaseResult* each) {
      return !each->values(kTokens).empty();
    });
    std::vector<TextTable::Column> columns{{"device", Align::left},
                                           {"type", Align::left},
                                           {"batch"},
                                           {"cores"},
                                           {"     time"},
                                           {"  IQR"},
                                           {sequences ? " seq/s" : "samples/s"},
                                           {"GFLOP/s"},
                                           {" peak"},
                                           {"  GB/s"},
                                           {"  memory"},
                                           {"        loss"},
                                           {"", Align::left}};
    if (sequences) columns.insert(columns.begin() + kTokenColumn, {"tokens/s"});
    TextTable table(std::move(columns));
    for (const CaseResult* result : results) {
      std::vector<std::string> cells = row(*result);
      if (sequences) cells.insert(cells.begin() + kTokenColumn, rate_cell(*result, kTokens));
      table.add(std::move(cells));
    }
    if (table.empty()) return;
    text_ += "\n" + group + "\n" + table.text();
  }

  std::vector<std::string> row(const CaseResult& result) {
    const auto giga = [](double value) { return significant(value / 1e9, 3); };
    return {result.id.device,
            result.id.precision,
            result.id.text("batch", kNothing),
            result.id.device == "cpu" ? std::to_string(cores_used(report_, result.id)) : kNothing,
            result.simulated ? "simulated" : cell(result, "wall_time", seconds_text),
            spread(result) ? percent_text(*spread(result)) : kNothing,
            rate_cell(result, "samples_per_second"),
            timed_cell(result, "flops_per_second", giga),
            timed_cell(result, "fraction_of_peak_flops", percent_text),
            timed_cell(result, "bytes_per_second", giga),
            total_memory(result),
            losses(result),
            marks(result)};
  }

  void legend() {
    for (const auto& [letter, meaning] : kLegend) {
      if (marks_.find(letter) != std::string::npos)
        text_ += std::string(1, letter) + ": " + meaning + "\n";
    }
  }

  void unmeasured(Status status, const std::string& word) {
    // Cases that share a reason are listed under it.
    std::vector<std::string> reasons;
    std::map<std::string, std::vector<std::string>> names;
    for (const CaseResult& result : report_.results) {
      if (result.outcome() != status) continue;
      const std::string reason = result.outcome_reason();
      if (!names.contains(reason)) reasons.push_back(reason);
      names[reason].push_back(result.id.full_name());
    }
    for (const std::string& reason : reasons) {
      text_ += "\n" + wrapped(word + ": " + reason, kWidth, "  ") + "\n";
      for (const std::string& name : names[reason]) text_ += "  " + name + "\n";
    }
  }

  const Report& report_;
  std::string text_;
  std::string marks_;
};

}  // namespace

std::string to_table(const Report& report) { return TableWriter(report).text(); }

}  // namespace trainbench
