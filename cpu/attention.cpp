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

/// Queries and keys of a block: scores of a block lie in the L1 cache.
constexpr std::int64_t kTile = 64;

struct Extents {
  std::int64_t batch;
  std::int64_t steps;
  std::int64_t heads;
  std::int64_t width;  ///< of a head
  bool causal;

  std::int64_t columns() const { return heads * width; }
  std::int64_t tiles() const { return (steps + kTile - 1) / kTile; }
  /// Queries, or keys, of a tile.
  std::int64_t in_tile(std::int64_t tile) const { return std::min(kTile, steps - tile * kTile); }
  /// Keys of `key_tile` that query `row` of `query_tile` sees; the first ones.
  std::int64_t visible(std::int64_t query_tile, std::int64_t row, std::int64_t key_tile) const {
    return causal && key_tile == query_tile ? row + 1 : in_tile(key_tile);
  }
};

Extents extents_of(const AttentionOptions& options, const ConstTensor& qkv, const ConstTensor& y) {
  require(qkv.shape.rank() == 3 && y.elements() * 3 == qkv.elements(),
          "attention reads q, k and v of [b, t, n] from rows of 3n");
  const std::int64_t columns = qkv.shape[2] / 3;
  require(columns % options.heads == 0, "heads have equal widths");
  return {qkv.shape[0], qkv.shape[1], options.heads, columns / options.heads, options.causal};
}

/// Hands out parts of a thread's workspace; counts only, where there is none yet.
template <class W>
class Cut {
 public:
  explicit Cut(W* start) : start_(start) {}
  W* take(std::int64_t count) {
    W* const part = start_ == nullptr ? nullptr : start_ + used_;
    used_ += padded(count);
    return part;
  }
  std::int64_t used() const { return used_; }

 private:
  W* start_;
  std::int64_t used_ = 0;
};

/// Rows [count][padded(width)] from rows of storage that are `stride` apart, times `factor`.
template <class T>
void pack_rows(const T* from, std::int64_t stride, std::int64_t count, std::int64_t width,
               Wide<T> factor, Wide<T>* to) {
  const std::int64_t row_length = padded(width);
  for (std::int64_t i = 0; i < count; ++i) {
    Wide<T>* row = to + i * row_length;
    widen(from + i * stride, row, width);
    std::fill(row + width, row + row_length, Wide<T>{0});
    if (factor == Wide<T>{1}) continue;
#pragma omp simd
    for (std::int64_t j = 0; j < width; ++j) row[j] *= factor;
  }
}

/// The transpose of packed rows, [width][kTile], zero where there are no rows.
template <class W>
void transpose_tile(const W* rows, std::int64_t count, std::int64_t width, W* to) {
  const std::int64_t row_length = padded(width);
  for (std::int64_t j = 0; j < width; ++j) {
    W* column = to + j * kTile;
    for (std::int64_t i = 0; i < count; ++i) column[i] = rows[i * row_length + j];
    std::fill(column + count, column + kTile, W{0});
  }
}

/// One sample's head: where its rows lie in the tensors.
struct Head {
  std::int64_t sample;
  std::int64_t head;

  std::int64_t in_qkv(const Extents& e, std::int64_t part) const {
    return (sample * e.steps * 3 + part) * e.columns() + head * e.width;
  }
  std::int64_t in_rows(const Extents& e) const {
    return sample * e.steps * e.columns() + head * e.width;
  }
  std::int64_t in_sums(const Extents& e) const { return (sample * e.heads + head) * e.steps; }
};

/// Forward pass of one head after the other, on one thread, with the softmax of a row renewed as
/// its blocks of keys arrive (Milakov and Gimelshein, arXiv 1805.02867).
template <class T>
class Forward {
 public:
  using W = Wide<T>;

  Forward(const Extents& extents, double scale, W* workspace)
      : e_(extents), length_(padded(e_.width)), scale_(static_cast<W>(scale)), cut_(workspace) {
    keys_ = cut_.take(e_.tiles() * e_.width * kTile);
    values_ = cut_.take(e_.steps * length_);
    query_ = cut_.take(kTile * length_);
    scores_ = cut_.take(kTile * kTile);
    output_ = cut_.take(kTile * length_);
    largest_ = cut_.take(kTile);
    sum_ = cut_.take(kTile);
  }
  std::int64_t workspace() const { return cut_.used(); }

