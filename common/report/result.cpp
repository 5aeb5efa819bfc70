#include "common/report/result.h"

#include <charconv>

namespace trainbench {

std::string CaseId::full_name() const {
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

}  // namespace trainbench
