#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/backend.h"

namespace trainbench {

/// Passes every call on. Tests derive from it to break one.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(Backend& inner) : inner_(inner) {}

  Tensor allocate(Shape shape, DType dtype, MemoryKind kind) override {
    return inner_.allocate(shape, dtype, kind);
  }
  MemoryUse memory() const override { return inner_.memory(); }
  Tensor allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                        DType dtype) override {
    return inner_.allocate_saved(activation, m, n, dtype);
  }
  std::unique_ptr<BatchChannel> make_channel(std::size_t slot_bytes, int slots) override {
    return inner_.make_channel(slot_bytes, slots);
  }
  void copy_from_host(Tensor to, const void* from) override { inner_.copy_from_host(to, from); }
  void copy_to_host(void* to, ConstTensor from) override { inner_.copy_to_host(to, from); }
  void copy(ConstTensor from, Tensor to) override { inner_.copy(from, to); }
  void fill_zero(Tensor tensor) override { inner_.fill_zero(tensor); }

  void synchronize() override { inner_.synchronize(); }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return inner_.record(work);
  }
  std::unique_ptr<DeviceTimer> make_timer() override { return inner_.make_timer(); }
  std::vector<Served> served() const override { return inner_.served(); }
  void require_precision(const Precision& precision) const override {
    inner_.require_precision(precision);
  }

  void cast(ConstTensor from, Tensor to) override { inner_.cast(from, to); }
  void normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) override {
    inner_.normalize_bytes(from, to, scale, shift);
  }
  void matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
              const MatmulEpilogue& epilogue) override {
    inner_.matmul(form, a, b, c, epilogue);
  }
  void add_bias(Tensor x, ConstTensor bias) override { inner_.add_bias(x, bias); }
  void activation_forward(Activation activation, Tensor x, Tensor saved) override {
    inner_.activation_forward(activation, x, saved);
  }
  void activation_backward(Activation activation, ConstTensor saved, Tensor dx) override {
    inner_.activation_backward(activation, saved, dx);
  }
  void bias_gradient(ConstTensor dy, Tensor db) override { inner_.bias_gradient(dy, db); }
  void softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses, Tensor gradient,
                             ConstTensor state) override {
    inner_.softmax_cross_entropy(logits, labels, losses, gradient, state);
  }
  void mean(ConstTensor values, Tensor mean) override { inner_.mean(values, mean); }
  void check_finite(ConstTensor gradients, Tensor state) override {
    inner_.check_finite(gradients, state);
  }
  void clip_gradients(ConstTensor gradients, double max_norm, Tensor state) override {
    inner_.clip_gradients(gradients, max_norm, state);
  }
  void sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
           ConstTensor state) override {
    inner_.sgd(options, update, velocity, state);
  }
  void adamw(const AdamOptions& options, const ParameterUpdate& update, Tensor first_moment,
             Tensor second_moment, ConstTensor state) override {
    inner_.adamw(options, update, first_moment, second_moment, state);
  }
  void finish_step(const LossScaling& scaling, Tensor state) override {
    inner_.finish_step(scaling, state);
  }

 protected:
  Backend& inner_;
};

}  // namespace trainbench