  void run(const Head& head, const T* qkv, T* y, W* logsum) {
    const std::int64_t stride = 3 * e_.columns();
    pack_rows(qkv + head.in_qkv(e_, 2), stride, e_.steps, e_.width, W{1}, values_);
    for (std::int64_t tile = 0; tile < e_.tiles(); ++tile) {
      const std::int64_t count = e_.in_tile(tile);
      pack_rows(qkv + head.in_qkv(e_, 1) + tile * kTile * stride, stride, count, e_.width, W{1},
                query_);
      transpose_tile(query_, count, e_.width, keys_ + tile * e_.width * kTile);
    }
    for (std::int64_t tile = 0; tile < e_.tiles(); ++tile) {
      const std::int64_t count = e_.in_tile(tile);
      pack_rows(qkv + head.in_qkv(e_, 0) + tile * kTile * stride, stride, count, e_.width, scale_,
                query_);
      queries(tile);
      finish(count, y + head.in_rows(e_) + tile * kTile * e_.columns(),
             logsum + head.in_sums(e_) + tile * kTile);
    }
  }

 private:
  void queries(std::int64_t tile) {
    const std::int64_t count = e_.in_tile(tile);
    std::fill_n(largest_, count, -std::numeric_limits<W>::infinity());
    std::fill_n(sum_, count, W{0});
    std::fill_n(output_, count * length_, W{0});
    const std::int64_t last = e_.causal ? tile : e_.tiles() - 1;
    for (std::int64_t key_tile = 0; key_tile <= last; ++key_tile) {
      small_product<false>(count, kTile, e_.width, Strided<W>{query_, length_, 1},
                           keys_ + key_tile * e_.width * kTile, kTile, scores_, kTile);
      for (std::int64_t row = 0; row < count; ++row) {
        renew(row, e_.visible(tile, row, key_tile), e_.in_tile(key_tile));
      }
      small_product<true>(count, length_, e_.in_tile(key_tile), Strided<W>{scores_, kTile, 1},
                          values_ + key_tile * kTile * length_, length_, output_, length_);
    }
  }

  /// Scores of a row become weights relative to the largest so far.
  void renew(std::int64_t row, std::int64_t visible, std::int64_t count) {
    W* s = scores_ + row * kTile;
    W largest = largest_[row];
#pragma omp simd reduction(max : largest)
    for (std::int64_t j = 0; j < visible; ++j) largest = s[j] > largest ? s[j] : largest;
    W sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < visible; ++j) {
      s[j] = vector_exp(s[j] - largest);
      sum += s[j];
    }
    std::fill(s + visible, s + count, W{0});
    if (largest > largest_[row]) {
      const W factor = vector_exp(largest_[row] - largest);
      sum_[row] *= factor;
      W* output = output_ + row * length_;
#pragma omp simd
      for (std::int64_t j = 0; j < length_; ++j) output[j] *= factor;
      largest_[row] = largest;
    }
    sum_[row] += sum;
  }

  void finish(std::int64_t count, T* y, W* logsum) {
    for (std::int64_t row = 0; row < count; ++row) {
      W* output = output_ + row * length_;
      const W inverse = W{1} / sum_[row];
#pragma omp simd
      for (std::int64_t j = 0; j < e_.width; ++j) output[j] *= inverse;
      narrow(output, y + row * e_.columns(), e_.width);
      logsum[row] = largest_[row] + std::log(sum_[row]);
    }
  }

  Extents e_;
  std::int64_t length_;  // of a packed row
  W scale_;
  Cut<W> cut_;
  W* keys_;     // [tiles][width][kTile]: transposed
  W* values_;   // [steps][length]
  W* query_;    // [kTile][length]
  W* scores_;   // [kTile][kTile]
  W* output_;   // [kTile][length]
  W* largest_;  // [kTile]
  W* sum_;      // [kTile]
};

