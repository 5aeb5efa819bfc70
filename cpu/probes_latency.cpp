#include <algorithm>
#include <cstring>
#include <utility>

#include "cpu/parallel.h"
#include "cpu/probes.h"
#include "cpu/small_product.h"

namespace trainbench {
namespace {

using Vector = Lanes<float>::Vector;
constexpr std::int64_t kLanes = Lanes<float>::kCount;

/// Vectors of a thread: more than hide an operation's latency, fewer than there are registers.
constexpr std::int64_t kVectors = 8;

/// Keeps chains apart that a compiler would put side by side in one vector.
template <class T>
T kept(T x) {
#if defined(__x86_64__)
  __asm__("" : "+x"(x));
#elif defined(__aarch64__)
  __asm__("" : "+w"(x));
#endif
  return x;
}

/// The starts of the chains that a register holds from `first` on.
template <class T>
T starts(std::int64_t first) {
  float values[sizeof(T) / sizeof(float)];
  for (float& value : values) value = chain_start(first++);
  T x;
  std::memcpy(&x, values, sizeof x);
  return x;
}

/// Chains in registers of type T; they end one after the other from `last` on.
template <class T, std::size_t... I>
void run_registers(std::int64_t first, std::int64_t steps, float* last, std::index_sequence<I...>) {
  constexpr std::int64_t kWidth = sizeof(T) / sizeof(float);
  // Whatever touched this array as a whole would keep it in memory, and the chains with it.
  T x[] = {starts<T>(first + static_cast<std::int64_t>(I) * kWidth)...};
  const T factor = T{} + kChainFactor;
  const T term = T{} + kChainTerm;
  for (std::int64_t step = 0; step < steps; ++step) {
    ((x[I] = kept(x[I] * factor + term)), ...);
  }
  (std::memcpy(last + static_cast<std::int64_t>(I) * kWidth, &x[I], sizeof(T)), ...);
}

/// `count` registers of T, a power of two up to kVectors.
template <class T, std::int64_t kCount = kVectors>
void run_chains(std::int64_t count, std::int64_t first, std::int64_t steps, float* last) {
  if constexpr (kCount > 1) {
    if (count < kCount) return run_chains<T, kCount / 2>(count, first, steps, last);
  }
  run_registers<T>(first, steps, last, std::make_index_sequence<kCount>{});
}

/// How chains lie on threads and registers. Fewer than fill a vector are a scalar register each.
struct Layout {
  std::int64_t width = 1;      ///< chains of a register
  std::int64_t registers = 1;  ///< of a thread at once
  std::int64_t batches = 1;    ///< that all threads together run, one after the other
};

Layout layout_of(std::int64_t chains) {
  require(chains > 0 && (chains & (chains - 1)) == 0, "chains are a power of two");
  Layout layout;
  layout.width = chains < kLanes ? 1 : kLanes;
  const std::int64_t registers = chains / layout.width;
  layout.registers = std::min(registers, kVectors);
  layout.batches = registers / layout.registers;
  return layout;
}

}  // namespace

void CpuProbes::chase(ConstTensor table, std::int64_t loads, Tensor place) {
  const std::int32_t* next = table.as<std::int32_t>();
  auto at = static_cast<std::uint32_t>(*place.as<std::int32_t>());
  for (std::int64_t load = 0; load < loads; ++load) at = static_cast<std::uint32_t>(next[at]);
  *place.as<std::int32_t>() = static_cast<std::int32_t>(at);
}

void CpuProbes::chains(std::int64_t steps, Tensor last) {
  const Layout layout = layout_of(last.elements());
  const std::int64_t batch = layout.width * layout.registers;
  float* values = last.as<float>();
  parallel_ranges(threads_, layout.batches, 1, [&](Range range) {
    for (std::int64_t i = range.first; i < range.last; ++i) {
      if (layout.width == 1) {
        run_chains<float>(layout.registers, i * batch, steps, values + i * batch);
      } else {
        run_chains<Vector>(layout.registers, i * batch, steps, values + i * batch);
      }
    }
  });
}

std::string CpuProbes::chain_layout(std::int64_t chains) const {
  const Layout layout = layout_of(chains);
  const auto threads = std::min<std::int64_t>(threads_, layout.batches);
  std::string text = std::to_string(threads) + " threads of " + std::to_string(layout.registers);
  text += layout.width == 1 ? " scalars" : " vectors of " + std::to_string(layout.width);
  if (layout.batches > threads) {
    text += ", " + std::to_string((layout.batches + threads - 1) / threads) + " times";
  }
  return text;
}

}  // namespace trainbench
