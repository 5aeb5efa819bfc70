#include "common/report/family_table.h"

#include <algorithm>
#include <vector>

#include "common/report/numbers.h"
#include "common/report/speedup.h"
#include "common/report/statistics.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

using Align = TextTable::Align;
using Rows = std::vector<const CaseResult*>;

constexpr const char* kNothing = "-";

/// A counter as a column: its median over the repetitions.
struct CounterColumn {
  const char* counter;
  const char* title;
  std::string (*show)(double);
};

std::string giga(double value) { return significant(value / 1e9, 3); }
std::string nano(double value) { return significant(value * 1e9, 3); }
std::string count(double value) { return si(value, ""); }

constexpr CounterColumn kColumns[] = {
    {"wall_time", "     time", seconds_text},
    {"p99_time", "      p99", seconds_text},
    {"samples_per_second", "samples/s", count},
    {"flops_per_second", "GFLOP/s", giga},
    {"fraction_of_peak_flops", " peak", percent_text},
    {"bytes_per_second", "  GB/s", giga},
    {"fraction_of_peak_bandwidth", "of triad", percent_text},
    {"transferred_per_second", "  GB/s", giga},
    {"seconds_per_load", "ns/load", nano},
    {"seconds_per_operation", "ns/operation", nano},
    {"seconds_per_launch", "ns/launch", nano},
    {"concurrency_needed", "at once for the peak", count},
};

std::string held_by(const CaseResult& result) {
  if (!result.details.is_object() || !result.details.contains("working_set")) return kNothing;
  return result.details["working_set"].value("held_by", kNothing);
}

std::string cell(const CaseResult& result, const CounterColumn& column) {
  const std::vector<double> values = result.values(column.counter);
  if (result.simulated || values.empty()) return kNothing;
  return column.show(median(values));
}

std::string spread(const CaseResult& result) {
  std::vector<double> times = result.values("wall_time");
  if (result.simulated || times.empty()) return kNothing;
  return percent_text(summarize(std::move(times)).relative_iqr());
}

/// The columns of a table, each with the cell of every row; those without content are left out.
class Columns {
 public:
  explicit Columns(const Rows& rows) : rows_(rows) {}

  template <class Cell>
  void add(const std::string& title, Align align, const Cell& cell) {
    std::vector<std::string> cells;
    for (const CaseResult* row : rows_) cells.push_back(cell(*row));
    const bool empty = std::all_of(cells.begin(), cells.end(), [](const std::string& text) {
      return text == kNothing || text.empty();
    });
    if (empty) return;
    columns_.push_back({title, align});
    cells_.push_back(std::move(cells));
  }

  std::string text() const {
    TextTable table(columns_);
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      std::vector<std::string> cells;
      for (const auto& column : cells_) cells.push_back(column[row]);
      table.add(std::move(cells));
    }
    return table.text();
  }

 private:
  const Rows& rows_;
  std::vector<TextTable::Column> columns_;
  std::vector<std::vector<std::string>> cells_;
};

std::vector<std::string> keys_of(const Rows& rows) {
  std::vector<std::string> keys;
  for (const CaseResult* row : rows) {
    for (const auto& [key, value] : row->id.keys) {
      if (key != "threads" && std::find(keys.begin(), keys.end(), key) == keys.end()) {
        keys.push_back(key);
      }
    }
  }
  return keys;
}

}  // namespace

std::string family_table(const Report& report, const std::string& family,
                         std::string (*marks)(const CaseResult&)) {
  Rows rows;
  for (const CaseResult& result : report.results) {
    if (result.outcome() == Status::ok && result.id.family == family) rows.push_back(&result);
  }
  if (rows.empty()) return "";
  Columns columns(rows);
  columns.add("case", Align::left, [](const CaseResult& row) { return row.id.name; });
  columns.add("device", Align::left, [](const CaseResult& row) { return row.id.device; });
  columns.add("type", Align::left, [](const CaseResult& row) { return row.id.precision; });
  for (const std::string& key : keys_of(rows)) {
    columns.add(key, Align::right,
                [&](const CaseResult& row) { return row.id.text(key, kNothing); });
  }
  columns.add("held by", Align::left, held_by);
  columns.add("cores", Align::right, [&](const CaseResult& row) {
    return row.id.device == "cpu" ? std::to_string(cores_used(report, row.id)) : kNothing;
  });
  for (const CounterColumn& column : kColumns) {
    columns.add(column.title, Align::right,
                [&](const CaseResult& row) { return cell(row, column); });
    if (column.counter == std::string("wall_time")) columns.add("  IQR", Align::right, spread);
  }
  columns.add("", Align::left, [&](const CaseResult& row) {
    return row.simulated ? "simulated " + marks(row) : marks(row);
  });
  return family + "\n" + columns.text();
}

}  // namespace trainbench
