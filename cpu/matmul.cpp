#include <omp.h>

#include "common/core/dispatch.h"
#include "cpu/cpu_backend.h"
#include "cpu/epilogue.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

MatmulProblem problem_of(const MatmulForm& form, const ConstTensor& a, const ConstTensor& b,
                         const Tensor& c) {
  require(a.shape.rank() == 2 && b.shape.rank() == 2 && c.shape.rank() == 2,
          "a product is of matrices");
  require(a.dtype == b.dtype, "a product's operands have one dtype");
  MatmulProblem problem{.m = c.shape[0],
                        .n = c.shape[1],
                        .k = a.shape[form.transpose_a ? 0 : 1],
                        .transpose_a = form.transpose_a,
                        .transpose_b = form.transpose_b,
                        .accumulate = form.accumulate,
                        .operands = a.dtype,
                        .result = c.dtype};
  require(a.shape[form.transpose_a ? 1 : 0] == problem.m &&
              b.shape[form.transpose_b ? 0 : 1] == problem.n &&
              b.shape[form.transpose_b ? 1 : 0] == problem.k,
          "a product's shapes fit");
  return problem;
}

std::string description(const MatmulProblem& p) {
  std::string text = "matmul " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
                     std::to_string(p.k) + " " + (p.transpose_a ? "T" : "N") +
                     (p.transpose_b ? "T" : "N") + " " + std::string(name_of(p.operands));
  return p.accumulate ? text + " accumulate" : text;
}

bool anything(const MatmulEpilogue& e) {
  return !e.bias.absent() || e.activation != Activation::none || e.gradient_of != Activation::none;
}

}  // namespace

void CpuBackend::matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                        const MatmulEpilogue& epilogue) {
  if (form.math == MathMode::tf32) throw Unsupported("tf32 is a format of GPU tensor cores");
  MatmulProblem problem = problem_of(form, a, b, c);
  if (!epilogue.bias_gradient.absent()) {
    if (form.transpose_a) {
      column_sums(threads_, a, epilogue.bias_gradient);
    } else {
      row_sums(threads_, a, epilogue.bias_gradient);
    }
  }

  // 16-bit operands: products of their float values, summed in float and rounded once.
  MatmulOperands operands{a.data, b.data, c.data};
  const DType wide = problem.operands == DType::f64 ? DType::f64 : DType::f32;
  if (problem.operands != wide) {
    operands.a = widened(a, 0);
    operands.b = widened(b, 1);
    problem.operands = wide;
  }
  const bool through_scratch = problem.result != wide;
  if (through_scratch) {
    operands.c = arena_.scratch(2, static_cast<std::size_t>(c.elements()) * size_of(wide));
    problem.result = wide;
    problem.accumulate = false;
  }
  multiply(problem, operands);
  if (through_scratch || anything(epilogue)) {
    apply_epilogue(threads_, operands.c, through_scratch && form.accumulate, c, epilogue);
  }
}

const void* CpuBackend::widened(ConstTensor from, std::size_t slot) {
  const std::size_t bytes = static_cast<std::size_t>(from.elements()) * sizeof(float);
  const Tensor to(arena_.scratch(slot, bytes), from.shape, DType::f32);
  cast(from, to);
  return to.data;
}

void CpuBackend::multiply(const MatmulProblem& problem, const MatmulOperands& operands) {
  if (problem.m == 0 || problem.n == 0) return;
  const FlushToZero flush;
  omp_set_num_threads(threads_);
  auto found = plans_.find(problem);
  if (found == plans_.end()) {
    std::unique_ptr<MatmulPlan> plan;
    for (const MatmulProvider* provider : providers_) {
      if (plan == nullptr) plan = provider->plan(problem);
    }
    if (plan == nullptr) {
      throw Unsupported("no CPU provider here serves " + description(problem));
    }
    found = plans_.emplace(problem, std::move(plan)).first;
  }
  found->second->run(operands);
}

std::vector<Served> CpuBackend::served() const {
  std::vector<Served> list;
  for (const auto& [problem, plan] : plans_) {
    list.push_back({description(problem), std::string(plan->provider())});
  }
  return list;
}

}  // namespace trainbench
