#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/core/philox.h"

namespace trainbench {

/// Which of `elements` outputs are recomputed: all where they are at most `count`, else one at
/// random from each of `count` equal stretches, so that all are different and none of a large block
/// is missed, and the four corners of the matrix with rows of `columns` elements. In rising order.
inline std::vector<std::int64_t> sample_positions(std::int64_t elements, std::int64_t columns,
                                                  std::int64_t count, const Philox& random) {
  std::vector<std::int64_t> positions;
  if (elements <= count) {
    for (std::int64_t i = 0; i < elements; ++i) positions.push_back(i);
    return positions;
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t first = i * elements / count;
    const std::int64_t length = (i + 1) * elements / count - first;
    const double place =
        random.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(length);
    positions.push_back(first + static_cast<std::int64_t>(place));
  }
  for (const std::int64_t corner :
       {std::int64_t{0}, columns - 1, elements - columns, elements - 1}) {
    positions.push_back(corner);
  }
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace trainbench
