// Attention by separate operations: products of many small matrices, and the softmax between.

#include <cmath>
#include <limits>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/small_product.h"
#include "cpu/vector_math.h"

namespace trainbench {
namespace {

/// Rows, columns and terms of a block.
constexpr std::int64_t kTile = 64;

/// One matrix of a batch; element (i, j) of op(it) lies at data[i * row + j * column].
template <class T>
struct Operand {
  T* data;
  std::int64_t row;
  std::int64_t column;
};

/// The first `rows` x `columns` from (i, j) on as [kTile][kTile], zero to the right.
template <class T>
void gather(const Operand<const T>& from, std::int64_t i, std::int64_t j, std::int64_t rows,
            std::int64_t columns, Wide<T>* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const T* row = from.data + (i + r) * from.row + j * from.column;
    Wide<T>* target = to + r * kTile;
    for (std::int64_t c = 0; c < columns; ++c) target[c] = widen(row[c * from.column]);
    std::fill(target + columns, target + kTile, Wide<T>{0});
  }
}

/// c = a b of one matrix, or c += it.
template <class T, class C>
void multiply(const MatmulBatch& size, const Operand<const T>& a, const Operand<const T>& b,
              const Operand<C>& c, bool accumulate) {
  using W = Wide<T>;
  alignas(64) W left[kTile * kTile];
  alignas(64) W right[kTile * kTile];
  alignas(64) W sums[kTile * kTile];
  for (std::int64_t i = 0; i < size.m; i += kTile) {
    const std::int64_t rows = std::min(kTile, size.m - i);
    for (std::int64_t j = 0; j < size.n; j += kTile) {
      const std::int64_t columns = std::min(kTile, size.n - j);
      std::fill_n(sums, rows * kTile, W{0});
      for (std::int64_t l = 0; l < size.k; l += kTile) {
        const std::int64_t terms = std::min(kTile, size.k - l);
        gather(a, i, l, rows, terms, left);
        gather(b, l, j, terms, columns, right);
        small_product<true>(rows, kTile, terms, Strided<W>{left, kTile, 1}, right, kTile, sums,
                            kTile);
      }
      for (std::int64_t r = 0; r < rows; ++r) {
        C* to = c.data + (i + r) * c.row + j;
        for (std::int64_t s = 0; s < columns; ++s) {
          const W sum = sums[r * kTile + s];
          to[s] = narrow<C>(accumulate ? static_cast<W>(widen(to[s])) + sum : sum);
        }
      }
    }
  }
}

/// Matrix (i, j) of a batch.
template <class T, class View>
T* matrix(const BasicMatrices<View>& matrices, std::int64_t i, std::int64_t j) {
  return matrices.tensor.template as<std::remove_const_t<T>>() + matrices.offset +
         i * matrices.outer_stride + j * matrices.inner_stride;
}

template <class T>
Operand<const T> operand(const ConstMatrices& matrices, std::int64_t i, std::int64_t j,
                         bool transposed) {
  const T* data = matrix<const T>(matrices, i, j);
  if (transposed) return {data, 1, matrices.row_stride};
  return {data, matrices.row_stride, 1};
}

/// In place on the first `count` numbers of a row.
template <class T>
void softmax_row(Wide<T> scale, T* x, std::int64_t count) {
  using W = Wide<T>;
  W largest = -std::numeric_limits<W>::infinity();
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, scale * widen(x[i]));
  W sum = 0;
#pragma omp simd reduction(+ : sum)
  for (std::int64_t i = 0; i < count; ++i) sum += vector_exp(scale * widen(x[i]) - largest);
  const W inverse = W{1} / sum;
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    x[i] = narrow<T>(vector_exp(scale * widen(x[i]) - largest) * inverse);
  }
}

}  // namespace

void CpuBackend::matmul_batched(const MatmulForm& form, const MatmulBatch& batch,
                                const ConstMatrices& a, const ConstMatrices& b, const Matrices& c) {
  dispatch_float(a.tensor.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    dispatch_float(c.tensor.dtype, [&](auto result_tag) {
      using C = typename decltype(result_tag)::type;
      parallel_ranges(threads_, batch.outer * batch.inner, 1, [&](Range range) {
        for (std::int64_t index = range.first; index < range.last; ++index) {
          const std::int64_t i = index / batch.inner;
          const std::int64_t j = index % batch.inner;
          multiply(batch, operand<T>(a, i, j, form.transpose_a),
                   operand<T>(b, i, j, form.transpose_b),
                   Operand<C>{matrix<C>(c, i, j), c.row_stride, 1}, form.accumulate);
        }
      });
    });
  });
}

void CpuBackend::softmax(double scale, bool causal, Tensor x) {
  require(x.shape.rank() == 3 && x.shape[1] == x.shape[2], "softmax works on square matrices");
  const std::int64_t columns = x.shape[2];
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* values = x.as<T>();
    parallel_ranges(threads_, x.shape[0] * columns, 8, [=](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const std::int64_t visible = causal ? row % columns + 1 : columns;
        T* first = values + row * columns;
        softmax_row(static_cast<Wide<T>>(scale), first, visible);
        std::fill(first + visible, first + columns, T{});
      }
    });
  });
}

void CpuBackend::softmax_backward(double scale, ConstTensor y, Tensor dy) {
  require(y.shape == dy.shape && y.shape.rank() == 3, "a softmax and its gradient have one shape");
  const std::int64_t columns = y.shape[2];
  dispatch_float(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T* weights = y.as<T>();
    T* slopes = dy.as<T>();
    const W factor = static_cast<W>(scale);
    parallel_ranges(threads_, y.shape[0] * y.shape[1], 8, [=](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const T* p = weights + row * columns;
        T* dp = slopes + row * columns;
        W along = 0;
#pragma omp simd reduction(+ : along)
        for (std::int64_t i = 0; i < columns; ++i) along += widen(p[i]) * widen(dp[i]);
#pragma omp simd
        for (std::int64_t i = 0; i < columns; ++i) {
          dp[i] = narrow<T>(factor * widen(p[i]) * (widen(dp[i]) - along));
        }
      }
    });
  });
}

}  // namespace trainbench
