#include <cmath>
#include <limits>

#include "common/core/dispatch.h"
#include "cpu/attention_operands.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/small_product.h"
#include "cpu/vector_math.h"

namespace trainbench {
namespace {

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
  using Unit = typename Operand<T>::Unit;

  Forward(const Extents& extents, double scale, std::byte* workspace)
      : e_(extents),
        length_(padded(e_.width)),
        units_(units_of<T>(e_.width)),
        scale_(static_cast<W>(scale)) {
    Cut cut(workspace);
    keys_ = cut.take<Unit>(e_.tiles() * units_ * kTile);
    values_ = cut.take<Unit>(e_.tiles() * units_of<T>(kTile) * length_);
    query_ = cut.take<Unit>(kTile * units_);
    scores_ = cut.take<W>(kTile * kTile);
    kept_ = cut.take<Unit>(units_of<T>(kTile) * kTile);
    output_ = cut.take<W>(kTile * length_);
    largest_ = cut.take<W>(kTile);
    sum_ = cut.take<W>(kTile);
    workspace_ = cut.bytes();
  }
  /// Bytes.
  std::int64_t workspace() const { return workspace_; }

  void run(const Head& head, const T* qkv, T* y, W* logsum) {
    const std::int64_t stride = 3 * e_.columns();
    pack_terms(qkv + head.in_qkv(e_, 2), stride, e_.steps, e_.width, values_);
    for (std::int64_t tile = 0; tile < e_.tiles(); ++tile) {
      const std::int64_t count = e_.in_tile(tile);
      pack_rows(qkv + head.in_qkv(e_, 1) + tile * kTile * stride, stride, count, e_.width, query_);
      transpose_rows(query_, count, units_, keys_ + tile * units_ * kTile);
    }
    for (std::int64_t tile = 0; tile < e_.tiles(); ++tile) {
      const std::int64_t count = e_.in_tile(tile);
      pack_rows(qkv + head.in_qkv(e_, 0) + tile * kTile * stride, stride, count, e_.width, query_);
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
      const std::int64_t seen = e_.in_tile(key_tile);
      small_product<false>(count, kTile, units_, Strided<Unit>{query_, units_, 1},
                           keys_ + key_tile * units_ * kTile, kTile, scores_, kTile);
      for (std::int64_t row = 0; row < count; ++row) renew(row, e_.visible(tile, row, key_tile));
      small_product<true>(
          count, length_, units_of<T>(seen), score_rows(scores_, count, seen, kept_),
          values_ + key_tile * units_of<T>(kTile) * length_, length_, output_, length_);
    }
  }

  /// Scores of a row become weights relative to the largest so far.
  void renew(std::int64_t row, std::int64_t visible) {
    W* s = scores_ + row * kTile;
    W largest = largest_[row];
#pragma omp simd reduction(max : largest)
    for (std::int64_t j = 0; j < visible; ++j) {
      s[j] *= scale_;
      largest = s[j] > largest ? s[j] : largest;
    }
    W sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t j = 0; j < visible; ++j) {
      s[j] = vector_exp(s[j] - largest);
      sum += s[j];
    }
    std::fill(s + visible, s + kTile, W{0});
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
  std::int64_t length_;  // of a row of values
  std::int64_t units_;   // of a row of queries or keys
  W scale_;
  std::int64_t workspace_;
  Unit* keys_;    // [tiles][units][kTile]: transposed
  Unit* values_;  // [tiles][units of kTile][length]
  Unit* query_;   // [kTile][units]
  W* scores_;     // [kTile][kTile]
  Unit* kept_;    // for score_rows
  W* output_;     // [kTile][length]
  W* largest_;    // [kTile]
  W* sum_;        // [kTile]
};

/// Backward pass of one head after the other, on one thread. For each block of keys it recomputes
/// the weights of all queries that see it.
template <class T>
class Backward {
 public:
  using W = Wide<T>;
  using Unit = typename Operand<T>::Unit;

