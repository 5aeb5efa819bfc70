#include "common/backend.h"

#include <algorithm>

#include "common/probes.h"

namespace trainbench {
namespace {

[[noreturn]] void lacks(const std::string& operation) {
  throw Unsupported("this device has no " + operation);
}

}  // namespace

std::unique_ptr<Probes> Backend::make_probes() { lacks("probes"); }
void Backend::add(ConstTensor, ConstTensor, Tensor) { lacks("add"); }
void Backend::dropout(const DropoutOptions&, Tensor, ConstTensor) { lacks("dropout"); }
void Backend::conv2d(const Window&, ConstTensor, ConstTensor, ConstTensor, Tensor, MathMode) {
  lacks("conv2d");
}
void Backend::conv2d_data_gradient(const Window&, ConstTensor, ConstTensor, Tensor, bool,
                                   MathMode) {
  lacks("conv2d_data_gradient");
}
void Backend::conv2d_weight_gradient(const Window&, ConstTensor, ConstTensor, Tensor, Tensor,
                                     MathMode) {
  lacks("conv2d_weight_gradient");
}
void Backend::max_pool(const Window&, ConstTensor, Tensor, Tensor) { lacks("max_pool"); }
void Backend::max_pool_backward(const Window&, ConstTensor, ConstTensor, Tensor) {
  lacks("max_pool_backward");
}
void Backend::average_pool(ConstTensor, Tensor) { lacks("average_pool"); }
void Backend::average_pool_backward(ConstTensor, Tensor) { lacks("average_pool_backward"); }
void Backend::upsample(ConstTensor, Tensor) { lacks("upsample"); }
void Backend::upsample_backward(ConstTensor, Tensor) { lacks("upsample_backward"); }
void Backend::concat(ConstTensor, ConstTensor, Tensor) { lacks("concat"); }
void Backend::split(ConstTensor, Tensor, Tensor) { lacks("split"); }
void Backend::batch_norm(const BatchNormOptions&, ConstTensor, const NormWeights&, ConstTensor,
                         const BatchNormState&, Tensor) {
  lacks("batch_norm");
}
void Backend::batch_norm_evaluate(const BatchNormOptions&, ConstTensor, const NormWeights&,
                                  ConstTensor, const BatchNormState&, Tensor) {
  lacks("batch_norm_evaluate");
}
void Backend::batch_norm_backward(const BatchNormOptions&, ConstTensor, ConstTensor, ConstTensor,
                                  ConstTensor, const BatchNormState&, Tensor, Tensor,
                                  const NormGradients&) {
  lacks("batch_norm_backward");
}
void Backend::layer_norm(double, Tensor, ConstTensor, const NormWeights&, Tensor, Tensor, Tensor) {
  lacks("layer_norm");
}
void Backend::layer_norm_backward(ConstTensor, ConstTensor, ConstTensor, ConstTensor, ConstTensor,
                                  ConstTensor, Tensor, const NormGradients&) {
  lacks("layer_norm_backward");
}
void Backend::group_norm(const GroupNormOptions&, ConstTensor, const NormWeights&, Tensor, Tensor,
                         Tensor) {
  lacks("group_norm");
}
void Backend::group_norm_backward(const GroupNormOptions&, ConstTensor, ConstTensor,
                                  const NormWeights&, ConstTensor, ConstTensor, bool, Tensor,
                                  const NormGradients&) {
  lacks("group_norm_backward");
}
void Backend::shift_tokens(ConstTensor, bool, Tensor, Tensor) { lacks("shift_tokens"); }
void Backend::embedding(ConstTensor, ConstTensor, ConstTensor, Tensor) { lacks("embedding"); }
void Backend::embedding_backward(ConstTensor, ConstTensor, bool, Tensor, Tensor) {
  lacks("embedding_backward");
}
void Backend::attention(const AttentionOptions&, ConstTensor, Tensor, Tensor, MathMode) {
  lacks("attention");
}
void Backend::attention_backward(const AttentionOptions&, ConstTensor, ConstTensor, ConstTensor,
                                 ConstTensor, Tensor, MathMode) {
  lacks("attention_backward");
}
void Backend::matmul_batched(const MatmulForm&, const MatmulBatch&, const ConstMatrices&,
                             const ConstMatrices&, const Matrices&) {
  lacks("matmul_batched");
}
void Backend::softmax(double, bool, Tensor) { lacks("softmax"); }
void Backend::softmax_backward(double, ConstTensor, Tensor) { lacks("softmax_backward"); }
void Backend::lstm(ConstTensor, ConstTensor, const LstmTrace&, MathMode) { lacks("lstm"); }
void Backend::lstm_backward(ConstTensor, const LstmTrace&, Tensor, Tensor, MathMode) {
  lacks("lstm_backward");
}
void Backend::lstm_cell(Tensor, ConstTensor, Tensor, Tensor) { lacks("lstm_cell"); }
void Backend::lstm_cell_backward(ConstTensor, ConstTensor, ConstTensor, ConstTensor, Tensor,
                                 Tensor) {
  lacks("lstm_cell_backward");
}
void Backend::mean_squared_error(ConstTensor, ConstTensor, Tensor, Tensor, ConstTensor) {
  lacks("mean_squared_error");
}
void Backend::diffuse(ConstTensor, float, float, const DiffusionTables&, ConstTensor, Tensor,
                      Tensor, Tensor) {
  lacks("diffuse");
}
void Backend::clip_gradients(ConstTensor, double, Tensor) { lacks("clip_gradients"); }

std::int64_t rows_of_group(const ConstTensor& x, const ConstTensor& per_group) {
  require(x.shape.rank() == 2, "groups are of the rows of a matrix");
  const std::int64_t columns = std::max<std::int64_t>(x.shape[1], 1);
  const std::int64_t groups = std::max<std::int64_t>(per_group.elements() / columns, 1);
  require(per_group.elements() == groups * x.shape[1] && x.shape[0] % groups == 0,
          "one row for all rows of a matrix, or one for each of equal groups");
  return std::max<std::int64_t>(x.shape[0] / groups, 1);
}

Tensor allocate_step_state(Backend& backend, const StepState& initial) {
  const Tensor state = backend.allocate(Shape{sizeof(StepState)}, DType::u8, MemoryKind::workspace);
  backend.copy_from_host(state, &initial);
  return state;
}

StepState read_step_state(Backend& backend, ConstTensor state) {
  StepState host;
  backend.copy_to_host(&host, state);
  return host;
}

}  // namespace trainbench
