#include "bench/families/attention.h"

#include <cmath>

#include "bench/families/operation_case.h"

namespace trainbench {

std::unique_ptr<PreparedCase> prepare_attention(const SuiteCase& wanted,
                                                RunEnvironment& environment) {
  const CaseId& id = wanted.id;
  const std::int64_t batch = id.integer("batch", 0);
  const std::int64_t steps = id.integer("steps", 0);
  const std::int64_t heads = id.integer("heads", 0);
  const std::int64_t width = id.integer("width", 0);
  const AttentionOptions options{.heads = heads,
                                 .causal = id.text("causal", "on") == "on",
                                 .scale = 1 / std::sqrt(static_cast<double>(width))};

  auto prepared = std::make_unique<OperationCase>(wanted, environment);
  const Precision& precision = prepared->precision();
  const MathMode math = precision.math;
  const Tensor qkv = prepared->uniform({batch, steps, 3 * heads * width});
  const Tensor y = prepared->result({batch, steps, heads * width});
  const Tensor logsum = prepared->result({batch, heads, steps}, precision.master);
  if (id.name == "forward") {
    prepared->set_work([=](Backend& backend) { backend.attention(options, qkv, y, logsum, math); });
    return prepared;
  }
  prepared->backend().attention(options, qkv, y, logsum, math);
  const Tensor dy = prepared->uniform(y.shape);
  const Tensor dqkv = prepared->result(qkv.shape);
  prepared->set_work([=](Backend& backend) {
    backend.attention_backward(options, qkv, y, logsum, dy, dqkv, math);
  });
  return prepared;
}

}  // namespace trainbench
