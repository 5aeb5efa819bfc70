#pragma once

#include <map>
#include <string>
#include <vector>

#include "cpu/arena.h"
#include "cpu/providers.h"

namespace trainbench {

/// A product as the backend is asked for it.
struct MatmulCall {
  MatmulForm form;
  ConstTensor a;
  ConstTensor b;
  Tensor c;
  MatmulEpilogue epilogue;
};

/// Decides by which library, and around which conversions, each product is computed, and runs it.
/// With several libraries the first call of a kind measures them; the process remembers the choice.
class MatmulRouter {
 public:
  MatmulRouter(int threads, std::vector<const MatmulProvider*> providers, Arena& arena)
      : threads_(threads), providers_(std::move(providers)), arena_(arena) {}

  /// All of the call but the bias gradient.
  void run(const MatmulCall& call);

  std::vector<Served> served() const;

 private:
  /// What tells calls apart that may be served differently.
  struct Kind {
    MatmulProblem problem;  ///< with the bias and activation that a library may apply
    bool passes = false;    ///< the epilogue has parts that no library applies

    friend auto operator<=>(const Kind&, const Kind&) = default;
  };

  /// A library's plan, and what has to be done around it.
  struct Route {
    const MatmulProvider* provider = nullptr;
    MatmulProblem problem;
    std::unique_ptr<MatmulPlan> plan;
  };

  static Kind kind_of(const MatmulCall& call);
  static std::string name_of(const Kind& kind);
  std::vector<MatmulProblem> variants(const Kind& kind) const;
  Route route_by(const MatmulProvider& provider, const Kind& kind) const;
  Route choose(const Kind& kind, const MatmulCall& call);
  void run(const Route& route, const MatmulCall& call);
  const void* operand(const Route& route, const ConstTensor& from, Scratch block);

  int threads_;
  std::vector<const MatmulProvider*> providers_;
  Arena& arena_;
  std::map<Kind, Route> routes_;
};

}  // namespace trainbench
