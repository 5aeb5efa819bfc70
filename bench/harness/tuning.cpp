#include "bench/harness/tuning.h"

#include <cstdlib>

#include "bench/build_info.h"
#include "common/system/machine.h"
#include "cpu/providers.h"

namespace trainbench {
namespace {

std::filesystem::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') {
    return cache;
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home != '/') return {};
  return std::filesystem::path(home) / ".cache";
}

}  // namespace

ChoiceFile user_choices(bool retune) {
  const std::filesystem::path folder = cache_folder();
  if (folder.empty()) return {};
  std::string key = host_id() + ", trainbench " + build_info()["version"].get<std::string>();
  for (const auto& [name, version] : cpu_providers()) key += ", " + name + " " + version;
  return {.path = folder / "trainbench" / "cpu-choices.json", .key = key, .retune = retune};
}

}  // namespace trainbench
