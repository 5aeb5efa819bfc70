#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/backend.h"

namespace trainbench {

enum class ConvolutionPass : std::uint8_t { forward, data_gradient, weight_gradient };

/// A convolution as a library is asked for it: images [b, h, w, c], weights [f, kernel, kernel, c],
/// all contiguous.
struct ConvolutionProblem {
  ConvolutionPass pass = ConvolutionPass::forward;
  std::int64_t batch = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t filters = 0;
  std::int64_t kernel = 0;
  std::int64_t stride = 0;
  std::int64_t padding = 0;
  DType operands = DType::f32;  ///< of the two that are read, and of the bias
  DType result = DType::f32;    ///< of the one that is written
  bool bias = false;            ///< one a filter, in the forward pass

  friend auto operator<=>(const ConvolutionProblem&, const ConvolutionProblem&) = default;
};

/// The pass decides which of these are read and which is written; libraries take one pointer type.
struct ConvolutionOperands {
  void* x = nullptr;
  void* weights = nullptr;
  void* y = nullptr;
  void* bias = nullptr;
  void* workspace = nullptr;  ///< ConvolutionPlan::workspace_bytes() that the plan may overwrite
};

/// A problem that a library has made ready to run, on the number of OpenMP threads that
/// omp_get_max_threads() said then; never inside a parallel region.
class ConvolutionPlan {
 public:
  virtual ~ConvolutionPlan() = default;
  virtual void run(const ConvolutionOperands& operands) = 0;
  virtual std::size_t workspace_bytes() const { return 0; }
};

/// A library that convolves.
class ConvolutionProvider {
 public:
  virtual ~ConvolutionProvider() = default;
  virtual std::string_view name() const = 0;
  /// Null where the library does not serve the problem as it stands.
  virtual std::unique_ptr<ConvolutionPlan> plan(const ConvolutionProblem& problem) const = 0;
};

}  // namespace trainbench
