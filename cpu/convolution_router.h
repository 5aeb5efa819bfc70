#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cpu/providers/convolution.h"
#include "cpu/tiled_convolution.h"

namespace trainbench {

/// Decides how each convolution is computed, by a library that convolves or by tiles through one
/// that multiplies, and runs it. Where both can, the first call of a kind measures them.
class ConvolutionRouter {
 public:
  ConvolutionRouter(int threads, std::vector<const ConvolutionProvider*> providers,
                    MatmulRouter& matmul, Arena& arena)
      : threads_(threads),
        providers_(std::move(providers)),
        arena_(arena),
        tiled_(threads, matmul, arena) {}

  void run(const ConvolutionCall& call);

  /// The products of tiles are listed by their own router.
  std::vector<Served> served() const;

 private:
  /// What tells calls apart that may be served differently.
  struct Kind {
    ConvolutionProblem problem;
    bool accumulate = false;

    friend auto operator<=>(const Kind&, const Kind&) = default;
  };

  /// A library's plan with the types it computes in; no provider: tiles.
  struct Route {
    const ConvolutionProvider* provider = nullptr;
    ConvolutionProblem problem;
    std::unique_ptr<ConvolutionPlan> plan;

    std::string name() const {
      return provider == nullptr ? "tiles" : std::string(provider->name());
    }
  };

  static Kind kind_of(const ConvolutionCall& call);
  static std::string name_of(const Kind& kind);
  static std::vector<ConvolutionProblem> variants(const Kind& kind);
  static Route route_by(const ConvolutionProvider& provider, const Kind& kind);
  Route choose(const Kind& kind, const ConvolutionCall& call);
  void run(const Route& route, const ConvolutionCall& call);
  void run_plan(const Route& route, const ConvolutionCall& call);
  void* operand(const Route& route, const Tensor& from, Scratch block);

  int threads_;
  std::vector<const ConvolutionProvider*> providers_;
  Arena& arena_;
  TiledConvolution tiled_;
  std::map<Kind, Route> routes_;
};

}  // namespace trainbench