  Backward(const Extents& extents, double scale, std::byte* workspace)
      : e_(extents),
        length_(padded(e_.width)),
        units_(units_of<T>(e_.width)),
        scale_(static_cast<W>(scale)) {
    Cut cut(workspace);
    const std::int64_t terms = e_.tiles() * units_of<T>(kTile);
    query_ = cut.take<Unit>(e_.steps * units_);
    query_terms_ = cut.take<Unit>(terms * length_);
    doutput_ = cut.take<Unit>(e_.steps * units_);
    doutput_terms_ = cut.take<Unit>(terms * length_);
    dquery_ = cut.take<W>(e_.steps * length_);
    along_ = cut.take<W>(e_.steps);
    key_ = cut.take<Unit>(kTile * units_);
    key_terms_ = cut.take<Unit>(units_of<T>(kTile) * length_);
    key_transposed_ = cut.take<Unit>(units_ * kTile);
    value_transposed_ = cut.take<Unit>(units_ * kTile);
    dkey_ = cut.take<W>(kTile * length_);
    dvalue_ = cut.take<W>(kTile * length_);
    weights_ = cut.take<W>(kTile * kTile);
    dscores_ = cut.take<W>(kTile * kTile);
    kept_ = cut.take<Unit>(units_of<T>(kTile) * kTile);
    workspace_ = cut.bytes();
  }
  /// Bytes.
  std::int64_t workspace() const { return workspace_; }

  void run(const Head& head, const T* qkv, const T* y, const W* logsum, const T* dy, T* dqkv) {
    const std::int64_t stride = 3 * e_.columns();
    pack_rows(qkv + head.in_qkv(e_, 0), stride, e_.steps, e_.width, query_);
    pack_terms(qkv + head.in_qkv(e_, 0), stride, e_.steps, e_.width, query_terms_);
    pack_rows(dy + head.in_rows(e_), e_.columns(), e_.steps, e_.width, doutput_);
    pack_terms(dy + head.in_rows(e_), e_.columns(), e_.steps, e_.width, doutput_terms_);
    sums_along(y + head.in_rows(e_), dy + head.in_rows(e_));
    std::fill_n(dquery_, e_.steps * length_, W{0});
    logsum_ = logsum + head.in_sums(e_);
    for (std::int64_t tile = 0; tile < e_.tiles(); ++tile) {
      const std::int64_t count = e_.in_tile(tile);
      const std::int64_t skipped = tile * kTile * stride;
      pack_rows(qkv + head.in_qkv(e_, 2) + skipped, stride, count, e_.width, key_);
      transpose_rows(key_, count, units_, value_transposed_);
      pack_rows(qkv + head.in_qkv(e_, 1) + skipped, stride, count, e_.width, key_);
      transpose_rows(key_, count, units_, key_transposed_);
      pack_terms(qkv + head.in_qkv(e_, 1) + skipped, stride, count, e_.width, key_terms_);
      keys(tile);
      for (std::int64_t row = 0; row < count; ++row) {
        scale(dkey_ + row * length_);
        narrow(dkey_ + row * length_, dqkv + head.in_qkv(e_, 1) + skipped + row * stride, e_.width);
        narrow(dvalue_ + row * length_, dqkv + head.in_qkv(e_, 2) + skipped + row * stride,
               e_.width);
      }
    }
    for (std::int64_t row = 0; row < e_.steps; ++row) {
      scale(dquery_ + row * length_);
      narrow(dquery_ + row * length_, dqkv + head.in_qkv(e_, 0) + row * stride, e_.width);
    }
  }

 private:
  void scale(W* row) const {
#pragma omp simd
    for (std::int64_t j = 0; j < e_.width; ++j) row[j] *= scale_;
  }

