#pragma once

#include "common/nn/layer.h"

namespace trainbench {

/// losses[b] of logits[b, c] for `labels`, and, where the pass trains and `gradient` is there, the
/// gradient: in one operation, or in two.
void cross_entropy(const Pass& pass, ConstTensor logits, ConstTensor labels, Tensor losses,
                   Tensor gradient, ConstTensor state);

}  // namespace trainbench
