#include "cpu/convolution_router.h"

#include <omp.h>

#include <array>
#include <cstring>

#include "cpu/convert.h"
#include "cpu/epilogue.h"
#include "cpu/fastest.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

constexpr std::array<const char*, 3> kPassNames{"conv2d", "conv2d_data_gradient",
                                                "conv2d_weight_gradient"};

Tensor as_matrix(const Tensor& tensor) {
  const std::int64_t columns = tensor.shape[tensor.shape.rank() - 1];
  return tensor.reshaped(Shape{tensor.elements() / columns, columns});
}

}  // namespace

ConvolutionRouter::Kind ConvolutionRouter::kind_of(const ConvolutionCall& call) {
  const ConvolutionSize size = call.size();
  return {.problem = {.pass = call.pass,
                      .batch = size.batch,
                      .height = size.height,
                      .width = size.width,
                      .channels = size.channels,
                      .filters = size.filters,
                      .kernel = call.window.kernel,
                      .stride = call.window.stride,
                      .padding = call.window.padding,
                      .operands = call.x.dtype,
                      .result = call.result().dtype,
                      .bias = !call.bias.absent()},
          .accumulate = call.accumulate};
}

/// As reports name it.
std::string ConvolutionRouter::name_of(const Kind& kind) {
  const ConvolutionProblem& p = kind.problem;
  const ConvolutionSize size{.batch = p.batch,
                             .height = p.height,
                             .width = p.width,
                             .channels = p.channels,
                             .filters = p.filters,
                             .kernel = p.kernel};
  std::string name = convolution_name(kPassNames[static_cast<std::size_t>(p.pass)],
                                      {p.kernel, p.stride, p.padding}, size, p.operands);
  if (p.bias) name += " bias";
  if (kind.accumulate) name += " +=";
  return name;
}

/// The problems by which a library can compute a call of this kind, the one with the least work
/// around it first.
std::vector<ConvolutionProblem> ConvolutionRouter::variants(const Kind& kind) {
  std::vector<ConvolutionProblem> list;
  if (!kind.accumulate) list.push_back(kind.problem);
  for (const DType operands : {kind.problem.operands, accumulator_of(kind.problem.operands)}) {
    ConvolutionProblem sums = kind.problem;
    sums.operands = operands;
    sums.result = accumulator_of(operands);
    sums.bias = false;
    list.push_back(sums);
  }
  return list;
}

ConvolutionRouter::Route ConvolutionRouter::route_by(const ConvolutionProvider& provider,
                                                     const Kind& kind) {
  for (const ConvolutionProblem& problem : variants(kind)) {
    if (auto plan = provider.plan(problem)) return {&provider, problem, std::move(plan)};
  }
  return {};
}

void* ConvolutionRouter::operand(const Route& route, const Tensor& from, Scratch block) {
  if (from.dtype == route.problem.operands) return from.data;
  const Tensor to(arena_.scratch(block, static_cast<std::size_t>(from.elements()) *
                                            size_of(route.problem.operands)),
                  from.shape, route.problem.operands);
  cast_elements(threads_, from, to);
  return to.data;
}

void ConvolutionRouter::run_plan(const Route& route, const ConvolutionCall& call) {
  const ConvolutionProblem& problem = route.problem;
  const Tensor result = call.result();
  const bool in_place = problem.result == result.dtype && !call.accumulate;
  const auto place = [&](const Tensor& tensor, Scratch block) {
    if (tensor.data != result.data) return operand(route, tensor, block);
    const auto bytes = static_cast<std::size_t>(tensor.elements()) * size_of(problem.result);
    return in_place ? tensor.data : arena_.scratch(block, bytes);
  };
  ConvolutionOperands operands{.x = place(call.x, Scratch::convolution_x),
                               .weights = place(call.weights, Scratch::convolution_weights),
                               .y = place(call.y, Scratch::convolution_y),
                               .bias = problem.bias ? call.bias.data : nullptr};
  if (const std::size_t bytes = route.plan->workspace_bytes(); bytes > 0) {
    operands.workspace = arena_.scratch(Scratch::convolution_library, bytes);
  }
  {
    const FlushToZero flush;
    omp_set_num_threads(threads_);
    route.plan->run(operands);
  }
  if (in_place && problem.bias == !call.bias.absent()) return;
  const void* product = problem.pass == ConvolutionPass::forward ? operands.y : operands.x;
  apply_epilogue(threads_, product, call.accumulate, as_matrix(result), {.bias = call.bias});
}

void ConvolutionRouter::run(const Route& route, const ConvolutionCall& call) {
  if (route.provider == nullptr) {
    tiled_.run(call);
  } else {
    run_plan(route, call);
  }
}

ConvolutionRouter::Route ConvolutionRouter::choose(const Kind& kind, const ConvolutionCall& call) {
  std::vector<Route> routes;
  std::vector<std::string> names;
  for (const ConvolutionProvider* provider : providers_) {
    Route route = route_by(*provider, kind);
    if (route.plan != nullptr) routes.push_back(std::move(route));
  }
  routes.emplace_back();
  for (const Route& route : routes) names.push_back(route.name());
  std::vector<std::byte> before;  // of a result that the measured runs add to
  const Tensor result = call.result();
  const ScratchTrial trial(arena_);
  const std::size_t choice = fastest(threads_, name_of(kind), names, [&](std::size_t i) {
    if (kind.accumulate && before.empty()) {
      before.resize(result.bytes());
      std::memcpy(before.data(), result.data, before.size());
    }
    run(routes[i], call);
  });
  if (!before.empty()) std::memcpy(result.data, before.data(), before.size());
  return std::move(routes[choice]);
}

void ConvolutionRouter::run(const ConvolutionCall& call) {
  if (call.y.elements() == 0) return;
  const Kind kind = kind_of(call);
  auto found = routes_.find(kind);
  if (found == routes_.end()) {
    omp_set_num_threads(threads_);
    found = routes_.emplace(kind, choose(kind, call)).first;
  }
  run(found->second, call);
}

std::vector<Served> ConvolutionRouter::served() const {
  std::vector<Served> list;
  for (const auto& [kind, route] : routes_) list.push_back({name_of(kind), route.name()});
  return list;
}

}  // namespace trainbench
