#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/convert.h"
#include "cpu/parallel.h"

namespace trainbench {

/// A part of x[m, c] that is worked on in lines of at most kBlock elements: element i of each line
/// belongs to channel (channel + i) % c.
struct Strip {
  std::int64_t offset;  ///< of the first line's first element
  std::int64_t step;    ///< from line to line
  std::int64_t lines;
  std::int64_t width;    ///< elements of a line
  std::int64_t channel;  ///< of its first element
};

/// Rows of so many channels that a line takes: several short ones, so that vectors are full however
/// few the channels are.
inline std::int64_t rows_of_line(std::int64_t channels) {
  return std::max<std::int64_t>(1, kBlock / channels);
}

/// Calls body(Strip) on parts that make up the rows.
template <class Body>
void for_each_strip(const Range& rows, std::int64_t channels, const Body& body) {
  const std::int64_t count = rows.last - rows.first;
  const std::int64_t start = rows.first * channels;
  if (channels > kBlock) {
    for (std::int64_t first = 0; first < channels; first += kBlock) {
      body(Strip{start + first, channels, count, std::min(kBlock, channels - first), first});
    }
    return;
  }
  const std::int64_t fold = rows_of_line(channels);
  const std::int64_t width = fold * channels;
  const std::int64_t lines = count / fold;
  if (lines > 0) body(Strip{start, width, lines, width, 0});
  if (count % fold > 0) body(Strip{start + lines * width, 0, 1, count % fold * channels, 0});
}

/// One value a channel, laid out for a strip's lines.
template <class W>
struct Line {
  alignas(64) W value[kBlock];

  /// of(channel) gives them.
  template <class Of>
  Line(const Strip& strip, std::int64_t channels, const Of& of) {
    const std::int64_t period = std::min(strip.width, channels);
    for (std::int64_t i = 0; i < period; ++i) value[i] = of(strip.channel + i);
    for (std::int64_t i = period; i < strip.width; ++i) value[i] = value[i - period];
  }
};

}  // namespace trainbench
