#include "gpu/matmul.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
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

/// A pass of its own over 16-bit sums rounds twice what a fused one rounds once; not where the
/// activation only keeps or clears.
bool rounds_twice(const MatmulProblem& problem, unsigned rest) {
  return (rest & (kActivation | kGradient)) != 0 && keeps_input(problem.activation) &&
         size_of(problem.result) == 2;
}

std::string provider_of(const MatmulProblem& problem, const MatmulPlan& plan) {
  const unsigned rest = problem.parts & ~plan.fused;
  if (rest == 0) return "cublaslt";
  return "cublaslt, own kernels for " + text_of(rest, problem.activation);
}

template <class View>
MatrixSteps steps_of(const BasicMatrices<View>& operand) {
  return {operand.outer_stride, operand.inner_stride};
}

/// A batch as calls of the library, which knows one distance: call i's first matrices lie i `step`
/// behind the batch's, its others `stride` apart.
struct BatchLoop {
  std::int64_t calls;
  std::int64_t batch;
  std::array<std::int64_t, 3> step;
  std::array<std::int64_t, 3> stride;
};

BatchLoop loop_over(const MatmulBatch& batch, const std::array<MatrixSteps, 3>& operands) {
  std::array<std::int64_t, 3> outer{};
  std::array<std::int64_t, 3> inner{};
  bool one_distance = true;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    outer[i] = operands[i].outer;
    inner[i] = operands[i].inner;
    one_distance = one_distance && outer[i] == batch.inner * inner[i];
  }
  if (one_distance) return {1, batch.outer * batch.inner, outer, inner};
  if (batch.outer < batch.inner) return {batch.outer, batch.inner, outer, inner};
  return {batch.inner, batch.outer, inner, outer};
}

/// An operand from its matrix at `distance` from the first one on.
template <class View>
View matrix(const BasicMatrices<View>& operand, std::int64_t distance) {
  const std::int64_t first = operand.offset + distance;
  return operand.tensor.range(first, operand.tensor.elements() - first);
}

}  // namespace

struct Matmul::State {
  explicit State(MatmulProvider provider) {
    if (provider == MatmulProvider::vendor) TRAINBENCH_CUBLAS(cublaslt().cublasLtCreate(&handle));
  }
  ~State() {
    if (handle != nullptr) cublaslt().cublasLtDestroy(handle);
  }

  cublasLtHandle_t handle = nullptr;                         // none: our kernels
  std::set<MatmulProblem> own;                               // met by our kernels
  std::map<MatmulProblem, std::optional<MatmulPlan>> plans;  // none: our kernels do it better
  std::map<DType, bool> known_masks;  // probed dtypes: is the library's mask laid out as ours
  std::vector<Served> served;

  /// The same product may be met at several alignments.
  void note(Served entry) {
    const bool known = std::any_of(served.begin(), served.end(), [&](const Served& other) {
      return other.operation == entry.operation && other.provider == entry.provider;
    });
    if (!known) served.push_back(std::move(entry));
  }
};

MatmulProvider matmul_provider(const std::string& option) {
  if (option == "own") return MatmulProvider::own;
  if (option == "vendor") return MatmulProvider::vendor;
  if (option != "auto") {
    throw InputError("no GPU provider \"" + option + "\"; there are auto, vendor, own");
  }
  try {
    cublaslt();
    return MatmulProvider::vendor;
  } catch (const Unsupported&) {
    return MatmulProvider::own;
  }
}

Matmul::Matmul(MatmulProvider provider) : state_(std::make_unique<State>(provider)) {}
Matmul::~Matmul() = default;

const std::vector<Served>& Matmul::served() const { return state_->served; }

void Matmul::run(const Queue& queue, const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                 const MatmulEpilogue& epilogue) {
  const MatmulCall call{form, a, b, c, epilogue};
  run(queue, problem_of(call), call);
}

void Matmul::run_batched(const Queue& queue, const MatmulForm& form, const MatmulBatch& batch,
                         const ConstMatrices& a, const ConstMatrices& b, const Matrices& c) {
  const std::array<MatrixSteps, 3> steps{steps_of(a), steps_of(b), steps_of(c)};
  const MatmulEpilogue none;
  if (state_->handle == nullptr) {
    const MatmulCall call{form, matrix(a, 0), matrix(b, 0), matrix(c, 0), none};
    run_own(queue,
            problem_of(call, {batch.m, batch.n, batch.k}, batch.outer * batch.inner,
                       {MatrixLayout{a.row_stride, steps[0].inner},
                        MatrixLayout{b.row_stride, steps[1].inner},
                        MatrixLayout{c.row_stride, steps[2].inner}}),
            call, {batch.inner, steps});
    return;
  }
  const BatchLoop loop = loop_over(batch, steps);
  for (std::int64_t i = 0; i < loop.calls; ++i) {
    const MatmulCall call{form, matrix(a, i * loop.step[0]), matrix(b, i * loop.step[1]),
                          matrix(c, i * loop.step[2]), none};
    run(queue,
        problem_of(
            call, {batch.m, batch.n, batch.k}, loop.batch,
            {MatrixLayout{a.row_stride, loop.stride[0]}, MatrixLayout{b.row_stride, loop.stride[1]},
             MatrixLayout{c.row_stride, loop.stride[2]}}),
        call);
  }
}

void Matmul::run_own(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                     const OwnBatch& batch) {
  if (state_->own.insert(problem).second) state_->note({text_of(problem), "own kernel"});
  own_matmul(queue, problem, call, batch);
  run_rest(queue, problem, problem.parts & kBiasGradient, call);
}

void Matmul::run(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call) {
  if (state_->handle == nullptr) {
    run_own(queue, problem, call, {});
    return;
  }
  auto found = state_->plans.find(problem);
  if (found == state_->plans.end()) {
    const auto mask = state_->known_masks.find(call.c.dtype);
    const bool known_mask = mask != state_->known_masks.end() && mask->second;
    std::optional<MatmulPlan> plan = make_plan(state_->handle, queue, problem, call, known_mask);
    if (rounds_twice(problem, problem.parts & ~plan->fused)) {
      plan.reset();
    } else {
      state_->note({text_of(problem), provider_of(problem, *plan)});
    }
    found = state_->plans.emplace(problem, std::move(plan)).first;
  }
  if (!found->second) {
    run_own(queue, problem, call, {});
    return;
  }
  const MatmulPlan& plan = *found->second;
  run_product(state_->handle, queue, problem, plan, call);
  run_rest(queue, problem, problem.parts & ~plan.fused, call);
}

void Matmul::probe_relu_mask(const Queue& queue, DType dtype) {
  if (state_->handle == nullptr || dtype == DType::f64) return;
  if (state_->known_masks.contains(dtype)) return;
  state_->known_masks[dtype] = library_mask_is_ours(state_->handle, queue, dtype);
}

}  // namespace trainbench::gpu
