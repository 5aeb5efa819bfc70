#pragma once

#include <cstdint>
#include <string>

#include "common/backend.h"

namespace trainbench {

/// Extents of a product C[m, n] = op(A)[m, k] op(B)[k, n].
struct MatmulSize {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// The product's extents; shapes and dtypes that do not fit each other are a broken precondition.
inline MatmulSize matmul_size(const MatmulForm& form, const ConstTensor& a, const ConstTensor& b,
                              const ConstTensor& c, const MatmulEpilogue& epilogue = {}) {
  require(a.shape.rank() == 2 && b.shape.rank() == 2 && c.shape.rank() == 2,
          "a product's operands are matrices");
  const MatmulSize size{a.shape[form.transpose_a ? 1 : 0], b.shape[form.transpose_b ? 0 : 1],
                        a.shape[form.transpose_a ? 0 : 1]};
  require(b.shape[form.transpose_b ? 1 : 0] == size.k, "A and B agree in k");
  require(c.shape == Shape({size.m, size.n}), "C is [m, n]");
  require(a.dtype == b.dtype, "A and B have one dtype");
  require(c.dtype == a.dtype || c.dtype == accumulator_of(a.dtype),
          "C has its operands' dtype or that of the sums");
  const auto fits = [&](const ConstTensor& vector, std::int64_t elements) {
    return vector.absent() || (vector.elements() == elements && vector.dtype == c.dtype);
  };
  require(fits(epilogue.bias, size.n), "a bias is [n], in C's dtype");
  require(fits(epilogue.bias_gradient, size.m), "a bias gradient is [m], in C's dtype");
  return size;
}

/// The product as reports name it: "matmul 256x2048x784 NT f32", extents in the order m, n, k; T
/// marks a transposed operand. The type is the operands'; a C of another one is added, and += where
/// C is.
inline std::string matmul_name(const MatmulForm& form, const MatmulSize& size, DType operand,
                               DType result) {
  std::string name = "matmul " + std::to_string(size.m) + "x" + std::to_string(size.n) + "x" +
                     std::to_string(size.k) + " ";
  name += form.transpose_a ? 'T' : 'N';
  name += form.transpose_b ? 'T' : 'N';
  name += " ";
  name += form.math == MathMode::tf32 ? "tf32" : name_of(operand);
  if (result != operand) name += std::string("->") + std::string(name_of(result));
  if (form.accumulate) name += " +=";
  return name;
}

}  // namespace trainbench
