#pragma once

#include <vector>

#include "common/models/model.h"
#include "common/nn/linear.h"
#include "common/nn/lstm.h"

namespace trainbench {

struct Workload;

/// Language model over bytes: embedding, layers of LSTM, linear head, softmax cross-entropy of the
/// next byte. Rows are time-major, so that a step's are contiguous.
class LstmModel : public Model {
 public:
  /// Sizes: "vocabulary", "embedding", "hidden", "layers", "sequence".
  LstmModel(const Workload& workload, const ModelSizes& sizes);

  const ParameterLayout& layout() const override { return layout_; }
  void allocate(Backend& backend, const Extent& extent) override;
  void forward(const Pass& pass, const Parameters& parameters, const Batch& batch) override;
  void loss(const Pass& pass, const Batch& batch, ConstTensor state) override;
  void backward(const Pass& pass, const Parameters& parameters) override;

  Tensor logits() const override { return head_.output(); }  ///< [t b, vocabulary]
  Tensor losses() const override { return losses_; }         ///< one a token

 private:
  ParameterLayout layout_;
  std::int64_t vocabulary_;
  std::int64_t columns_;
  std::int64_t steps_;
  std::size_t table_;
  std::vector<Lstm> layers_;
  Linear head_;

  Tensor inputs_;             // i32 [t, b]
  Tensor targets_;            // i32 [t, b]
  Tensor embedded_;           // [t, b, columns]
  Tensor embedded_gradient_;  // likewise
  Tensor losses_;             // [t b]
};

}  // namespace trainbench
