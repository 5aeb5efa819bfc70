#include "common/report/json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "common/report/statistics.h"

namespace trainbench {
namespace {

/// A statistic over the repetitions, as Google Benchmark names it.
struct Aggregate {
  const char* name;
  const char* unit;
  double (*of)(const std::vector<double>&);
};

constexpr std::array kAggregates{
    Aggregate{"mean", "time", mean},
    Aggregate{"median", "time", [](const std::vector<double>& values) { return median(values); }},
    Aggregate{"stddev", "time", standard_deviation},
    Aggregate{"cv", "percentage",
              [](const std::vector<double>& values) {
                const double deviation = standard_deviation(values);
                return deviation == 0 ? 0 : deviation / mean(values);
              }},
};

/// Removes what JSON cannot say, anywhere below `node`, and notes it in `omitted` by path. In a
/// list null takes its place, so that the others keep theirs.
void omit_nonfinite(Json& node, const std::string& path, Json& omitted) {
  const auto note = [&](const std::string& step, const Json& value) {
    const double number = value.get<double>();
    omitted[path + step] = std::isnan(number) ? "not a number" : "infinite";
  };
  const auto nonfinite = [](const Json& value) {
    return value.is_number_float() && !std::isfinite(value.get<double>());
  };
  if (node.is_array()) {
    for (std::size_t i = 0; i < node.size(); ++i) {
      if (nonfinite(node[i])) {
        note(std::to_string(i), node[i]);
        node[i] = nullptr;
      } else {
        omit_nonfinite(node[i], path + std::to_string(i) + "/", omitted);
      }
    }
  } else if (node.is_object()) {
    for (auto member = node.begin(); member != node.end();) {
      if (nonfinite(member.value())) {
        note(member.key(), member.value());
        member = node.erase(member);
      } else {
        omit_nonfinite(member.value(), path + member.key() + "/", omitted);
        ++member;
      }
    }
  }
}

/// Takes `object`'s numbers that are not finite out and lists them in its "trainbench" member.
Json finite(Json object) {
  Json omitted = Json::object();
  omit_nonfinite(object, "", omitted);
  if (!omitted.empty()) object["trainbench"]["omitted"] = std::move(omitted);
  return object;
}

/// A row whose times were not finite keeps zeros, as Google Benchmark's readers need the keys.
Json finite_row(Json row) {
  row = finite(std::move(row));
  for (const char* key : {"real_time", "cpu_time"}) {
    if (!row.contains(key)) row[key] = 0.0;
  }
  return row;
}

/// Google Benchmark's place of a case: its family's number and its own within the family.
struct Place {
  std::size_t family = 0;
  std::size_t instance = 0;
};

/// Writes the rows of one case.
class CaseRows {
 public:
  CaseRows(const CaseResult& result, Place place) : result_(result), place_(place) {}

  void append_to(Json& rows) const {
    const std::size_t count = result_.samples.size();
    for (std::size_t i = 0; i < count; ++i) rows.push_back(finite_row(repetition(i)));
    if (count == 0) rows.push_back(finite_row(unmeasured()));
    if (count < 2 || result_.outcome() != Status::ok) return;
    for (const Aggregate& aggregate : kAggregates)
      rows.push_back(finite_row(aggregated(aggregate)));
  }

 private:
  /// What all rows of a case begin with. Google Benchmark's "threads" are those that it runs a
  /// case's function in: always one here.
  Json head(const std::string& suffix, const char* run_type) const {
    const std::string name = result_.id.full_name();
    return {{"name", name + suffix},
            {"family_index", place_.family},
            {"per_family_instance_index", place_.instance},
            {"run_name", name},
            {"run_type", run_type},
            {"repetitions", std::max<std::size_t>(1, result_.samples.size())}};
  }

  Json own() const {
    Json own{{"status", name_of(result_.outcome())}};
    if (result_.outcome() != Status::ok) own["reason"] = result_.outcome_reason();
    own["simulated"] = result_.simulated;
    own["device"] = result_.id.device;
    own["precision"] = result_.id.precision;
    return own;
  }

