#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// A batch in device memory, as it travelled.
struct Batch {
  ConstTensor
      samples;         ///< images: u8 [b, height, width, channels]; sequences: u8 or i32 [b, t + 1]
  ConstTensor labels;  ///< i32 [b]; absent for sequences
};

/// Integer sizes of a model by name ("hidden" -> 2048); what is absent has the model's default.
using ModelSizes = std::map<std::string, std::int64_t>;

/// A network and its loss. The object holds views of its activations; their memory is the
/// backend's. Passes may go through another backend than the one that allocated: one that checks or
/// counts.
class Model {
 public:
  virtual ~Model() = default;

  virtual const ParameterLayout& layout() const = 0;
  virtual void allocate(Backend& backend, const Extent& extent) = 0;

  /// From the batch to logits().
  virtual void forward(const Pass& pass, const Parameters& parameters, const Batch& batch) = 0;
  /// From logits() to losses() and the gradient of the mean loss times the loss scale.
  virtual void loss(const Pass& pass, const Batch& batch, ConstTensor state) = 0;
  /// From there to the parameters' gradients.
  virtual void backward(const Pass& pass, const Parameters& parameters) = 0;

  virtual Tensor logits() const = 0;
  virtual Tensor losses() const = 0;  ///< one a sample, in the master dtype
};

}  // namespace trainbench
