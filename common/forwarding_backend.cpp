#include "common/forwarding_backend.h"

namespace trainbench {

void ForwardingBackend::copy(ConstTensor from, Tensor to) {
  call([&](Backend& backend) { backend.copy(from, to); });
}
void ForwardingBackend::fill_zero(Tensor tensor) {
  call([&](Backend& backend) { backend.fill_zero(tensor); });
}
void ForwardingBackend::cast(ConstTensor from, Tensor to) {
  call([&](Backend& backend) { backend.cast(from, to); });
}
void ForwardingBackend::normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) {
  call([&](Backend& backend) { backend.normalize_bytes(from, to, scale, shift); });
}
void ForwardingBackend::matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                               const MatmulEpilogue& epilogue) {
  call([&](Backend& backend) { backend.matmul(form, a, b, c, epilogue); });
}

void ForwardingBackend::add_bias(Tensor x, ConstTensor bias) {
  call([&](Backend& backend) { backend.add_bias(x, bias); });
}
void ForwardingBackend::activation_forward(Activation activation, Tensor x, Tensor saved) {
  call([&](Backend& backend) { backend.activation_forward(activation, x, saved); });
}
void ForwardingBackend::activation_backward(Activation activation, ConstTensor saved, Tensor dx) {
  call([&](Backend& backend) { backend.activation_backward(activation, saved, dx); });
}
void ForwardingBackend::bias_gradient(ConstTensor dy, Tensor db) {
  call([&](Backend& backend) { backend.bias_gradient(dy, db); });
}
void ForwardingBackend::add(ConstTensor a, ConstTensor b, Tensor y) {
  call([&](Backend& backend) { backend.add(a, b, y); });
}
void ForwardingBackend::dropout(const DropoutOptions& options, Tensor x, ConstTensor state) {
  call([&](Backend& backend) { backend.dropout(options, x, state); });
}
void ForwardingBackend::conv2d(const Window& window, ConstTensor x, ConstTensor weights,
                               ConstTensor bias, Tensor y, MathMode math) {
  call([&](Backend& backend) { backend.conv2d(window, x, weights, bias, y, math); });
}
void ForwardingBackend::conv2d_data_gradient(const Window& window, ConstTensor dy,
                                             ConstTensor weights, Tensor dx, bool accumulate,
                                             MathMode math) {
  call([&](Backend& backend) {
    backend.conv2d_data_gradient(window, dy, weights, dx, accumulate, math);
  });
}
void ForwardingBackend::conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy,
                                               Tensor dw, Tensor db, MathMode math) {
  call([&](Backend& backend) { backend.conv2d_weight_gradient(window, x, dy, dw, db, math); });
}
void ForwardingBackend::max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen) {
  call([&](Backend& backend) { backend.max_pool(window, x, y, chosen); });
}
void ForwardingBackend::max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                                          Tensor dx) {
  call([&](Backend& backend) { backend.max_pool_backward(window, chosen, dy, dx); });
}
void ForwardingBackend::average_pool(ConstTensor x, Tensor y) {
  call([&](Backend& backend) { backend.average_pool(x, y); });
}
void ForwardingBackend::average_pool_backward(ConstTensor dy, Tensor dx) {
  call([&](Backend& backend) { backend.average_pool_backward(dy, dx); });
}
void ForwardingBackend::upsample(ConstTensor x, Tensor y) {
  call([&](Backend& backend) { backend.upsample(x, y); });
}
void ForwardingBackend::upsample_backward(ConstTensor dy, Tensor dx) {
  call([&](Backend& backend) { backend.upsample_backward(dy, dx); });
}
void ForwardingBackend::concat(ConstTensor a, ConstTensor b, Tensor y) {
  call([&](Backend& backend) { backend.concat(a, b, y); });
}
void ForwardingBackend::split(ConstTensor y, Tensor a, Tensor b) {
  call([&](Backend& backend) { backend.split(y, a, b); });
}
void ForwardingBackend::batch_norm(const BatchNormOptions& options, ConstTensor x,
                                   const NormWeights& weights, ConstTensor residual,
                                   const BatchNormState& state, Tensor y) {
  call([&](Backend& backend) { backend.batch_norm(options, x, weights, residual, state, y); });
}
void ForwardingBackend::batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                                            const NormWeights& weights, ConstTensor residual,
                                            const BatchNormState& state, Tensor y) {
  call([&](Backend& backend) {
    backend.batch_norm_evaluate(options, x, weights, residual, state, y);
  });
}
void ForwardingBackend::batch_norm_backward(const BatchNormOptions& options, ConstTensor x,
                                            ConstTensor y, ConstTensor dy, ConstTensor gamma,
                                            const BatchNormState& state, Tensor dx,
                                            Tensor dresidual, const NormGradients& gradients) {
  call([&](Backend& b) {
    b.batch_norm_backward(options, x, y, dy, gamma, state, dx, dresidual, gradients);
  });
}
void ForwardingBackend::layer_norm(double epsilon, Tensor x, ConstTensor residual,
                                   const NormWeights& weights, Tensor mean, Tensor inverse,
                                   Tensor y) {
  call([&](Backend& backend) {
    backend.layer_norm(epsilon, x, residual, weights, mean, inverse, y);
  });
}
void ForwardingBackend::layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma,
                                            ConstTensor mean, ConstTensor inverse,
                                            ConstTensor dresidual, Tensor dx,
                                            const NormGradients& gradients) {
  call([&](Backend& b) {
    b.layer_norm_backward(x, dy, gamma, mean, inverse, dresidual, dx, gradients);
  });
}
void ForwardingBackend::group_norm(const GroupNormOptions& options, ConstTensor x,
                                   const NormWeights& weights, Tensor mean, Tensor inverse,
                                   Tensor y) {
  call([&](Backend& backend) { backend.group_norm(options, x, weights, mean, inverse, y); });
}
void ForwardingBackend::group_norm_backward(const GroupNormOptions& options, ConstTensor x,
                                            ConstTensor dy, const NormWeights& weights,
                                            ConstTensor mean, ConstTensor inverse, bool accumulate,
                                            Tensor dx, const NormGradients& gradients) {
  call([&](Backend& b) {
    b.group_norm_backward(options, x, dy, weights, mean, inverse, accumulate, dx, gradients);
  });
}
void ForwardingBackend::shift_tokens(ConstTensor from, bool time_major, Tensor inputs,
                                     Tensor targets) {
  call([&](Backend& backend) { backend.shift_tokens(from, time_major, inputs, targets); });
}
void ForwardingBackend::embedding(ConstTensor indices, ConstTensor table, ConstTensor positions,
                                  Tensor y) {
  call([&](Backend& backend) { backend.embedding(indices, table, positions, y); });
}
void ForwardingBackend::embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate,
                                           Tensor dtable, Tensor dpositions) {
  call([&](Backend& backend) {
    backend.embedding_backward(indices, dy, accumulate, dtable, dpositions);
  });
}
void ForwardingBackend::attention(const AttentionOptions& options, ConstTensor qkv, Tensor y,
                                  Tensor logsum, MathMode math) {
  call([&](Backend& backend) { backend.attention(options, qkv, y, logsum, math); });
}
void ForwardingBackend::attention_backward(const AttentionOptions& options, ConstTensor qkv,
                                           ConstTensor y, ConstTensor logsum, ConstTensor dy,
                                           Tensor dqkv, MathMode math) {
  call([&](Backend& backend) {
    backend.attention_backward(options, qkv, y, logsum, dy, dqkv, math);
  });
}
void ForwardingBackend::matmul_batched(const MatmulForm& form, const MatmulBatch& batch,
                                       const ConstMatrices& a, const ConstMatrices& b,
                                       const Matrices& c) {
  call([&](Backend& backend) { backend.matmul_batched(form, batch, a, b, c); });
}
void ForwardingBackend::softmax(double scale, bool causal, Tensor x) {
  call([&](Backend& backend) { backend.softmax(scale, causal, x); });
}
void ForwardingBackend::softmax_backward(double scale, ConstTensor y, Tensor dy) {
  call([&](Backend& backend) { backend.softmax_backward(scale, y, dy); });
}
void ForwardingBackend::lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace,
                             MathMode math) {
  call([&](Backend& backend) { backend.lstm(inputs, weights, trace, math); });
}
void ForwardingBackend::lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden,
                                      Tensor dgates, MathMode math) {
  call([&](Backend& backend) { backend.lstm_backward(weights, trace, dhidden, dgates, math); });
}
void ForwardingBackend::lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) {
  call([&](Backend& backend) { backend.lstm_cell(gates, previous, cells, hidden); });
}
void ForwardingBackend::lstm_cell_backward(ConstTensor gates, ConstTensor previous,
                                           ConstTensor cells, ConstTensor dhidden, Tensor dcells,
                                           Tensor dgates) {
  call([&](Backend& backend) {
    backend.lstm_cell_backward(gates, previous, cells, dhidden, dcells, dgates);
  });
}
void ForwardingBackend::softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                              Tensor gradient, ConstTensor state) {
  call([&](Backend& backend) {
    backend.softmax_cross_entropy(logits, labels, losses, gradient, state);
  });
}
void ForwardingBackend::mean_squared_error(ConstTensor prediction, ConstTensor target,
                                           Tensor losses, Tensor gradient, ConstTensor state) {
  call([&](Backend& backend) {
    backend.mean_squared_error(prediction, target, losses, gradient, state);
  });
}
void ForwardingBackend::diffuse(ConstTensor bytes, float scale, float shift,
                                const DiffusionTables& tables, ConstTensor state, Tensor noisy,
                                Tensor noise, Tensor times) {
  call([&](Backend& backend) {
    backend.diffuse(bytes, scale, shift, tables, state, noisy, noise, times);
  });
}
void ForwardingBackend::mean(ConstTensor values, Tensor mean) {
  call([&](Backend& backend) { backend.mean(values, mean); });
}
void ForwardingBackend::check_finite(ConstTensor gradients, Tensor state) {
  call([&](Backend& backend) { backend.check_finite(gradients, state); });
}
void ForwardingBackend::clip_gradients(ConstTensor gradients, double max_norm, Tensor state) {
  call([&](Backend& backend) { backend.clip_gradients(gradients, max_norm, state); });
}
void ForwardingBackend::sgd(const SgdOptions& options, const ParameterUpdate& update,
                            Tensor velocity, ConstTensor state) {
  call([&](Backend& backend) { backend.sgd(options, update, velocity, state); });
}
void ForwardingBackend::adamw(const AdamOptions& options, const ParameterUpdate& update,
                              Tensor first_moment, Tensor second_moment, ConstTensor state) {
  call([&](Backend& backend) {
    backend.adamw(options, update, first_moment, second_moment, state);
  });
}
void ForwardingBackend::finish_step(const LossScaling& scaling, Tensor state) {
  call([&](Backend& backend) { backend.finish_step(scaling, state); });
}

}  // namespace trainbench