/// Backward pass of one head after the other, on one thread. For each block of keys it recomputes
/// the weights of all queries that see it.
template <class T>
class Backward {
 public:
  using W = Wide<T>;

  Backward(const Extents& extents, double scale, W* workspace)
      : e_(extents), length_(padded(e_.width)), scale_(static_cast<W>(scale)), cut_(workspace) {
    query_ = cut_.take(e_.steps * length_);
    doutput_ = cut_.take(e_.steps * length_);
    dquery_ = cut_.take(e_.steps * length_);
    along_ = cut_.take(e_.steps);
    key_ = cut_.take(kTile * length_);
    key_transposed_ = cut_.take(e_.width * kTile);
    value_transposed_ = cut_.take(e_.width * kTile);
    dkey_ = cut_.take(kTile * length_);
    dvalue_ = cut_.take(kTile * length_);
    weights_ = cut_.take(kTile * kTile);
    dscores_ = cut_.take(kTile * kTile);
  }
  std::int64_t workspace() const { return cut_.used(); }

  void run(const Head& head, const T* qkv, const T* y, const W* logsum, const T* dy, T* dqkv) {
    const std::int64_t stride = 3 * e_.columns();
    pack_rows(qkv + head.in_qkv(e_, 0), stride, e_.steps, e_.width, scale_, query_);
    pack_rows(dy + head.in_rows(e_), e_.columns(), e_.steps, e_.width, W{1}, doutput_);
    sums_along(y + head.in_rows(e_));
    std::fill_n(dquery_, e_.steps * length_, W{0});
    logsum_ = logsum + head.in_sums(e_);
    for (std::int64_t tile = 0; tile < e_.tiles(); ++tile) {
      const std::int64_t count = e_.in_tile(tile);
      const std::int64_t skipped = tile * kTile * stride;
      pack_rows(qkv + head.in_qkv(e_, 2) + skipped, stride, count, e_.width, W{1}, key_);
      transpose_tile(key_, count, e_.width, value_transposed_);
      pack_rows(qkv + head.in_qkv(e_, 1) + skipped, stride, count, e_.width, W{1}, key_);
      transpose_tile(key_, count, e_.width, key_transposed_);
      keys(tile);
      for (std::int64_t row = 0; row < count; ++row) {
        narrow(dkey_ + row * length_, dqkv + head.in_qkv(e_, 1) + skipped + row * stride, e_.width);
        narrow(dvalue_ + row * length_, dqkv + head.in_qkv(e_, 2) + skipped + row * stride,
               e_.width);
      }
    }
    for (std::int64_t row = 0; row < e_.steps; ++row) {
      W* dquery = dquery_ + row * length_;
#pragma omp simd
      for (std::int64_t j = 0; j < e_.width; ++j) dquery[j] *= scale_;
      narrow(dquery, dqkv + head.in_qkv(e_, 0) + row * stride, e_.width);
    }
  }

