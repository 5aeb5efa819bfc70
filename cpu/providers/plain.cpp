#include "cpu/providers/plain.h"

#include <omp.h>

namespace trainbench {
namespace {

template <class T>
class PlainPlan final : public MatmulPlan {
 public:
  PlainPlan(const MatmulProblem& problem, int threads) : problem_(problem), threads_(threads) {}

  void run(const MatmulOperands& operands) override {
    const auto* a = static_cast<const T*>(operands.a);
    const auto* b = static_cast<const T*>(operands.b);
    auto* c = static_cast<T*>(operands.c);
    const MatmulProblem& p = problem_;
    // From element to element along k, and from one row (of A) or column (of B) to the next.
    const std::int64_t a_step = p.transpose_a ? p.m : 1;
    const std::int64_t a_row = p.transpose_a ? 1 : p.k;
    const std::int64_t b_step = p.transpose_b ? 1 : p.n;
    const std::int64_t b_column = p.transpose_b ? p.k : 1;
#pragma omp parallel for schedule(static) num_threads(threads_) if (threads_ > 1)
    for (std::int64_t i = 0; i < p.m; ++i) {
      for (std::int64_t j = 0; j < p.n; ++j) {
        T sum = p.accumulate ? c[i * p.n + j] : T{0};
        for (std::int64_t l = 0; l < p.k; ++l) {
          sum += a[i * a_row + l * a_step] * b[j * b_column + l * b_step];
        }
        c[i * p.n + j] = sum;
      }
    }
  }

 private:
  MatmulProblem problem_;
  int threads_;
};

class PlainProvider final : public MatmulProvider {
 public:
  PlainProvider(std::string_view name, bool parallel) : name_(name), parallel_(parallel) {}

  std::string_view name() const override { return name_; }

  std::unique_ptr<MatmulPlan> plan(const MatmulProblem& problem) const override {
    if (problem.operands != problem.result || problem.has_epilogue() || problem.packed_b) {
      return nullptr;
    }
    const int threads = parallel_ ? omp_get_max_threads() : 1;
    if (problem.operands == DType::f32) return std::make_unique<PlainPlan<float>>(problem, threads);
    if (problem.operands == DType::f64) {
      return std::make_unique<PlainPlan<double>>(problem, threads);
    }
    return nullptr;
  }

 private:
  std::string_view name_;
  bool parallel_;
};

}  // namespace

const MatmulProvider& naive_provider() {
  static const PlainProvider provider("naive", false);
  return provider;
}

const MatmulProvider& openmp_provider() {
  static const PlainProvider provider("openmp", true);
  return provider;
}

}  // namespace trainbench
