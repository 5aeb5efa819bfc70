#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/families.h"
#include "common/core/precision.h"

namespace trainbench {

/// Axes and precisions that several families have.

inline constexpr std::int64_t kLargestBatch = std::int64_t{1} << 20;
inline constexpr std::int64_t kMostThreads = 4096;

inline Axis batch_axis(std::string (*fallback)(std::string_view)) {
  return {.key = "batch",
          .least = 1,
          .most = kLargestBatch,
          .fallback = fallback,
          .fallback_in_name = true};
}

inline Axis threads_axis() {
  return {.key = "threads", .least = 1, .most = kMostThreads, .only_on = "cpu"};
}

/// Those of kPrecisions, fp32 first: the default.
inline std::vector<std::string_view> training_precisions() {
  std::vector<std::string_view> names{"fp32"};
  for (const Precision& precision : kPrecisions) {
    if (precision.name != "fp32") names.push_back(precision.name);
  }
  return names;
}

}  // namespace trainbench
