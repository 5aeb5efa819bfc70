#include "cpu/providers/blas.h"

#include <cblas.h>

#include <limits>

namespace trainbench {
namespace {

class BlasPlan final : public MatmulPlan {
 public:
  explicit BlasPlan(const MatmulProblem& problem)
      : problem_(problem),
        transpose_a_(problem.transpose_a ? CblasTrans : CblasNoTrans),
        transpose_b_(problem.transpose_b ? CblasTrans : CblasNoTrans),
        m_(static_cast<blasint>(problem.m)),
        n_(static_cast<blasint>(problem.n)),
        k_(static_cast<blasint>(problem.k)),
        row_a_(problem.transpose_a ? m_ : k_),
        row_b_(problem.transpose_b ? k_ : n_) {}

  void run(const MatmulOperands& o) override {
    const int keep = problem_.accumulate ? 1 : 0;
    if (problem_.operands == DType::f32) {
      cblas_sgemm(CblasRowMajor, transpose_a_, transpose_b_, m_, n_, k_, 1.0f,
                  static_cast<const float*>(o.a), row_a_, static_cast<const float*>(o.b), row_b_,
                  static_cast<float>(keep), static_cast<float*>(o.c), n_);
    } else {
      cblas_dgemm(CblasRowMajor, transpose_a_, transpose_b_, m_, n_, k_, 1.0,
                  static_cast<const double*>(o.a), row_a_, static_cast<const double*>(o.b), row_b_,
                  static_cast<double>(keep), static_cast<double*>(o.c), n_);
    }
  }

 private:
  MatmulProblem problem_;
  CBLAS_TRANSPOSE transpose_a_;
  CBLAS_TRANSPOSE transpose_b_;
  blasint m_;
  blasint n_;
  blasint k_;
  blasint row_a_;
  blasint row_b_;
};

class BlasProvider final : public MatmulProvider {
 public:
  std::string_view name() const override { return "blas"; }

  std::unique_ptr<MatmulPlan> plan(const MatmulProblem& problem) const override {
    constexpr std::int64_t kMost = std::numeric_limits<blasint>::max();
    const bool served = problem.operands == problem.result && !problem.has_epilogue() &&
                        !problem.packed_b &&
                        (problem.operands == DType::f32 || problem.operands == DType::f64) &&
                        problem.m <= kMost && problem.n <= kMost && problem.k <= kMost;
    return served ? std::make_unique<BlasPlan>(problem) : nullptr;
  }
};

}  // namespace

const MatmulProvider& blas_provider() {
  static const BlasProvider provider;
  return provider;
}

std::string blas_version() {
#ifdef OPENBLAS_VERSION
  return std::string(openblas_get_config()) + ", kernels for " + openblas_get_corename();
#else
  return "CBLAS";
#endif
}

}  // namespace trainbench
