#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/core/dtype.h"

namespace trainbench {

/// A product as a library is asked for it: C[m, n] = op(A)[m, k] op(B)[k, n], or C += that; all
/// row-major and contiguous.
struct MatmulProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  DType operands = DType::f32;  ///< of A and B
  DType result = DType::f32;    ///< of C

  friend auto operator<=>(const MatmulProblem&, const MatmulProblem&) = default;
};

struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
};

/// A problem that a library has made ready to run. Runs on as many OpenMP threads as
/// omp_get_max_threads() says, the number it was made under; never inside a parallel region.
class MatmulPlan {
 public:
  virtual ~MatmulPlan() = default;
  virtual void run(const MatmulOperands& operands) = 0;
  virtual std::string_view provider() const = 0;
};

/// A library that multiplies matrices.
class MatmulProvider {
 public:
  virtual ~MatmulProvider() = default;
  virtual std::string_view name() const = 0;
  /// Null where the library does not serve the problem's dtypes.
  virtual std::unique_ptr<MatmulPlan> plan(const MatmulProblem& problem) const = 0;
};

}  // namespace trainbench
