#include "common/report/result.h"

#include <algorithm>
#include <charconv>

#include "common/config/spelling.h"
#include "common/config/visible.h"
#include "common/core/error.h"

namespace trainbench {

std::string_view name_of(Status status) {
  constexpr std::string_view names[] = {"ok", "failed", "skipped"};
  return names[static_cast<std::size_t>(status)];
}

std::string CaseId::full_name() const {
  if (device.empty()) return family;
  std::string text = family + "/" + name + "/" + device + "/" + precision;
  for (const auto& [key, value] : keys) text += "/" + key + ":" + value;
  return text;
}

std::string CaseId::text(const std::string& key, const std::string& fallback) const {
  for (const auto& [own, value] : keys) {
    if (own == key) return value;
  }
  return fallback;
}

std::int64_t CaseId::integer(const std::string& key, std::int64_t fallback) const {
  const std::string value = text(key, "");
  std::int64_t number = fallback;
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

CaseId CaseId::parse(const std::string& full_name) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= full_name.size()) {
    const std::size_t end = std::min(full_name.find('/', start), full_name.size());
    parts.push_back(full_name.substr(start, end - start));
    start = end + 1;
  }
  bool right = parts.size() >= 4 && visible(full_name) == full_name;
  CaseId id;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    right = right && !parts[i].empty();
    if (i < 4) continue;
    const std::size_t colon = parts[i].find(':');
    right = right && colon != std::string::npos && colon > 0 && colon + 1 < parts[i].size();
    if (right) id.keys.emplace_back(parts[i].substr(0, colon), parts[i].substr(colon + 1));
  }
  if (!right) {
    throw InputError(in_quotes(full_name) +
                     " is no case's name: family/case/device/precision/key:value...");
  }
  id.family = parts[0];
  id.name = parts[1];
  id.device = parts[2];
  id.precision = parts[3];
  return id;
}

Status CaseResult::outcome() const {
  return status == Status::ok && samples.empty() ? Status::failed : status;
}

std::string CaseResult::outcome_reason() const {
  if (status == Status::ok) return samples.empty() ? "no repetition was measured" : "";
  return reason.empty() ? "no reason was given" : reason;
}

std::vector<double> CaseResult::values(const std::string& counter) const {
  std::vector<double> values;
  const auto shared = counters.find(counter);
  for (const Sample& sample : samples) {
    const auto own = sample.counters.find(counter);
    if (own != sample.counters.end()) {
      values.push_back(own->second);
    } else if (shared != counters.end()) {
      values.push_back(shared->second);
    } else {
      return {};
    }
  }
  return values;
}

}  // namespace trainbench
