#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainbench {

/// What a piece of device memory is for; every allocation carries one.
enum class MemoryKind : std::uint8_t { parameters, gradients, optimizer, activations, workspace };

inline constexpr std::array kMemoryKinds{MemoryKind::parameters, MemoryKind::gradients,
                                         MemoryKind::optimizer, MemoryKind::activations,
                                         MemoryKind::workspace};

constexpr std::string_view name_of(MemoryKind kind) {
  constexpr std::array<std::string_view, kMemoryKinds.size()> names{
      "parameters", "gradients", "optimizer", "activations", "workspace"};
  return names[static_cast<std::size_t>(kind)];
}

/// Bytes held, by kind, and how many allocations asked for them.
struct MemoryUse {
  std::array<std::size_t, kMemoryKinds.size()> bytes{};
  std::int64_t allocations = 0;

  std::size_t& operator[](MemoryKind kind) { return bytes[static_cast<std::size_t>(kind)]; }
  std::size_t operator[](MemoryKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }

  std::size_t total() const {
    std::size_t sum = 0;
    for (const std::size_t part : bytes) sum += part;
    return sum;
  }
};

}  // namespace trainbench
