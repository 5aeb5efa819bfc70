#include "gpu/matmul.h"

#include <map>
#include <string>
#include <utility>

#include "gpu/matmul_plan.h"
#include "gpu/relu_mask_probe.h"
#include "gpu/runtime/check.h"
#include "gpu/runtime/cublaslt.h"

namespace trainbench::gpu {
namespace {

/// The parts of the epilogue that the library left.
void run_rest(const Queue& queue, const MatmulProblem& problem, unsigned rest,
              const MatmulCall& call) {
  const MatmulEpilogue& epilogue = call.epilogue;
  if ((rest & kBias) != 0) add_bias(queue, call.c, epilogue.bias);
  if ((rest & kActivation) != 0) {
    activation_forward(queue, problem.activation, call.c, epilogue.saved);
  }
  if ((rest & kGradient) != 0) {
    activation_backward(queue, problem.activation, epilogue.gradient_saved, call.c);
  }
  if ((rest & kBiasGradient) != 0) {
    if (problem.transpose_a) {
      column_sums(queue, call.a, epilogue.bias_gradient);
    } else {
      row_sums(queue, call.a, epilogue.bias_gradient);
    }
  }
}

std::string provider_of(const MatmulProblem& problem, const MatmulPlan& plan) {
  const unsigned rest = problem.parts & ~plan.fused;
  if (rest == 0) return "cublaslt";
  return "cublaslt, own kernels for " + text_of(rest, problem.activation);
}

}  // namespace

struct Matmul::State {
  State() { TRAINBENCH_CUBLAS(cublaslt().cublasLtCreate(&handle)); }
  ~State() { cublaslt().cublasLtDestroy(handle); }

  cublasLtHandle_t handle = nullptr;
  std::map<MatmulProblem, MatmulPlan> plans;
  std::map<DType, bool> known_masks;  // probed dtypes: is the library's mask laid out as ours
  std::vector<Served> served;
};

Matmul::Matmul() : state_(std::make_unique<State>()) {}
Matmul::~Matmul() = default;

const std::vector<Served>& Matmul::served() const { return state_->served; }

void Matmul::run(const Queue& queue, const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                 const MatmulEpilogue& epilogue) {
  const MatmulCall call{form, a, b, c, epilogue};
  const MatmulProblem problem = problem_of(call);
  auto found = state_->plans.find(problem);
  if (found == state_->plans.end()) {
    const auto mask = state_->known_masks.find(c.dtype);
    const bool known_mask = mask != state_->known_masks.end() && mask->second;
    MatmulPlan plan = make_plan(state_->handle, queue, problem, call, known_mask);
    state_->served.push_back({text_of(problem), provider_of(problem, plan)});
    found = state_->plans.emplace(problem, std::move(plan)).first;
  }
  const MatmulPlan& plan = found->second;
  run_product(state_->handle, queue, problem, plan, call);
  run_rest(queue, problem, problem.parts & ~plan.fused, call);
}

void Matmul::probe_relu_mask(const Queue& queue, DType dtype) {
  if (dtype == DType::f64 || state_->known_masks.contains(dtype)) return;
  state_->known_masks[dtype] = library_mask_is_ours(state_->handle, queue, dtype);
}

}  // namespace trainbench::gpu