  /// The first row of a case also carries what is true of all of them.
  Json own_first() const {
    Json own = this->own();
    Json served = Json::object();
    for (const Served& each : result_.served) served[each.operation] = each.provider;
    own["served"] = std::move(served);
    Json constant = Json::array();
    for (const auto& [name, value] : result_.counters) constant.push_back(name);
    own["constant"] = std::move(constant);
    if (!result_.details.is_null()) own["details"] = result_.details;
    return own;
  }

  void add_error(Json& row) const {
    if (result_.outcome() == Status::ok) return;
    row["error_occurred"] = true;
    row["error_message"] = result_.outcome_reason();
  }

  Json repetition(std::size_t index) const {
    const Sample& sample = result_.samples[index];
    Json row = head("", "iteration");
    row["repetition_index"] = index;
    row["threads"] = 1;
    add_error(row);
    row["iterations"] = sample.iterations;
    row["real_time"] = sample.real_time;
    row["cpu_time"] = sample.cpu_time;
    row["time_unit"] = "s";
    for (const auto& [name, value] : result_.counters) row[name] = value;
    for (const auto& [name, value] : sample.counters) row[name] = value;
    row["trainbench"] = index == 0 ? own_first() : own();
    row["trainbench"]["process"] = sample.process;
    return row;
  }

  /// As Google Benchmark has it, a row without a measurement holds zeros.
  Json unmeasured() const {
    Json row = head("", "iteration");
    row["repetition_index"] = 0;
    row["threads"] = 1;
    add_error(row);
    row["iterations"] = 0;
    row["real_time"] = 0.0;
    row["cpu_time"] = 0.0;
    row["time_unit"] = "s";
    for (const auto& [name, value] : result_.counters) row[name] = value;
    row["trainbench"] = own_first();
    return row;
  }

  Json aggregated(const Aggregate& aggregate) const {
    Json row = head(std::string("_") + aggregate.name, "aggregate");
    row["threads"] = 1;
    row["aggregate_name"] = aggregate.name;
    row["aggregate_unit"] = aggregate.unit;
    row["iterations"] = result_.samples.size();
    std::vector<double> real_times;
    std::vector<double> cpu_times;
    std::set<std::string> names;
    for (const Sample& sample : result_.samples) {
      real_times.push_back(sample.real_time);
      cpu_times.push_back(sample.cpu_time);
      for (const auto& [name, value] : sample.counters) names.insert(name);
    }
    for (const auto& [name, value] : result_.counters) names.insert(name);
    row["real_time"] = aggregate.of(real_times);
    row["cpu_time"] = aggregate.of(cpu_times);
    row["time_unit"] = "s";
    for (const std::string& name : names) {
      const std::vector<double> values = result_.values(name);
      if (!values.empty()) row[name] = aggregate.of(values);
    }
    row["trainbench"] = own();
    return row;
  }

  const CaseResult& result_;
  Place place_;
};

Json context_json(const Report& report) {
  Json context = report.google_context.is_object() ? report.google_context : Json::object();
  Json own{{"schema_version", kSchemaVersion}, {"partial", report.partial}};
  if (report.context.is_object()) own.update(report.context);
  context["trainbench"] = std::move(own);
  return finite(std::move(context));
}

}  // namespace

Json to_json_document(const Report& report) {
  Json rows = Json::array();
  std::map<std::string, Place> families;
  for (const CaseResult& result : report.results) {
    const std::size_t next = families.size();
    const auto [found, fresh] = families.try_emplace(result.id.family + "/" + result.id.name);
    if (fresh) found->second.family = next;
    CaseRows(result, found->second).append_to(rows);
    ++found->second.instance;
  }
  return {{"context", context_json(report)}, {"benchmarks", std::move(rows)}};
}

std::string to_json(const Report& report) {
  // A byte that is no UTF-8, in a host's or driver's text, must not cost the results.
  return to_json_document(report).dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainbench
