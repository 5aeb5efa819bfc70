#pragma once

#include "gpu/activations.cuh"
#include "gpu/gemm/gemm.cuh"
#include "gpu/own_matmul_types.h"

namespace trainbench::gpu {

/// All that MatmulEpilogue asks for on the way to memory, the bias gradient aside.
template <class T>
struct ProductEpilogue {
  using Result = T;
  T* out;
  std::int64_t row_step;
  BatchSteps batches;
  const T* bias;       ///< may be null
  void* saved;         ///< what the activation leaves, or left; may be null
  std::int64_t pitch;  ///< of its rows, in its elements
  Activation activation;
  bool gradient;  ///< the activation's derivative
  bool accumulate;
  bool vector;

  __device__ void select(int batch) { out += batches.offset(batch); }

  template <class Sum, int kCount>
  __device__ void operator()(int row, int column, Sum (&sums)[kCount], int count) const {
    T* const to = out + row * row_step + column;
    const bool whole = vector && count == kCount;
    if (accumulate) add(to, sums, count, whole);
    if (bias != nullptr) add(bias + column, sums, count, whole);
    if (activation == Activation::relu) {
      relu(row, column, sums, count);
    } else if (activation != Activation::none) {
      smooth(row, column, sums, count, whole);
    }
    store_group(to, sums, count, vector);
  }

 private:
  template <class Sum, int kCount>
  __device__ static void add(const T* from, Sum (&sums)[kCount], int count, bool whole) {
    Pack<T, kCount> pack = load(from, count, whole, Width<kCount>{});
#pragma unroll
    for (int i = 0; i < kCount; ++i) sums[i] += convert<Sum>(pack.lane[i]);
  }

  template <int kCount>
  __device__ static Pack<T, kCount> load(const T* from, int count, bool whole, Width<kCount>) {
    if (whole) return Pack<T, kCount>::load(from);
    Pack<T, kCount> pack;
#pragma unroll
    for (int i = 0; i < kCount; ++i) pack.lane[i] = i < count ? from[i] : convert<T>(0.0f);
    return pack;
  }

  /// Lanes with neighbouring columns share the bytes of the mask.
  template <class Sum, int kCount>
  __device__ void relu(int row, int column, Sum (&sums)[kCount], int count) const {
    auto* const mask = static_cast<std::uint8_t*>(saved) + row * pitch + column / 8;
    if (gradient) {
      const unsigned bits = count > 0 ? *mask >> (column % 8) : 0;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if ((bits >> i & 1u) == 0) sums[i] = Sum{0};
      }
      return;
    }
    unsigned bits = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      bits |= static_cast<unsigned>(i < count && sums[i] > Sum{0}) << (column % 8 + i);
      // NaN stays NaN: a diverged network should show.
      if (sums[i] <= Sum{0}) sums[i] = Sum{0};
    }
    if (saved == nullptr) return;
#pragma unroll
    for (int lanes = 1; lanes < 8 / kCount; lanes *= 2) {
      bits |= __shfl_xor_sync(0xffffffffu, bits, lanes);
    }
    if (count > 0 && column % 8 == 0) *mask = static_cast<std::uint8_t>(bits);
  }

  template <class Sum, int kCount>
  __device__ void smooth(int row, int column, Sum (&sums)[kCount], int count, bool whole) const {
    T* const kept = static_cast<T*>(saved) + row * pitch + column;
    if (gradient) {
      const Pack<T, kCount> x = load(kept, count, whole, Width<kCount>{});
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const Sum at = convert<Sum>(x.lane[i]);
        sums[i] *= activation == Activation::gelu ? derivative<Activation::gelu>(at)
                                                  : derivative<Activation::silu>(at);
      }
      return;
    }
    if (saved != nullptr) store_group(kept, sums, count, vector);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      sums[i] = activation == Activation::gelu ? activated<Activation::gelu>(sums[i])
                                               : activated<Activation::silu>(sums[i]);
    }
  }
};

/// Calls `f` with the tag of the operand's direction.
template <class F>
void dispatch_contiguous(Contiguous contiguous, F&& f) {
  if (contiguous == Contiguous::k) {
    f(std::integral_constant<Contiguous, Contiguous::k>{});
  } else {
    f(std::integral_constant<Contiguous, Contiguous::row>{});
  }
}

template <class T, class Result, Unit kUnit>
void run_own_matmul(const Queue& queue, const MatmulProblem& p, const MatmulCall& call,
                    const OwnBatch& batch) {
  constexpr std::int64_t kLanes = kVectorBytes / sizeof(T);
  const MatmulEpilogue& parts = call.epilogue;
  const bool gradient = parts.gradient_of != Activation::none;
  void* const saved = gradient ? const_cast<void*>(parts.gradient_saved.data) : parts.saved.data;
  const ConstTensor kept = gradient ? parts.gradient_saved : ConstTensor(parts.saved);
  const auto steps = [&](int operand) {
    const MatrixSteps& of = batch.steps[static_cast<std::size_t>(operand)];
    return BatchSteps{of.outer, of.inner, Divider(batch.inner)};
  };
  const auto whole = [&](int operand, std::int64_t row_step, std::int64_t lanes) {
    const MatrixSteps& of = batch.steps[static_cast<std::size_t>(operand)];
    return row_step % lanes == 0 && of.outer % lanes == 0 && of.inner % lanes == 0;
  };
  const ProductEpilogue<Result> epilogue{.out = elements_of<Result>(call.c),
                                         .row_step = p.c.row_stride,
                                         .batches = steps(2),
                                         .bias = elements_of<Result>(parts.bias),
                                         .saved = saved,
                                         .pitch = kept.absent() ? 0 : kept.shape[1],
                                         .activation = p.activation,
                                         .gradient = gradient,
                                         .accumulate = p.accumulate,
                                         .vector = whole(2, p.c.row_stride, kGroup<Result>) &&
                                                   aligned(call.c.data, parts.bias.data, saved)};
  const bool vector = whole(0, p.a.row_stride, kLanes) && whole(1, p.b.row_stride, kLanes) &&
                      aligned(call.a.data, call.b.data);
  dispatch_contiguous(p.transpose_a ? Contiguous::row : Contiguous::k, [&](auto of_a) {
    dispatch_contiguous(p.transpose_b ? Contiguous::k : Contiguous::row, [&](auto of_b) {
      const MatrixSource<T, decltype(of_a)::value> a{.data = elements_of<T>(call.a),
                                                     .line_step = p.a.row_stride,
                                                     .rows = static_cast<int>(p.m),
                                                     .k = static_cast<int>(p.k),
                                                     .batches = steps(0)};
      const MatrixSource<T, decltype(of_b)::value> b{.data = elements_of<T>(call.b),
                                                     .line_step = p.b.row_stride,
                                                     .rows = static_cast<int>(p.n),
                                                     .k = static_cast<int>(p.k),
                                                     .batches = steps(1)};
      dispatch_tile<T, kUnit, true>(
          queue, p.m * p.batch, p.n, p.k, vector, [&](auto tile, auto pieces) {
            using Tile = decltype(tile);
            launch_gemm<Tile, decltype(pieces)::value>(
                queue, divided<Tile>(queue, p.m, p.n, p.k, p.batch), a, b, epilogue);
          });
    });
  });
}

}  // namespace trainbench::gpu
