#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "common/core/error.h"

namespace trainbench {

/// Extents of a row-major tensor, outermost first; at most five.
class Shape {
 public:
  static constexpr std::size_t kMaxRank = 5;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) {
    require(extents.size() <= kMaxRank, "a shape has at most five extents");
    for (const std::int64_t extent : extents) {
      require(extent >= 0, "an extent is not negative");
      extents_[rank_++] = extent;
    }
  }

  std::size_t rank() const { return rank_; }
  std::int64_t operator[](std::size_t axis) const { return extents_[axis]; }

  /// Product of all extents; 1 for a scalar (rank 0).
  std::int64_t elements() const {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < rank_; ++i) product *= extents_[i];
    return product;
  }

  bool operator==(const Shape& other) const = default;

  /// For messages: "[256, 784]".
  std::string to_string() const {
    std::string text = "[";
    for (std::size_t i = 0; i < rank_; ++i) {
      if (i > 0) text += ", ";
      text += std::to_string(extents_[i]);
    }
    return text + "]";
  }

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  std::size_t rank_ = 0;
};

}  // namespace trainbench
