#include "common/config/suite.h"

#include <algorithm>
#include <set>

#include "common/config/families.h"
#include "common/config/name_filter.h"
#include "common/config/spelling.h"
#include "common/config/typed_reader.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

constexpr std::int64_t kLargestSize = std::int64_t{1} << 20;
constexpr std::size_t kMostCases = 10000;

/// One thing that varies over the cases of an entry.
struct Column {
  enum class Kind : std::uint8_t { device, precision, key, size };
  Kind kind;
  std::string name;
  std::vector<std::string> values;
  const Axis* axis = nullptr;  // of a key
};

/// An entry of the suite's list, before it is multiplied out.
struct Entry {
  const Family* family;
  std::string case_name;
  std::vector<Column> columns;
};

std::vector<std::string_view> family_names() {
  std::vector<std::string_view> names;
  for (const Family& family : families()) names.push_back(family.name);
  return names;
}

bool contains(const std::vector<std::string>& list, const std::string& value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

std::vector<std::string> read_choices(const JsonNode& node,
                                      const std::vector<std::string_view>& choices) {
  std::vector<std::string> values;
  for (const JsonNode& value : node.one_or_more()) values.push_back(value.choice(choices));
  return values;
}

std::vector<std::string> read_integers(const JsonNode& node, std::int64_t least,
                                       std::int64_t most) {
  std::vector<std::string> values;
  for (const JsonNode& value : node.one_or_more()) {
    values.push_back(std::to_string(value.integer(least, most)));
  }
  return values;
}

std::vector<std::string> texts(const std::vector<std::int64_t>& numbers) {
  std::vector<std::string> values;
  for (const std::int64_t number : numbers) values.push_back(std::to_string(number));
  return values;
}

/// The values of an axis that a command line gives instead of the suite's; empty: none.
std::vector<std::string> replacement(const Axis& axis, const SuiteOverrides& overrides) {
  if (axis.key == "batch") return texts(overrides.batches);
  if (axis.key == "threads") return texts(overrides.threads);
  return {};
}

/// Refuses a key that would mean nothing: the case or none of the entry's devices has that axis.
void require_meaning(const JsonNode& node, const Axis& axis, std::string_view case_name,
                     const ObjectReader& object) {
  if (!axis.only_in.empty() && axis.only_in != case_name) {
    node.fail("means something in the case " + std::string(axis.only_in) + " alone, not in " +
              std::string(case_name) + "; leave it out");
  }
  if (axis.only_on.empty()) return;
  for (const JsonNode& device : object.required("device").one_or_more()) {
    if (device.value() == axis.only_on) return;
  }
  node.fail("means something on the " + std::string(axis.only_on) +
            " alone, which is none of this entry's devices; leave it out");
}

Column read_axis(const ObjectReader& object, const Axis& axis, std::string_view case_name,
                 const SuiteOverrides& overrides) {
  Column column{Column::Kind::key, std::string(axis.key), {}, &axis};
  if (const auto node = object.optional(column.name)) {
    require_meaning(*node, axis, case_name, object);
    column.values = axis.choices.empty() ? read_integers(*node, axis.least, axis.most)
                                         : read_choices(*node, axis.choices);
  } else if (axis.fallback != nullptr) {
    column.values = {axis.fallback(case_name)};
  }
  const std::vector<std::string> replaced = replacement(axis, overrides);
  if (!replaced.empty()) column.values = replaced;
  return column;
}

Column read_devices(const ObjectReader& object, const SuiteOverrides& overrides) {
  Column column{Column::Kind::device, "device",
                read_choices(object.required("device"), device_kinds())};
  if (!overrides.devices.empty() && !contains(overrides.devices, "all")) {
    std::erase_if(column.values,
                  [&](const std::string& device) { return !contains(overrides.devices, device); });
  }
  return column;
}

Column read_precisions(const ObjectReader& object, const Family& family,
                       const SuiteOverrides& overrides) {
  Column column{Column::Kind::precision, "precision", {std::string(family.precisions.front())}};
  if (const auto node = object.optional("precision")) {
    column.values = read_choices(*node, family.precisions);
  }
  // A family of one precision does not vary in it, so there is nothing to replace.
  if (!overrides.precisions.empty() && family.precisions.size() > 1) {
    column.values.clear();
    for (const std::string& name : overrides.precisions) {
      const auto& own = family.precisions;
      if (std::find(own.begin(), own.end(), name) != own.end()) column.values.push_back(name);
    }
  }
  return column;
}

const Family& read_family(const JsonNode& node) {
  for (const auto& [key, member] : node.members()) {
    if (key == "family") return family_by_name(member.choice(family_names()));
  }
  node.fail("the key \"family\" is missing; " + right_spelling("", family_names()));
}

Entry read_entry(const JsonNode& node, const SuiteOverrides& overrides) {
  const Family& family = read_family(node);
  std::vector<std::string_view> keys{"family", "case", "device", "precision"};
  for (const Axis& axis : family.axes) keys.push_back(axis.key);
  if (family.check_sizes != nullptr) keys.push_back("sizes");

  const ObjectReader object(node, keys);
  Entry entry{&family, object.required("case").choice(family.cases), {}};
  entry.columns = {read_devices(object, overrides), read_precisions(object, family, overrides)};
  for (const Axis& axis : family.axes) {
    Column column = read_axis(object, axis, entry.case_name, overrides);
    if (!column.values.empty()) entry.columns.push_back(std::move(column));
  }
  if (family.check_sizes == nullptr) return entry;
  if (const auto sizes = object.optional("sizes")) {
    for (const auto& [name, member] : sizes->members()) {
      entry.columns.push_back({Column::Kind::size, name, read_integers(member, 1, kLargestSize)});
    }
  }
  return entry;
}

/// The case that takes the `choice[i]`-th value of each column i.
SuiteCase make_case(const Entry& entry, const std::vector<std::size_t>& choice) {
  SuiteCase result;
  result.id.family = entry.family->name;
  result.id.name = entry.case_name;
  for (std::size_t i = 0; i < choice.size(); ++i) {
    const Column& column = entry.columns[i];
    const std::string& value = column.values[choice[i]];
    switch (column.kind) {
      case Column::Kind::device:
        result.id.device = value;
        break;
      case Column::Kind::precision:
        result.id.precision = value;
        break;
      case Column::Kind::key: {
        const Axis& axis = *column.axis;
        if (!axis.only_on.empty() && axis.only_on != result.id.device) break;
        const bool usual = axis.fallback != nullptr && value == axis.fallback(entry.case_name);
        if (!usual || axis.fallback_in_name) result.id.keys.emplace_back(column.name, value);
        break;
      }
      case Column::Kind::size:
        result.sizes[column.name] = std::stoll(value);
        result.id.keys.emplace_back(column.name, value);
        break;
    }
  }
  return result;
}

/// Has the family refuse sizes it does not take; each combination is asked about once.
void check_sizes(const SuiteCase& made, const Family& family, const JsonNode& node,
                 std::set<ModelSizes>& checked) {
  if (made.sizes.empty() || !checked.insert(made.sizes).second) return;
  try {
    family.check_sizes(made.id.name, made.sizes);
  } catch (const InputError& error) {
    node.fail(error.what());
  }
}

/// Appends every combination of the entry's values, the last column varying fastest.
void multiply_out(const Entry& entry, const JsonNode& node, std::set<std::string>& names,
                  std::vector<SuiteCase>& cases) {
  std::size_t combinations = 1;
  for (const Column& column : entry.columns) {
    combinations *= column.values.size();
    if (combinations > kMostCases) {
      node.fail("makes more than " + std::to_string(kMostCases) + " cases");
    }
  }
  std::vector<std::size_t> choice(entry.columns.size());
  std::set<ModelSizes> checked;
  for (std::size_t index = 0; index < combinations; ++index) {
    std::size_t rest = index;
    for (std::size_t i = choice.size(); i-- > 0;) {
      choice[i] = rest % entry.columns[i].values.size();
      rest /= entry.columns[i].values.size();
    }
    SuiteCase made = make_case(entry, choice);
    check_sizes(made, *entry.family, node, checked);
    // A case that two entries name, or that two values of a meaningless key make, runs once.
    if (names.insert(made.id.full_name()).second) cases.push_back(std::move(made));
  }
}

void check_range(const char* flag, const std::vector<std::int64_t>& values, std::string_view key) {
  for (const Family& family : families()) {
    for (const Axis& axis : family.axes) {
      if (axis.key != key) continue;
      for (const std::int64_t value : values) {
        if (value >= axis.least && value <= axis.most) continue;
        throw InputError(std::string(flag) + " " + std::to_string(value) +
                         ": must be a whole number from " + std::to_string(axis.least) + " to " +
                         std::to_string(axis.most));
      }
    }
  }
}

void check_words(const char* flag, const std::vector<std::string>& values,
                 const std::vector<std::string_view>& known) {
  for (const std::string& value : values) {
    if (std::find(known.begin(), known.end(), value) != known.end()) continue;
    throw InputError(std::string(flag) + " " + printable(value) + ": unknown; " +
                     right_spelling(value, known));
  }
}

void check_overrides(const SuiteOverrides& overrides) {
  std::vector<std::string_view> devices = device_kinds();
  devices.push_back("all");
  check_words("--device", overrides.devices, devices);
  std::vector<std::string_view> precisions;
  for (const Family& family : families()) {
    precisions.insert(precisions.end(), family.precisions.begin(), family.precisions.end());
  }
  check_words("--precision", overrides.precisions, precisions);
  check_range("--batch", overrides.batches, "batch");
  check_range("--threads", overrides.threads, "threads");
}

}  // namespace

