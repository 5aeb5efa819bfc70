#include <gtest/gtest.h>

#include <cmath>

#include "common/check/check_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/device_values.h"

// What is particular to the kernels of sequences: vector accesses and what is left without them,
// entries with more rows than a warp adds up. The operations themselves are tested in tests/ops.

namespace trainbench {
namespace {

constexpr DType kFloatTypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

/// The parameter is the elements by which tensors miss a 16-byte boundary.
class SequenceKernels : public testing::TestWithParam<std::int64_t> {
 protected:
  Tensor make(const Shape& shape, DType dtype, std::uint64_t stream) {
    return random_tensor(*backend_, shape, dtype, stream, GetParam());
  }
  void expect_right() const {
    EXPECT_TRUE(check_.summary().passed) << check_.summary().worst;
    EXPECT_GT(check_.summary().outputs, 0);
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  CheckBackend check_{*backend_};
};

struct EmbeddingSizes {
  std::int64_t batch, steps, entries, columns;
};

TEST_P(SequenceKernels, EmbeddingsOfFewAndOfManyEntries) {
  for (const EmbeddingSizes& e : {EmbeddingSizes{2, 3, 5, 8}, {4, 90, 2, 136}, {3, 130, 700, 40}}) {
    const Shape tokens{e.batch, e.steps};
    const Tensor indices = backend_->allocate(tokens, DType::i32, MemoryKind::activations);
    std::vector<double> values;
    for (std::int64_t i = 0; i < tokens.elements(); ++i) {
      values.push_back(static_cast<double>(i * i % 97 * 31 % e.entries));
    }
    write_values(*backend_, indices, values);
    for (const DType dtype : kFloatTypes) {
      const DType master = accumulator_of(dtype);
      const Tensor dy = make(Shape{tokens.elements(), e.columns}, dtype, 1);
      check_.embedding(indices, make(Shape{e.entries, e.columns}, dtype, 2),
                       make(Shape{e.steps, e.columns}, dtype, 3), dy);
      for (const bool accumulate : {false, true}) {
        check_.embedding_backward(indices, dy, accumulate,
                                  make(Shape{e.entries, e.columns}, master, 4),
                                  make(Shape{e.steps, e.columns}, master, 5));
      }
    }
  }
  expect_right();
}

TEST_P(SequenceKernels, LstmCellsOfAnyWidth) {
  for (const std::int64_t units : {1, 4, 36, 130}) {
    const Shape gates{3, 4 * units};
    const Shape cells{3, units};
    for (const DType dtype : kFloatTypes) {
      const DType master = accumulator_of(dtype);
      const Tensor trace = make(gates, dtype, 1);
      const Tensor previous = make(cells, master, 2);
      const Tensor now = make(cells, master, 3);
      check_.lstm_cell(trace, previous, now, make(cells, dtype, 4));
      check_.lstm_cell_backward(trace, previous, now, make(cells, dtype, 5), make(cells, master, 6),
                                make(gates, dtype, 7));
    }
  }
  expect_right();
}

struct AttentionSizes {
  std::int64_t batch, steps, heads, width;
  bool causal;
};

TEST_P(SequenceKernels, AttentionOfNarrowAndOfWideHeads) {
  const AttentionSizes sizes[] = {
      {1, 130, 2, 64, true}, {1, 70, 1, 128, false}, {1, 40, 1, 256, false}};
  for (const AttentionSizes& e : sizes) {
    const std::int64_t columns = e.heads * e.width;
    const AttentionOptions options{e.heads, e.causal, 1 / std::sqrt(static_cast<double>(e.width))};
    for (const Precision& precision : kPrecisions) {
      const DType dtype = precision.compute;
      const Tensor qkv = make(Shape{e.batch, e.steps, 3 * columns}, dtype, 1);
      const Tensor y = make(Shape{e.batch, e.steps, columns}, dtype, 2);
      const Tensor logsum = make(Shape{e.batch, e.heads, e.steps}, precision.master, 3);
      check_.attention(options, qkv, y, logsum, precision.math);
      check_.attention_backward(options, qkv, y, logsum, make(y.shape, dtype, 4),
                                make(qkv.shape, dtype, 5), precision.math);
    }
  }
  expect_right();
}

INSTANTIATE_TEST_SUITE_P(Gpu, SequenceKernels, testing::Values(0, 1), [](const auto& test) {
  return test.param == 0 ? std::string("aligned") : std::string("misaligned");
});

}  // namespace
}  // namespace trainbench
