#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {
namespace {

/// FLOPs of one product over all heads: 2 a score and column of a head. A causal pass needs the
/// scores of t (t + 1) / 2 pairs.
double product_flops(const AttentionOptions& options, const ConstTensor& qkv) {
  const auto steps = static_cast<double>(qkv.shape[1]);
  const double pairs = options.causal ? steps * (steps + 1) / 2 : steps * steps;
  return 2 * static_cast<double>(qkv.shape[0]) * pairs * static_cast<double>(qkv.shape[2] / 3);
}

}  // namespace

void CostBackend::attention(const AttentionOptions& options, ConstTensor qkv, Tensor y,
                            Tensor logsum, MathMode) {
  count("attention", 1,
        {2 * product_flops(options, qkv), bytes_of(qkv) + bytes_of(y) + bytes_of(logsum)});
}

void CostBackend::attention_backward(const AttentionOptions& options, ConstTensor qkv,
                                     ConstTensor y, ConstTensor logsum, ConstTensor dy, Tensor dqkv,
                                     MathMode) {
  // The gradients of weights, v, q and k; the scores, which were not kept, are recomputation.
  count("attention_backward", 1,
        {4 * product_flops(options, qkv),
         bytes_of(qkv) + bytes_of(y) + bytes_of(logsum) + bytes_of(dy) + bytes_of(dqkv)});
}

void CostBackend::matmul_batched(const MatmulForm& form, const MatmulBatch& batch,
                                 const ConstMatrices& a, const ConstMatrices& b,
                                 const Matrices& c) {
  const auto matrices = static_cast<double>(batch.outer * batch.inner);
  const auto m = static_cast<double>(batch.m);
  const auto n = static_cast<double>(batch.n);
  const auto k = static_cast<double>(batch.k);
  const auto size = [](const auto& operand) {
    return static_cast<double>(size_of(operand.tensor.dtype));
  };
  const double results = m * n * size(c) * (form.accumulate ? 2 : 1);
  count("matmul_batched", 1,
        {2 * m * n * k * matrices, matrices * (m * k * size(a) + k * n * size(b) + results)});
}

void CostBackend::softmax(double, bool, Tensor x) { add_traffic("softmax", 2 * bytes_of(x)); }

void CostBackend::softmax_backward(double, ConstTensor y, Tensor dy) {
  add_traffic("softmax_backward", bytes_of(y) + 2 * bytes_of(dy));
}

}  // namespace trainbench