 private:
  /// The products of y and dy along each row, which is what softmax's gradient subtracts.
  void sums_along(const T* y) {
    W* row_values = weights_;
    for (std::int64_t row = 0; row < e_.steps; ++row) {
      W sum = 0;
      for (std::int64_t first = 0; first < e_.width; first += kTile * kTile) {
        const std::int64_t count = std::min(kTile * kTile, e_.width - first);
        widen(y + row * e_.columns() + first, row_values, count);
        const W* slopes = doutput_ + row * length_ + first;
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = 0; j < count; ++j) sum += row_values[j] * slopes[j];
      }
      along_[row] = sum;
    }
  }

  void keys(std::int64_t tile) {
    const std::int64_t count = e_.in_tile(tile);
    std::fill_n(dkey_, count * length_, W{0});
    std::fill_n(dvalue_, count * length_, W{0});
    for (std::int64_t query_tile = e_.causal ? tile : 0; query_tile < e_.tiles(); ++query_tile) {
      const std::int64_t rows = e_.in_tile(query_tile);
      const std::int64_t first = query_tile * kTile * length_;
      small_product<false>(rows, kTile, e_.width, Strided<W>{query_ + first, length_, 1},
                           key_transposed_, kTile, weights_, kTile);
      small_product<false>(rows, kTile, e_.width, Strided<W>{doutput_ + first, length_, 1},
                           value_transposed_, kTile, dscores_, kTile);
      for (std::int64_t row = 0; row < rows; ++row) {
        differentiate(query_tile * kTile + row, row, e_.visible(query_tile, row, tile), count);
      }
      small_product<true>(count, length_, rows, Strided<W>{weights_, 1, kTile}, doutput_ + first,
                          length_, dvalue_, length_);
      small_product<true>(count, length_, rows, Strided<W>{dscores_, 1, kTile}, query_ + first,
                          length_, dkey_, length_);
      small_product<true>(rows, length_, count, Strided<W>{dscores_, kTile, 1}, key_, length_,
                          dquery_ + first, length_);
    }
  }

  /// Scores of a row become weights, and the weights' gradients those of the scores.
  void differentiate(std::int64_t query, std::int64_t row, std::int64_t visible,
                     std::int64_t count) {
    W* weights = weights_ + row * kTile;
    W* slopes = dscores_ + row * kTile;
    const W logsum = logsum_[query];
    const W along = along_[query];
#pragma omp simd
    for (std::int64_t j = 0; j < visible; ++j) {
      weights[j] = vector_exp(weights[j] - logsum);
      slopes[j] = weights[j] * (slopes[j] - along);
    }
    std::fill(weights + visible, weights + count, W{0});
    std::fill(slopes + visible, slopes + count, W{0});
  }

  Extents e_;
  std::int64_t length_;  // of a packed row
  W scale_;
  Cut<W> cut_;
  W* query_;             // [steps][length], times the scale
  W* doutput_;           // [steps][length]
  W* dquery_;            // [steps][length]
  W* along_;             // [steps]
  W* key_;               // [kTile][length]
  W* key_transposed_;    // [width][kTile]
  W* value_transposed_;  // [width][kTile]
  W* dkey_;              // [kTile][length]
  W* dvalue_;            // [kTile][length]
  W* weights_;           // [kTile][kTile]
  W* dscores_;           // [kTile][kTile]
  const W* logsum_ = nullptr;
};

/// Runs a pass over all heads of all samples, in parallel, each thread in a workspace of its own.
template <template <class> class Pass, class T, class... Operands>
void over_heads(int threads, Arena& arena, const Extents& e, double scale, Operands... operands) {
  using W = Wide<T>;
  const std::int64_t heads = e.batch * e.heads;
  const std::int64_t own = Pass<T>(e, scale, nullptr).workspace();
  const int parts = parts_of(threads, heads, 1);
  W* const workspace = static_cast<W*>(
      arena.scratch(Scratch::pass, static_cast<std::size_t>(parts * own) * sizeof(W)));
  parallel_parts(threads, heads, 1, [=](int part, Range range) {
    Pass<T> pass(e, scale, workspace + part * own);
    for (std::int64_t i = range.first; i < range.last; ++i) {
      pass.run(Head{i / e.heads, i % e.heads}, operands...);
    }
  });
}

}  // namespace

void CpuBackend::attention(const AttentionOptions& options, ConstTensor qkv, Tensor y,
                           Tensor logsum, MathMode) {
  const Extents e = extents_of(options, qkv, y);
  dispatch_float(qkv.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_heads<Forward, T>(threads_, arena_, e, options.scale, qkv.as<T>(), y.as<T>(),
                           logsum.as<Wide<T>>());
  });
}

void CpuBackend::attention_backward(const AttentionOptions& options, ConstTensor qkv, ConstTensor y,
                                    ConstTensor logsum, ConstTensor dy, Tensor dqkv, MathMode) {
  const Extents e = extents_of(options, qkv, y);
  dispatch_float(qkv.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    over_heads<Backward, T>(threads_, arena_, e, options.scale, qkv.as<T>(), y.as<T>(),
                            logsum.as<Wide<T>>(), dy.as<T>(), dqkv.as<T>());
  });
}

}  // namespace trainbench
