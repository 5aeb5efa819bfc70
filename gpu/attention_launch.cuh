#pragma once

#include <initializer_list>

#include "gpu/attention_tile.cuh"

// How attention's kernels are chosen and launched.

namespace trainbench::gpu::attention {

/// `more` are the other tensors whose rows are read or written as heads.
inline Extents extents_of(const AttentionOptions& options, const ConstTensor& qkv,
                          const ConstTensor& y, std::initializer_list<const void*> more) {
  require(qkv.shape.rank() == 3 && y.elements() * 3 == qkv.elements(),
          "attention reads q, k and v of [b, t, n] from rows of 3n");
  const std::int64_t columns = qkv.shape[2] / 3;
  require(columns % options.heads == 0, "heads have equal widths");
  const auto head_bytes = static_cast<std::size_t>(columns / options.heads) * size_of(qkv.dtype);
  bool vector = head_bytes % kVectorBytes == 0 && aligned(qkv.data, y.data);
  for (const void* pointer : more) vector = vector && aligned(pointer);
  return {.batch = qkv.shape[0],
          .steps = qkv.shape[1],
          .heads = options.heads,
          .columns = columns,
          .causal = options.causal,
          .vector = vector,
          .scale = options.scale};
}

template <class MathOf, int kWidth>
struct Choice {
  using Math = MathOf;
  using P = Plan<Math, kWidth>;
};

template <class Math, class F>
void dispatch_head_width(std::int64_t width, F&& f) {
  if (width <= 64) return f(Choice<Math, 64>{});
  if (width <= 128) return f(Choice<Math, 128>{});
  if (width <= 256) return f(Choice<Math, 256>{});
  throw Unsupported("attention's heads are at most 256 wide on a GPU, not " +
                    std::to_string(width));
}

/// Calls `f` with the Choice for these heads and this arithmetic.
template <class F>
void dispatch_choice(const Extents& extents, DType dtype, MathMode math, F&& f) {
  const std::int64_t width = extents.columns / extents.heads;
  dispatch_float(dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    if constexpr (sizeof(T) == 2) {
      dispatch_head_width<TensorMath<T>>(width, f);
    } else {
      if constexpr (std::is_same_v<T, float>) {
        if (math == MathMode::tf32) return dispatch_head_width<TensorMath<T>>(width, f);
      }
      dispatch_head_width<ScalarMath<T>>(width, f);
    }
  });
}

/// A block for each head of each sample, each kResident rows of it and each part of its width.
template <class P, class Kernel, class Operands>
void launch(const Queue& queue, const Extents& extents, int shared_bytes, Kernel kernel,
            const Operands& operands) {
  TRAINBENCH_CUDA(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
  const dim3 blocks(static_cast<unsigned>(extents.batch * extents.heads),
                    static_cast<unsigned>((extents.steps + P::kResident - 1) / P::kResident),
                    static_cast<unsigned>(P::kParts));
  kernel<<<blocks, P::kThreads, static_cast<std::size_t>(shared_bytes), queue.stream>>>(operands,
                                                                                        extents);
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu::attention
