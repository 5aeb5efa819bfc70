#include "common/data/data_sources.h"

#include <algorithm>

#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/data/dataset.h"

namespace trainbench {

DataSources::DataSources(const std::vector<std::string>& given) {
  const std::vector<std::string_view> kinds = data_kinds();
  std::vector<std::string_view> words;
  for (const std::string& each : given) {
    const std::string kind = each.substr(0, each.find('='));
    // A path may hold the sign too.
    if (kind.size() == each.size() || kind.find('/') != std::string::npos) {
      all_ = each;
    } else if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      by_kind_[kind] = each.substr(kind.size() + 1);
    } else {
      throw InputError("--data " + printable(each) + ": unknown kind of data " + in_quotes(kind) +
                       "; " + right_spelling(kind, kinds));
    }
    words.push_back(each);
  }
  if (!words.empty()) text_ = joined(words);
}

std::string DataSources::of(std::string_view kind) const {
  const auto found = by_kind_.find(kind);
  return found == by_kind_.end() ? all_ : found->second;
}

}  // namespace trainbench
