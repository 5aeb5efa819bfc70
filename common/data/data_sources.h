#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace trainbench {

/// Where the data of each kind is to come from, as --data says it.
class DataSources {
 public:
  DataSources() = default;
  /// Each is SOURCE, for all kinds, or KIND=SOURCE, which goes before. Throws InputError for a kind
  /// that there is not.
  explicit DataSources(const std::vector<std::string>& given);

  /// The source of a kind; "": its default.
  std::string of(std::string_view kind) const;
  /// For reports: what was given, or "default".
  const std::string& text() const { return text_; }

 private:
  std::map<std::string, std::string, std::less<>> by_kind_;
  std::string all_;
  std::string text_ = "default";
};

}  // namespace trainbench
