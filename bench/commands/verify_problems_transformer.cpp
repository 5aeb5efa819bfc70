// The operations of a transformer on small random problems of odd shapes.

#include <cmath>

#include "bench/commands/verify_problems.h"
#include "common/check/random_tensor.h"

namespace trainbench {
namespace {

struct Extents {
  std::int64_t batch, steps, heads, width;
};

/// One element, fewer than a block of 64, and blocks with a rest.
constexpr Extents kProblems[] = {{1, 1, 1, 1}, {2, 17, 3, 5}, {1, 131, 2, 24}};

class Problems {
 public:
  Problems(Backend& via, Backend& memory, const Precision& precision)
      : via_(via), memory_(memory), precision_(precision) {}

  void run(const Extents& e) {
    const std::int64_t rows = e.batch * e.steps;
    const std::int64_t columns = e.heads * e.width;
    embed(rows, e.steps, columns);
    normalise(rows, columns);
    for (const bool causal : {true, false}) {
      const AttentionOptions options{e.heads, causal, 1 / std::sqrt(static_cast<double>(e.width))};
      attend(e, options);
      attend_by_passes(e, options);
    }
  }

 private:
  Tensor random(Shape shape, DType dtype) {
    return random_tensor(memory_, shape, dtype, ++stream_);
  }
  Tensor random(Shape shape) { return random(shape, precision_.compute); }
  Tensor fresh(Shape shape, DType dtype) {
    return memory_.allocate(shape, dtype, MemoryKind::workspace);
  }
  Tensor fresh(Shape shape) { return fresh(shape, precision_.compute); }

  void embed(std::int64_t rows, std::int64_t steps, std::int64_t columns) {
    constexpr std::int64_t kEntries = 13;
    const Tensor indices = random_tensor(memory_, {rows}, DType::i32, ++stream_, 0, kEntries);
    via_.embedding(indices, random({kEntries, columns}), random({steps, columns}),
                   fresh({rows, columns}));
    for (const bool accumulate : {false, true}) {
      via_.embedding_backward(indices, random({rows, columns}), accumulate,
                              random({kEntries, columns}, precision_.master),
                              fresh({steps, columns}, precision_.master));
    }
  }

  void normalise(std::int64_t rows, std::int64_t columns) {
    const DType master = precision_.master;
    const Tensor x = random({rows, columns});
    const Tensor gamma = random({columns});
    const Tensor mean = fresh({rows}, master);
    const Tensor inverse = fresh({rows}, master);
    for (const ConstTensor residual : {ConstTensor(), ConstTensor(random({rows, columns}))}) {
      via_.layer_norm(1e-5, x, residual, {gamma, random({columns})}, mean, inverse,
                      fresh({rows, columns}));
      via_.layer_norm_backward(x, random({rows, columns}), gamma, mean, inverse, residual,
                               fresh({rows, columns}),
                               {fresh({columns}, master), fresh({columns}, master)});
    }
  }

  void attend(const Extents& e, const AttentionOptions& options) {
    const std::int64_t columns = e.heads * e.width;
    const Tensor qkv = random({e.batch, e.steps, 3 * columns});
    const Tensor y = fresh({e.batch, e.steps, columns});
    const Tensor logsum = fresh({e.batch, e.heads, e.steps}, precision_.master);
    via_.attention(options, qkv, y, logsum, precision_.math);
    via_.attention_backward(options, qkv, y, logsum, random(y.shape), fresh(qkv.shape),
                            precision_.math);
  }

  void attend_by_passes(const Extents& e, const AttentionOptions& options) {
    const std::int64_t columns = e.heads * e.width;
    const std::int64_t row = 3 * columns;
    const Tensor qkv = random({e.batch, e.steps, row});
    const Tensor scores = fresh({e.batch * e.heads, e.steps, e.steps});
    const std::int64_t square = e.steps * e.steps;
    const Matrices weights{scores, 0, e.steps, e.heads * square, square};
    const auto part = [&](std::int64_t offset) {
      return ConstMatrices{qkv, offset, row, e.steps * row, e.width};
    };
    via_.matmul_batched({.transpose_b = true, .math = precision_.math},
                        {e.steps, e.steps, e.width, e.batch, e.heads}, part(0), part(columns),
                        weights);
    via_.softmax(options.scale, options.causal, scores);
    const Tensor y = fresh({e.batch, e.steps, columns});
    via_.matmul_batched({.math = precision_.math}, {e.steps, e.width, e.steps, e.batch, e.heads},
                        {scores, 0, e.steps, e.heads * square, square}, part(2 * columns),
                        {y, 0, columns, e.steps * columns, e.width});
    via_.softmax_backward(options.scale, scores, random(scores.shape));
  }

  Backend& via_;
  Backend& memory_;
  const Precision& precision_;
  std::uint64_t stream_ = 0;
};

}  // namespace

void run_transformer_operations(Backend& via, Backend& memory, const Precision& precision) {
  memory.require_precision(precision);
  Problems problems(via, memory, precision);
  for (const Extents& extents : kProblems) problems.run(extents);
}

}  // namespace trainbench
