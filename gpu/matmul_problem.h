#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "common/backend.h"
#include "common/matmul_size.h"

namespace trainbench::gpu {

/// Parts of a product's epilogue, as bits.
enum Part : unsigned { kBias = 1, kActivation = 2, kGradient = 4, kBiasGradient = 8 };

/// How an operand's matrices lie in memory; distances in elements.
struct MatrixLayout {
  std::int64_t row_stride;
  std::int64_t batch_stride;

  auto operator<=>(const MatrixLayout&) const = default;
};

/// Everything about a product, or a batch of equal ones, that decides which algorithm is best.
struct MatmulProblem {
  std::int64_t m, n, k;
  std::int64_t batch;
  MatrixLayout a, b, c;
  DType operand, result;
  MathMode math;
  bool transpose_a, transpose_b, accumulate;
  unsigned parts;                // of the epilogue
  Activation activation;         // applied or differentiated
  bool saves;                    // for the activation's backward pass
  std::array<int, 5> alignment;  // of a, b, c, bias or its gradient, saved

  auto operator<=>(const MatmulProblem&) const = default;
};

/// The operands of a product.
struct MatmulCall {
  const MatmulForm& form;
  ConstTensor a;
  ConstTensor b;
  Tensor c;
  const MatmulEpilogue& epilogue;
};

/// Checks shapes and dtypes.
MatmulProblem problem_of(const MatmulCall& call);
/// The problem of `batch` products of that size, without epilogue, on the call's first matrices.
MatmulProblem problem_of(const MatmulCall& call, const MatmulSize& size, std::int64_t batch,
                         const std::array<MatrixLayout, 3>& layouts);

/// The parts as reports name them: "bias+relu".
std::string text_of(unsigned parts, Activation activation);
/// The product as reports name it: "matmul 256x2048x784 NT f32 bias+relu".
std::string text_of(const MatmulProblem& problem);

}  // namespace trainbench::gpu
