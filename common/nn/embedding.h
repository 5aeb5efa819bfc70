#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// What the entries of an embedding's tables are.
struct EmbeddingShape {
  std::int64_t entries = 0;
  std::int64_t columns = 0;
  std::int64_t steps = 0;  ///< of a sequence, each with a learned position; 0: without positions
};

/// y[b t, n] = table[token], plus positions[step] where there are any.
class Embedding {
 public:
  Embedding(ParameterLayout& layout, const std::string& name, const EmbeddingShape& shape,
            const Initial& initial);

  void allocate(Backend& backend, const Extent& extent);

  /// Keeps a view of the tokens, i32 [b, t], for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor tokens);

  /// With `accumulate`, on top of a gradient that the table has already from elsewhere.
  void backward(const Pass& pass, const Parameters& parameters, ConstTensor dy, bool accumulate);

  /// The parameter index of the table [entries, columns], which an output layer may share.
  std::size_t table() const { return table_; }

 private:
  EmbeddingShape shape_;
  std::size_t table_;
  std::size_t positions_ = 0;

  ConstTensor tokens_;
  Tensor output_;
};

}  // namespace trainbench
