#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/backend.h"

namespace trainbench {

/// A product as a library is asked for it: C[m, n] = activation(op(A)[m, k] op(B)[k, n] + bias[n]),
/// or C += that product; all row-major and contiguous.
struct MatmulProblem {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  DType operands = DType::f32;  ///< of A and B
  DType result = DType::f32;    ///< of C and the bias
  bool bias = false;
  Activation activation = Activation::none;
  bool packed_b = false;  ///< B is given as the plan's pack() left it

  bool has_epilogue() const { return bias || activation != Activation::none; }
  friend auto operator<=>(const MatmulProblem&, const MatmulProblem&) = default;
};

struct MatmulOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;
  void* workspace = nullptr;  ///< MatmulPlan::workspace_bytes() that the plan may overwrite
};

/// A problem that a library has made ready to run, on the number of OpenMP threads that
/// omp_get_max_threads() said then; never inside a parallel region.
class MatmulPlan {
 public:
  virtual ~MatmulPlan() = default;
  virtual void run(const MatmulOperands& operands) = 0;
  virtual std::size_t workspace_bytes() const { return 0; }
  /// Of a problem with `packed_b`: what pack() writes, B in the library's own layout.
  virtual std::size_t packed_bytes() const { return 0; }
  virtual void pack(const void* /*b*/, void* /*packed*/) {}
};

/// A library that multiplies matrices.
class MatmulProvider {
 public:
  virtual ~MatmulProvider() = default;
  virtual std::string_view name() const = 0;
  /// Null where the library does not serve the problem as it stands.
  virtual std::unique_ptr<MatmulPlan> plan(const MatmulProblem& problem) const = 0;
};

}  // namespace trainbench
