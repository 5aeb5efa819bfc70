#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

#include "common/backend.h"

namespace trainbench::gpu {

/// Where kernels run and what they may use on the way.
struct Queue {
  cudaStream_t stream = nullptr;
  int units = 1;            ///< SMs of the device
  void* scratch = nullptr;  ///< free for the work enqueued next; its user is done before the next
  std::size_t scratch_bytes = 0;
  unsigned* counters = nullptr;  ///< kCounters that are zero between operations
  static constexpr unsigned kCounters = 4096;
};

// The operations of `Backend` that our own kernels serve; shapes and meanings are the contract's.
// Each launches and returns; tensors are device memory.

void cast(const Queue& queue, ConstTensor from, Tensor to);
void normalize_bytes(const Queue& queue, ConstTensor from, Tensor to, float scale, float shift);

void add_bias(const Queue& queue, Tensor x, ConstTensor bias);
void activation_forward(const Queue& queue, Activation activation, Tensor x, Tensor saved);
void activation_backward(const Queue& queue, Activation activation, ConstTensor saved, Tensor dx);

/// sums[n] = column sums of x[m, n], or sums[g, n] those of each m / g rows; `sums` in any
/// floating-point dtype.
void column_sums(const Queue& queue, ConstTensor x, Tensor sums);
/// sums[m] = row sums of x[m, n]; `sums` in any floating-point dtype.
void row_sums(const Queue& queue, ConstTensor x, Tensor sums);
/// first[n], second[n] = sums over the parts of x[parts, 2, n], which may be the scratch; all of
/// one dtype, f32 or f64.
void sum_pairs(const Queue& queue, ConstTensor x, Tensor first, Tensor second);

void softmax_cross_entropy(const Queue& queue, ConstTensor logits, ConstTensor labels,
                           Tensor losses, Tensor gradient, ConstTensor state);
void mean(const Queue& queue, ConstTensor values, Tensor mean);

void check_finite(const Queue& queue, ConstTensor gradients, Tensor state);
void clip_gradients(const Queue& queue, ConstTensor gradients, double max_norm, Tensor state);
void sgd(const Queue& queue, const SgdOptions& options, const ParameterUpdate& update,
         Tensor velocity, ConstTensor state);
void adamw(const Queue& queue, const AdamOptions& options, const ParameterUpdate& update,
           Tensor first_moment, Tensor second_moment, ConstTensor state);
void finish_step(const Queue& queue, const LossScaling& scaling, Tensor state);

/// What an activation on [m, n] saves: for ReLU one bit an element (1: x > 0), rows padded to 128
/// bits, bit 0 of a byte first; for the others the x they were applied to, rows padded to 8
/// elements. These are the auxiliary formats of cuBLASLt, so that fused and separate operations can
/// be mixed.
Shape saved_shape(Activation activation, std::int64_t m, std::int64_t n);
DType saved_dtype(Activation activation, DType dtype);
/// Checks that `saved` is what allocate_saved gives for that activation of x.
void require_saved(Activation activation, const ConstTensor& x, const ConstTensor& saved);

}  // namespace trainbench::gpu
