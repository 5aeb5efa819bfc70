#include "cpu/matmul_router.h"

#include <omp.h>

#include <algorithm>
#include <cstring>

#include "common/matmul_size.h"
#include "cpu/convert.h"
#include "cpu/epilogue.h"
#include "cpu/fastest.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

MatmulProblem problem_of(const MatmulCall& call) {
  const MatmulForm& form = call.form;
  const MatmulSize size = matmul_size(form, call.a, call.b, call.c, call.epilogue);
  return {.m = size.m,
          .n = size.n,
          .k = size.k,
          .transpose_a = form.transpose_a,
          .transpose_b = form.transpose_b,
          .accumulate = form.accumulate,
          .operands = call.a.dtype,
          .result = call.c.dtype};
}

std::string description(const MatmulProblem& p) {
  const MatmulForm form{p.transpose_a, p.transpose_b, p.accumulate};
  return matmul_name(form, {p.m, p.n, p.k}, p.operands, p.result);
}

}  // namespace

MatmulRouter::Kind MatmulRouter::kind_of(const MatmulCall& call) {
  const MatmulEpilogue& e = call.epilogue;
  Kind kind{.problem = problem_of(call)};
  kind.passes = !e.saved.absent() || e.gradient_of != Activation::none;
  kind.problem.bias = !e.bias.absent();
  kind.problem.activation = e.activation;
  kind.repeated = call.repeated;
  return kind;
}

/// What tells it apart, in words.
std::string MatmulRouter::name_of(const Kind& kind) {
  std::string name = description(kind.problem);
  if (kind.problem.bias) name += " bias";
  if (const Activation activation = kind.problem.activation; activation != Activation::none) {
    name.append(" ").append(trainbench::name_of(activation));
  }
  if (kind.passes) name += " passes";
  if (kind.repeated) name += " repeated";
  return name;
}

/// The problems by which a call of this kind can be computed, the one with the least work around it
/// first.
std::vector<MatmulProblem> MatmulRouter::variants(const Kind& kind) const {
  std::vector<MatmulProblem> list;
  for (const DType operands : {kind.problem.operands, accumulator_of(kind.problem.operands)}) {
    MatmulProblem whole = kind.problem;
    whole.operands = operands;
    if (!kind.passes) list.push_back(whole);
    // An epilogue in a pass of its own starts from unrounded sums.
    MatmulProblem sums = whole;
    sums.result = accumulator_of(operands);
    sums.accumulate = whole.accumulate && sums.result == whole.result;
    sums.bias = false;
    sums.activation = Activation::none;
    list.push_back(sums);
  }
  return list;
}

MatmulRouter::Route MatmulRouter::route_by(const MatmulProvider& provider, const Kind& kind,
                                           bool packed) const {
  for (MatmulProblem problem : variants(kind)) {
    problem.packed_b = packed;
    if (auto plan = provider.plan(problem)) return {&provider, problem, std::move(plan)};
  }
  return {};
}

const void* MatmulRouter::operand(const Route& route, const ConstTensor& from, Scratch block) {
  if (from.dtype == route.problem.operands) return from.data;
  const Tensor to(arena_.scratch(block, static_cast<std::size_t>(from.elements()) * sizeof(float)),
                  from.shape, route.problem.operands);
  cast_elements(threads_, from, to);
  return to.data;
}