Suite read_suite(const Json& document, const std::string& file, const SuiteOverrides& overrides) {
  check_overrides(overrides);
  const ObjectReader object(JsonNode(document, file),
                            {"name", "description", "repetitions", "min_time", "cases"});
  Suite suite;
  suite.name = object.required("name").text(1, 64);
  if (const auto node = object.optional("description")) suite.description = node->text(0, 1000);
  if (const auto node = object.optional("repetitions")) {
    suite.repetitions = static_cast<int>(node->integer(1, 1000));
  }
  if (const auto node = object.optional("min_time")) suite.min_time = node->number(0, 600);

  std::set<std::string> names;
  for (const JsonNode& node : object.required("cases").elements(1, 1000)) {
    multiply_out(read_entry(node, overrides), node, names, suite.cases);
  }
  const std::string first = suite.cases.empty() ? "" : suite.cases.front().id.full_name();
  const NameFilter filter(overrides.filter);
  std::erase_if(suite.cases,
                [&](const SuiteCase& one) { return !filter.finds(one.id.full_name()); });
  if (suite.cases.empty()) {
    throw InputError(file + ": no case is left by " +
                     (first.empty() ? "--device and --precision"
                                    : "--filter " + in_quotes(overrides.filter) +
                                          "; the first name is " + first));
  }
  return suite;
}

std::vector<std::string> keep_matching(std::vector<std::string> names,
                                       const std::string& expression) {
  const NameFilter filter(expression);
  std::erase_if(names, [&](const std::string& name) { return !filter.finds(name); });
  return names;
}

Suite load_suite(const std::string& name_or_file, const SuiteOverrides& overrides) {
  const std::filesystem::path path = find_suite(name_or_file);
  return read_suite(read_json_file(path), path.string(), overrides);
}

}  // namespace trainbench
