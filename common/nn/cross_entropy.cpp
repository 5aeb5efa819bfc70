#include "common/nn/cross_entropy.h"

namespace trainbench {

void cross_entropy(const Pass& pass, ConstTensor logits, ConstTensor labels, Tensor losses,
                   Tensor gradient, ConstTensor state) {
  if (!pass.training) gradient = {};
  if (pass.fused || gradient.absent()) {
    pass.backend.softmax_cross_entropy(logits, labels, losses, gradient, state);
    return;
  }
  pass.backend.softmax_cross_entropy(logits, labels, losses, {}, state);
  pass.backend.softmax_cross_entropy(logits, labels, {}, gradient, state);
}

}  // namespace trainbench