void MatmulRouter::run(const Route& route, const MatmulCall& call) {
  const MatmulProblem& problem = route.problem;
  const bool in_place = problem.result == call.c.dtype;
  MatmulOperands operands{
      .a = operand(route, call.a, Scratch::matmul_a),
      .b = problem.packed_b ? call.packed : operand(route, call.b, Scratch::matmul_b),
      .c = call.c.data,
      .bias = problem.bias ? call.epilogue.bias.data : nullptr};
  if (!in_place) {
    operands.c = arena_.scratch(
        Scratch::matmul_c, static_cast<std::size_t>(call.c.elements()) * size_of(problem.result));
  }
  if (const std::size_t bytes = route.plan->workspace_bytes(); bytes > 0) {
    operands.workspace = arena_.scratch(Scratch::matmul_library, bytes);
  }
  {
    const FlushToZero flush;
    omp_set_num_threads(threads_);
    route.plan->run(operands);
  }
  const MatmulEpilogue& e = call.epilogue;
  const bool applied = in_place && problem.bias == !e.bias.absent() &&
                       problem.activation == e.activation && e.gradient_of == Activation::none;
  if (!applied) {
    apply_epilogue(threads_, operands.c, call.form.accumulate && !problem.accumulate, call.c, e);
  }
}

std::vector<MatmulRouter::Route> MatmulRouter::routes_for(const Kind& kind) const {
  std::vector<Route> routes;
  for (const bool packed : {true, false}) {
    if (packed && !kind.repeated) continue;
    for (const MatmulProvider* provider : providers_) {
      Route route = route_by(*provider, kind, packed);
      if (route.plan != nullptr) routes.push_back(std::move(route));
    }
  }
  return routes;
}

MatmulRouter::Route MatmulRouter::choose(const Kind& kind, const MatmulCall& call) {
  std::vector<Route> routes = routes_for(kind);
  if (routes.empty()) {
    throw Unsupported("no CPU provider here serves " + description(kind.problem));
  }
  if (routes.size() == 1) return std::move(routes.front());

  std::vector<std::string> names;
  for (const Route& route : routes) {
    names.push_back(std::string(route.provider->name()) +
                    (route.problem.packed_b ? " packed" : ""));
  }
  MatmulCall measured = call;
  std::size_t prepared = routes.size();
  std::vector<std::byte> before;  // of a C that the measured runs add to
  const ScratchTrial trial(arena_);
  const std::size_t choice = fastest(threads_, name_of(kind), names, [&](std::size_t i) {
    if (kind.problem.accumulate && before.empty()) {
      before.resize(call.c.bytes());
      std::memcpy(before.data(), call.c.data, before.size());
    }
    // A route's first run, which only warms up, packs.
    if (prepared != i) measured.packed = pack(routes[i], call);
    prepared = i;
    run(routes[i], measured);
  });
  if (!before.empty()) std::memcpy(call.c.data, before.data(), before.size());
  return std::move(routes[choice]);
}

const MatmulRouter::Route& MatmulRouter::chosen(const MatmulCall& call) {
  const Kind kind = kind_of(call);
  auto found = routes_.find(kind);
  if (found == routes_.end()) {
    omp_set_num_threads(threads_);
    found = routes_.emplace(kind, choose(kind, call)).first;
  }
  return found->second;
}

/// B as the route's plan wants it; null where it wants it as it is.
const void* MatmulRouter::pack(const Route& route, const MatmulCall& call) {
  if (!route.problem.packed_b) return nullptr;
  void* const packed = arena_.scratch(Scratch::packed, route.plan->packed_bytes());
  omp_set_num_threads(threads_);
  route.plan->pack(operand(route, call.b, Scratch::matmul_b), packed);
  return packed;
}

const void* MatmulRouter::prepare(const MatmulCall& call) { return pack(chosen(call), call); }

void MatmulRouter::run(const MatmulCall& call) {
  if (call.c.elements() == 0) return;
  run(chosen(call), call);
}

std::vector<Served> MatmulRouter::served() const {
  std::vector<Served> list;
  for (const auto& [kind, route] : routes_) {
    const Served entry{description(kind.problem), std::string(route.provider->name())};
    const bool known = std::any_of(list.begin(), list.end(), [&](const Served& other) {
      return other.operation == entry.operation && other.provider == entry.provider;
    });
    if (!known) list.push_back(entry);
  }
  return list;
}

}  // namespace trainbench
