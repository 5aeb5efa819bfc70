#include "bench/harness/gbench_flags.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "common/core/error.h"

namespace trainbench {
namespace {

constexpr std::array<std::string_view, 3> kAllowed{"--benchmark_enable_random_interleaving",
                                                   "--benchmark_perf_counters", "--v"};

}  // namespace

std::pair<std::vector<std::string>, std::vector<std::string>> split_arguments(int argc,
                                                                              char** argv) {
  const std::vector<std::string> all(argv, argv + argc);
  const auto separator = std::find(all.begin(), all.end(), "--");
  const auto rest = separator == all.end() ? separator : separator + 1;
  return {{all.begin(), separator}, {rest, all.end()}};
}

void require_allowed_flags(const std::vector<std::string>& flags) {
  std::string allowed;
  for (const std::string_view name : kAllowed) {
    allowed += (allowed.empty() ? "" : ", ") + std::string(name);
  }
  for (const std::string& flag : flags) {
    const std::string name = flag.substr(0, flag.find('='));
    if (std::find(kAllowed.begin(), kAllowed.end(), name) == kAllowed.end()) {
      throw InputError("\"" + flag +
                       "\" after -- is not passed to Google Benchmark; allowed: " + allowed);
    }
  }
}

}  // namespace trainbench
