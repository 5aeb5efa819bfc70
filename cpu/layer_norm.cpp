#include <cmath>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

/// Rows that are worth a thread's wake-up.
constexpr std::int64_t kRows = 8;

/// Calls body(first, count) on blocks of a row.
template <class Body>
void in_blocks(std::int64_t columns, const Body& body) {
  for (std::int64_t first = 0; first < columns; first += kBlock) {
    body(first, std::min(kBlock, columns - first));
  }
}

/// x += residual where there is one; the sum of x as it is stored.
template <class T>
Wide<T> add_and_sum(T* x, const T* residual, std::int64_t columns) {
  Wide<T> total = 0;
  in_blocks(columns, [&](std::int64_t first, std::int64_t count) {
    Elements<T> x_block, residual_block;
    if (residual != nullptr) {
      const auto values = x_block.load(x + first, count);
      const auto more = residual_block.read(residual + first, count);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) values[i] += more[i];
      x_block.store(x + first, count);
    }
    const auto values = x_block.read(x + first, count);
    Wide<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) sum += values[i];
    total += sum;
  });
  return total;
}

template <class T>
Wide<T> squares_about(const T* x, Wide<T> mean, std::int64_t columns) {
  Wide<T> total = 0;
  in_blocks(columns, [&](std::int64_t first, std::int64_t count) {
    Elements<T> block;
    const auto values = block.read(x + first, count);
    Wide<T> sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t i = 0; i < count; ++i) sum += (values[i] - mean) * (values[i] - mean);
    total += sum;
  });
  return total;
}

/// y = (x - mean) inverse gamma + beta.
template <class T>
void normalise(const T* x, Wide<T> mean, Wide<T> inverse, const T* gamma, const T* beta, T* y,
               std::int64_t columns) {
  in_blocks(columns, [&](std::int64_t first, std::int64_t count) {
    Elements<T> x_block, gamma_block, beta_block, y_block;
    const auto values = x_block.read(x + first, count);
    const auto scale = gamma_block.read(gamma + first, count);
    const auto shift = beta_block.read(beta + first, count);
    const auto result = y_block.target(y + first);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      result[i] = (values[i] - mean) * inverse * scale[i] + shift[i];
    }
    y_block.store(y + first, count);
  });
}

/// The backward pass of a thread's rows. `gamma`, `dgamma` and `dbeta` are its own, [columns].
template <class T>
class Backward {
 public:
  using W = Wide<T>;

  Backward(std::int64_t columns, W* workspace)
      : columns_(columns),
        gamma_(workspace),
        dgamma_(workspace + columns),
        dbeta_(workspace + 2 * columns) {}

  void start(const T* gamma) {
    widen(gamma, gamma_, columns_);
    std::fill_n(dgamma_, 2 * columns_, W{0});
  }

  void row(const T* x, const T* dy, W mean, W inverse, const T* dresidual, T* dx) {
    W total = 0;
    W along = 0;
    in_blocks(columns_, [&](std::int64_t first, std::int64_t count) {
      Elements<T> x_block, dy_block;
      const auto values = x_block.read(x + first, count);
      const auto slopes = dy_block.read(dy + first, count);
      const W* gamma = gamma_ + first;
      W* dgamma = dgamma_ + first;
      W* dbeta = dbeta_ + first;
      W sum = 0;
      W product = 0;
#pragma omp simd reduction(+ : sum, product)
      for (std::int64_t i = 0; i < count; ++i) {
        const W normal = (values[i] - mean) * inverse;
        const W slope = slopes[i] * gamma[i];
        dgamma[i] += slopes[i] * normal;
        dbeta[i] += slopes[i];
        sum += slope;
        product += slope * normal;
      }
      total += sum;
      along += product;
    });
    gradient(x, dy, mean, inverse, total / static_cast<W>(columns_),
             along / static_cast<W>(columns_), dresidual, dx);
  }

