// The same for the operations of a transformer.

#include "tests/check/spoiling_backend.h"

namespace trainbench {
namespace {

class SpoilingSequences : public SpoilingBackend {
 public:
  using SpoilingBackend::SpoilingBackend;

  void layer_norm(double epsilon, Tensor x, ConstTensor residual, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override {
    inner_.layer_norm(epsilon, x, residual, weights, mean, inverse, y);
    maybe("layer_norm.mean", mean);
    maybe("layer_norm.inverse", inverse);
    maybe("layer_norm.y", y);
  }
  void layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma, ConstTensor mean,
                           ConstTensor inverse, ConstTensor dresidual, Tensor dx,
                           const NormGradients& gradients) override {
    inner_.layer_norm_backward(x, dy, gamma, mean, inverse, dresidual, dx, gradients);
    maybe("layer_norm_backward.dx", dx);
    maybe("layer_norm_backward.dgamma", gradients.gamma);
    maybe("layer_norm_backward.dbeta", gradients.beta);
  }
  void embedding(ConstTensor indices, ConstTensor table, ConstTensor positions, Tensor y) override {
    inner_.embedding(indices, table, positions, y);
    maybe("embedding", y);
  }
  void embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate, Tensor dtable,
                          Tensor dpositions) override {
    inner_.embedding_backward(indices, dy, accumulate, dtable, dpositions);
    maybe("embedding_backward.dtable", dtable);
    maybe("embedding_backward.dpositions", dpositions);
  }
  void attention(const AttentionOptions& options, ConstTensor qkv, Tensor y, Tensor logsum,
                 MathMode math) override {
    inner_.attention(options, qkv, y, logsum, math);
    maybe("attention.y", y);
    maybe("attention.logsum", logsum);
  }
  void attention_backward(const AttentionOptions& options, ConstTensor qkv, ConstTensor y,
                          ConstTensor logsum, ConstTensor dy, Tensor dqkv, MathMode math) override {
    inner_.attention_backward(options, qkv, y, logsum, dy, dqkv, math);
    maybe("attention_backward", dqkv);
  }
  void matmul_batched(const MatmulForm& form, const MatmulBatch& batch, const ConstMatrices& a,
                      const ConstMatrices& b, const Matrices& c) override {
    inner_.matmul_batched(form, batch, a, b, c);
    maybe("matmul_batched", c.tensor);
  }
  void softmax(double scale, bool causal, Tensor x) override {
    inner_.softmax(scale, causal, x);
    maybe("softmax.x", x);
  }
  void softmax_backward(double scale, ConstTensor y, Tensor dy) override {
    inner_.softmax_backward(scale, y, dy);
    maybe("softmax_backward", dy);
  }
};

void run_sequences(Backend& backend, Backend& memory, std::int64_t rows, std::int64_t columns,
                   DType dtype) {
  const DType master = accumulator_of(dtype);
  const Shape matrix{rows, columns};
  const auto fresh = [&](Shape shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  std::uint64_t stream = 100;
  const auto random = [&](Shape shape, DType type) {
    return random_tensor(memory, shape, type, ++stream);
  };
  const Tensor indices =
      random_tensor(memory, Shape{rows}, DType::i32, ++stream, 0, static_cast<double>(rows));
  const Tensor x = fresh(matrix, dtype);
  backend.embedding(indices, random(matrix, dtype), random(matrix, dtype), x);
  backend.embedding_backward(indices, x, false, fresh(matrix, master), fresh(matrix, master));

  const Tensor gamma = random(Shape{columns}, dtype);
  const Tensor mean = fresh(Shape{rows}, master);
  const Tensor inverse = fresh(Shape{rows}, master);
  const Tensor y = fresh(matrix, dtype);
  backend.layer_norm(1e-5, x, random(matrix, dtype), {gamma, random(Shape{columns}, dtype)}, mean,
                     inverse, y);
  backend.layer_norm_backward(x, y, gamma, mean, inverse, y, fresh(matrix, dtype),
                              {fresh(Shape{columns}, master), fresh(Shape{columns}, master)});

  const AttentionOptions options{1, true, 0.4};
  const Tensor qkv = random(Shape{1, rows, 3 * columns}, dtype);
  const Tensor logsum = fresh(Shape{1, 1, rows}, master);
  backend.attention(options, qkv, y, logsum, MathMode::exact);
  backend.attention_backward(options, qkv, y, logsum, random(matrix, dtype),
                             fresh(qkv.shape, dtype), MathMode::exact);
  const Tensor scores = fresh(Shape{1, rows, rows}, dtype);
  backend.matmul_batched({.transpose_b = true}, {rows, rows, columns, 1, 1},
                         {qkv, 0, 3 * columns, 0, 0}, {qkv, columns, 3 * columns, 0, 0},
                         {scores, 0, rows, 0, 0});
  backend.softmax(options.scale, true, scores);
  backend.softmax_backward(options.scale, scores, random(scores.shape, dtype));
}

const char* const kResults[] = {"layer_norm.mean",
                                "layer_norm.inverse",
                                "layer_norm.y",
                                "layer_norm_backward.dx",
                                "layer_norm_backward.dgamma",
                                "layer_norm_backward.dbeta",
                                "embedding",
                                "embedding_backward.dtable",
                                "embedding_backward.dpositions",
                                "attention.y",
                                "attention.logsum",
                                "attention_backward",
                                "matmul_batched",
                                "softmax.x",
                                "softmax_backward"};

class PlantedSequences : public testing::TestWithParam<const char*> {};

TEST_P(PlantedSequences, OneWrongElementOfASmallResultFailsItAlone) {
  expect_to_fail_alone<SpoilingSequences>(run_sequences, GetParam());
}

TEST_P(PlantedSequences, AFractionOfALargeResultFails) {
  expect_a_fraction_to_fail<SpoilingSequences>(run_sequences, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Results, PlantedSequences, testing::ValuesIn(kResults));

TEST(PlantedSequences, NothingFailsUnspoilt) { expect_to_pass_unspoilt(run_sequences); }

}  // namespace
}  // namespace trainbench
