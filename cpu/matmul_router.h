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
  bool repeated = false;         ///< one of many products with the same B, between which it stays
  const void* packed = nullptr;  ///< of those: what prepare() returned
};

/// Decides by which library, and around which conversions, each product is computed, and runs it.
/// With several libraries the first call of a kind measures them; the process remembers the choice.
class MatmulRouter {
 public:
  MatmulRouter(int threads, std::vector<const MatmulProvider*> providers, Arena& arena)
      : threads_(threads), providers_(std::move(providers)), arena_(arena) {}

  /// Before `repeated` calls with this B: puts it into the layout that their library wants. The
  /// result holds until the next preparation.
  const void* prepare(const MatmulCall& call);

  /// All of the call but the bias gradient.
  void run(const MatmulCall& call);

  std::vector<Served> served() const;

 private:
  /// What tells calls apart that may be served differently.
  struct Kind {
    MatmulProblem problem;  ///< with the bias and activation that a library may apply
    bool passes = false;    ///< the epilogue has parts that no library applies
    bool repeated = false;

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
  Route route_by(const MatmulProvider& provider, const Kind& kind, bool packed) const;
  std::vector<Route> routes_for(const Kind& kind) const;
  Route choose(const Kind& kind, const MatmulCall& call);
  const Route& chosen(const MatmulCall& call);
  const void* pack(const Route& route, const MatmulCall& call);
  void run(const Route& route, const MatmulCall& call);
  const void* operand(const Route& route, const ConstTensor& from, Scratch block);

  int threads_;
  std::vector<const MatmulProvider*> providers_;
  Arena& arena_;
  std::map<Kind, Route> routes_;
};

}  // namespace trainbench