 private:
  /// dx = inverse (dy gamma - level - normal along) + dresidual.
  void gradient(const T* x, const T* dy, W mean, W inverse, W level, W along, const T* dresidual,
                T* dx) {
    in_blocks(columns_, [&](std::int64_t first, std::int64_t count) {
      Elements<T> x_block, dy_block, dx_block, residual_block;
      const auto values = x_block.read(x + first, count);
      const auto slopes = dy_block.read(dy + first, count);
      const W* gamma = gamma_ + first;
      const auto result = dx_block.target(dx + first);
      const auto slope = [=](std::int64_t i) {
        return inverse * (slopes[i] * gamma[i] - level - (values[i] - mean) * inverse * along);
      };
      if (dresidual == nullptr) {
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) result[i] = slope(i);
      } else {
        const auto more = residual_block.read(dresidual + first, count);
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) result[i] = slope(i) + more[i];
      }
      dx_block.store(dx + first, count);
    });
  }

  std::int64_t columns_;
  W* gamma_;
  W* dgamma_;
  W* dbeta_;
};

}  // namespace

void CpuBackend::layer_norm(double epsilon, Tensor x, ConstTensor residual,
                            const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y) {
  require(x.shape.rank() == 2 && y.shape == x.shape, "a layer norm works on the rows of a matrix");
  const std::int64_t columns = x.shape[1];
  require(weights.gamma.elements() == columns && weights.beta.elements() == columns,
          "a layer norm has a weight and a bias for each column");
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    T* from = x.as<T>();
    const T* more = residual.absent() ? nullptr : residual.as<T>();
    const T* gamma = weights.gamma.as<T>();
    const T* beta = weights.beta.as<T>();
    W* means = mean.as<W>();
    W* inverses = inverse.as<W>();
    T* to = y.as<T>();
    parallel_ranges(threads_, x.shape[0], kRows, [=](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        T* values = from + row * columns;
        const auto count = static_cast<W>(columns);
        const W sum =
            add_and_sum(values, more == nullptr ? nullptr : more + row * columns, columns);
        means[row] = sum / count;
        const W variance = squares_about(values, means[row], columns) / count;
        inverses[row] = W{1} / std::sqrt(variance + static_cast<W>(epsilon));
        normalise(values, means[row], inverses[row], gamma, beta, to + row * columns, columns);
      }
    });
  });
}

void CpuBackend::layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma,
                                     ConstTensor mean, ConstTensor inverse, ConstTensor dresidual,
                                     Tensor dx, const NormGradients& gradients) {
  require(x.shape.rank() == 2 && dx.shape == x.shape, "a layer norm works on the rows of a matrix");
  const std::int64_t rows = x.shape[0];
  const std::int64_t columns = x.shape[1];
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T* from = x.as<T>();
    const T* slopes = dy.as<T>();
    const T* scale = gamma.as<T>();
    const W* means = mean.as<W>();
    const W* inverses = inverse.as<W>();
    const T* more = dresidual.absent() ? nullptr : dresidual.as<T>();
    T* to = dx.as<T>();
    const int parts = parts_of(threads_, rows, kRows);
    W* workspace = static_cast<W*>(
        arena_.scratch(Scratch::pass, static_cast<std::size_t>(parts * 3 * columns) * sizeof(W)));
    parallel_parts(threads_, rows, kRows, [=](int part, Range range) {
      Backward<T> backward(columns, workspace + part * 3 * columns);
      backward.start(scale);
      for (std::int64_t row = range.first; row < range.last; ++row) {
        const std::int64_t first = row * columns;
        backward.row(from + first, slopes + first, means[row], inverses[row],
                     more == nullptr ? nullptr : more + first, to + first);
      }
    });
    W* dgamma = gradients.gamma.as<W>();
    W* dbeta = gradients.beta.as<W>();
    parallel_ranges(threads_, columns, kGrain / 8, [=](Range range) {
      for (std::int64_t i = range.first; i < range.last; ++i) dgamma[i] = dbeta[i] = 0;
      for (int part = 0; part < parts; ++part) {
        const W* own = workspace + part * 3 * columns;
        for (std::int64_t i = range.first; i < range.last; ++i) {
          dgamma[i] += own[columns + i];
          dbeta[i] += own[2 * columns + i];
        }
      }
    });
  });
}

}  // namespace trainbench
