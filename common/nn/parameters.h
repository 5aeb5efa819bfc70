#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/backend.h"

namespace trainbench {

/// How a parameter starts: uniform in [-spread, spread), normal of standard deviation `spread`, or
/// everywhere `value`.
struct Initial {
  enum class Kind : std::uint8_t { uniform, normal, constant };

  static Initial uniform(double bound) { return {Kind::uniform, bound, 0}; }
  static Initial normal(double deviation) { return {Kind::normal, deviation, 0}; }
  static Initial constant(double value) { return {Kind::constant, 0, value}; }

  Kind kind = Kind::constant;
  double spread = 0;
  double value = 0;
};

/// One weight or bias of a model: where it lies in the flat buffers and how it starts.
struct ParameterSpec {
  std::string name;
  Shape shape;
  Initial initial;
  std::int64_t offset = 0;  ///< first element in each flat buffer
};

/// The order of a model's parameters in its flat buffers.
class ParameterLayout {
 public:
  /// Parameters start at multiples of this many elements, so that 16-byte accesses and a library's
  /// vector paths apply to each of them in every dtype. The gap stays zero.
  static constexpr std::int64_t kAlignment = 64;

  /// Appends a parameter and returns its index.
  std::size_t add(std::string name, Shape shape, const Initial& initial);

  const std::vector<ParameterSpec>& specs() const { return specs_; }
  /// Elements of a flat buffer, gaps included.
  std::int64_t elements() const { return elements_; }
  /// Parameters of the model, gaps excluded.
  std::int64_t parameter_count() const { return parameter_count_; }

  /// Initial weights in double, a function of the seed alone: [elements()].
  std::vector<double> initial_values(std::uint64_t seed) const;

 private:
  std::vector<ParameterSpec> specs_;
  std::int64_t elements_ = 0;
  std::int64_t parameter_count_ = 0;
};

/// A model's weights and gradients on a device, each in one flat buffer.
class Parameters {
 public:
  /// Allocates and sets the initial weights, where the backend holds data; gradients start at zero.
  Parameters(Backend& backend, const ParameterLayout& layout, const Precision& precision,
             std::uint64_t seed);

  ConstTensor weight(std::size_t index) const;  ///< in the compute dtype, as layers read it
  Tensor gradient(std::size_t index) const;     ///< in the master dtype

  /// The flat buffers, as an optimizer updates them.
  ParameterUpdate update() const { return {master_, copy_, gradients_}; }
  Tensor master() const { return master_; }
  Tensor gradients() const { return gradients_; }
  const ParameterLayout& layout() const { return *layout_; }

  /// Replaces the weights by `values` [layout().elements()], rounded to master and compute dtype.
  void set(Backend& backend, const std::vector<double>& values);

 private:
  const ParameterLayout* layout_;
  Tensor master_;
  Tensor copy_;  // absent where the master is read directly
  Tensor gradients_;
};

}  // namespace trainbench