  /// The products of y and dy along each row, which is what softmax's gradient subtracts.
  void sums_along(const T* y, const T* dy) {
    Elements<T> values, slopes;
    for (std::int64_t row = 0; row < e_.steps; ++row) {
      W sum = 0;
      for (std::int64_t first = 0; first < e_.width; first += kBlock) {
        const std::int64_t count = std::min(kBlock, e_.width - first);
        const std::int64_t skipped = row * e_.columns() + first;
        const typename Elements<T>::Reader left = values.read(y + skipped, count);
        const typename Elements<T>::Reader right = slopes.read(dy + skipped, count);
#pragma omp simd reduction(+ : sum)
        for (std::int64_t j = 0; j < count; ++j) sum += left[j] * right[j];
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
      const std::int64_t first = query_tile * kTile * units_;
      const std::int64_t term = query_tile * units_of<T>(kTile) * length_;
      small_product<false>(rows, kTile, units_, Strided<Unit>{query_ + first, units_, 1},
                           key_transposed_, kTile, weights_, kTile);
      small_product<false>(rows, kTile, units_, Strided<Unit>{doutput_ + first, units_, 1},
                           value_transposed_, kTile, dscores_, kTile);
      for (std::int64_t row = 0; row < rows; ++row) {
        differentiate(query_tile * kTile + row, row, e_.visible(query_tile, row, tile));
      }
      small_product<true>(count, length_, units_of<T>(rows), score_columns(weights_, rows, kept_),
                          doutput_terms_ + term, length_, dvalue_, length_);
      small_product<true>(count, length_, units_of<T>(rows), score_columns(dscores_, rows, kept_),
                          query_terms_ + term, length_, dkey_, length_);
      small_product<true>(rows, length_, units_of<T>(count),
                          score_rows(dscores_, rows, count, kept_), key_terms_, length_,
                          dquery_ + query_tile * kTile * length_, length_);
    }
  }

  /// Scores of a row become weights, and the weights' gradients those of the scores.
  void differentiate(std::int64_t query, std::int64_t row, std::int64_t visible) {
    W* weights = weights_ + row * kTile;
    W* slopes = dscores_ + row * kTile;
    const W logsum = logsum_[query];
    const W along = along_[query];
#pragma omp simd
    for (std::int64_t j = 0; j < visible; ++j) {
      weights[j] = vector_exp(scale_ * weights[j] - logsum);
      slopes[j] = weights[j] * (slopes[j] - along);
    }
    std::fill(weights + visible, weights + kTile, W{0});
    std::fill(slopes + visible, slopes + kTile, W{0});
  }

  Extents e_;
  std::int64_t length_;  // of a row of sums
  std::int64_t units_;   // of a row over the width
  W scale_;
  std::int64_t workspace_;
  Unit* query_;             // [steps][units]
  Unit* query_terms_;       // [tiles][units of kTile][length]
  Unit* doutput_;           // [steps][units]
  Unit* doutput_terms_;     // [tiles][units of kTile][length]
  W* dquery_;               // [steps][length]
  W* along_;                // [steps]
  Unit* key_;               // [kTile][units]
  Unit* key_terms_;         // [units of kTile][length]
  Unit* key_transposed_;    // [units][kTile]
  Unit* value_transposed_;  // [units][kTile]
  W* dkey_;                 // [kTile][length]
  W* dvalue_;               // [kTile][length]
  W* weights_;              // [kTile][kTile]
  W* dscores_;              // [kTile][kTile]
  Unit* kept_;              // for score_rows and score_columns
  const W* logsum_ = nullptr;
};

/// Runs a pass over all heads of all samples, in parallel, each thread in a workspace of its own.
template <template <class> class Pass, class T, class... Operands>
void over_heads(int threads, Arena& arena, const Extents& e, double scale, Operands... operands) {
  const std::int64_t heads = e.batch * e.heads;
  const std::int64_t own = Pass<T>(e, scale, nullptr).workspace();
  const int parts = parts_of(threads, heads, 1);
  auto* const workspace =
      static_cast<std::byte*>(arena.scratch(Scratch::pass, static_cast<std::size_t>(parts * own)));
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
