#include "cpu/providers/eigen.h"

#include <Eigen/Core>

namespace trainbench {
namespace {

template <class T>
class EigenPlan final : public MatmulPlan {
 public:
  explicit EigenPlan(const MatmulProblem& problem) : problem_(problem) {}

  void run(const MatmulOperands& operands) override {
    const MatmulProblem& p = problem_;
    const Matrix a(static_cast<const T*>(operands.a), p.transpose_a ? p.k : p.m,
                   p.transpose_a ? p.m : p.k);
    const Matrix b(static_cast<const T*>(operands.b), p.transpose_b ? p.n : p.k,
                   p.transpose_b ? p.k : p.n);
    Result c(static_cast<T*>(operands.c), p.m, p.n);
    if (p.transpose_a && p.transpose_b) {
      store(c, a.transpose() * b.transpose());
    } else if (p.transpose_a) {
      store(c, a.transpose() * b);
    } else if (p.transpose_b) {
      store(c, a * b.transpose());
    } else {
      store(c, a * b);
    }
  }

 private:
  using Rows = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  using Matrix = Eigen::Map<const Rows>;
  using Result = Eigen::Map<Rows>;

  template <class Product>
  void store(Result& c, const Product& product) const {
    if (problem_.accumulate) {
      c.noalias() += product;
    } else {
      c.noalias() = product;
    }
  }

  MatmulProblem problem_;
};

class EigenProvider final : public MatmulProvider {
 public:
  std::string_view name() const override { return "eigen"; }
  std::unique_ptr<MatmulPlan> plan(const MatmulProblem& problem) const override {
    if (problem.operands != problem.result || problem.has_epilogue() || problem.packed_b) {
      return nullptr;
    }
    if (problem.operands == DType::f32) return std::make_unique<EigenPlan<float>>(problem);
    if (problem.operands == DType::f64) return std::make_unique<EigenPlan<double>>(problem);
    return nullptr;
  }
};

}  // namespace

const MatmulProvider& eigen_provider() {
  static const EigenProvider provider;
  return provider;
}

std::string eigen_version() {
  return std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION) + ", " + Eigen::SimdInstructionSetsInUse();
}

}  // namespace trainbench
