#include <algorithm>
#include <type_traits>

#include "common/core/dispatch.h"
#include "cpu/activations.h"
#include "cpu/cpu_backend.h"
#include "cpu/epilogue.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

/// The epilogue on one block of a row, by element type.
template <class T>
class BlockEpilogue {
 public:
  BlockEpilogue(const void* product, bool accumulate, Tensor c, const MatmulEpilogue& epilogue)
      : product_(static_cast<const Wide<T>*>(product)),
        c_(c.as<T>()),
        in_place_(product == c.data),
        accumulate_(accumulate),
        epilogue_(epilogue),
        bias_(epilogue.bias.absent() ? nullptr : epilogue.bias.as<T>()),
        bias_rows_(bias_ == nullptr ? 1 : rows_of_group(c, epilogue.bias)),
        columns_(c.shape[1]) {}

  /// `count` elements of a row from `column` on.
  void apply(std::int64_t row, std::int64_t column, std::int64_t count) const {
    const std::int64_t offset = row * columns_ + column;
    Block<T> c_block;
    Wide<T>* x = gather(c_block, offset, count);
    if (bias_ != nullptr) {
      Block<T> bias_block;
      const Wide<T>* bias = bias_block.read(bias_ + row / bias_rows_ * columns_ + column, count);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) x[i] += bias[i];
    }
    activate(x, offset, count);
    differentiate(x, offset, count);
    c_block.store(c_ + offset, count);
  }

 private:
  Wide<T>* gather(Block<T>& block, std::int64_t offset, std::int64_t count) const {
    if (in_place_) return block.load(c_ + offset, count);
    const Wide<T>* product = product_ + offset;
    if (accumulate_) {
      Wide<T>* x = block.load(c_ + offset, count);
#pragma omp simd
      for (std::int64_t i = 0; i < count; ++i) x[i] += product[i];
      return x;
    }
    Wide<T>* x = block.target(c_ + offset);
    std::copy(product, product + count, x);
    return x;
  }

  void activate(Wide<T>* x, std::int64_t offset, std::int64_t count) const {
    const Tensor& saved = epilogue_.saved;
    if (epilogue_.activation == Activation::relu) {
      relu_forward(x, saved.absent() ? nullptr : saved.as<std::uint8_t>() + offset, count);
    } else if (keeps_input(epilogue_.activation)) {
      if (!saved.absent()) write(saved.as<T>() + offset, x, count);
      if (epilogue_.activation == Activation::gelu) {
        Gelu<Wide<T>>::forward(x, count);
      } else {
        Silu<Wide<T>>::forward(x, count);
      }
    }
  }

  void differentiate(Wide<T>* x, std::int64_t offset, std::int64_t count) const {
    const ConstTensor& saved = epilogue_.gradient_saved;
    if (epilogue_.gradient_of == Activation::relu) {
      relu_backward(saved.as<std::uint8_t>() + offset, x, count);
    } else if (keeps_input(epilogue_.gradient_of)) {
      Block<T> block;
      const Wide<T>* input = block.read(saved.as<T>() + offset, count);
      if (epilogue_.gradient_of == Activation::gelu) {
        Gelu<Wide<T>>::backward(input, x, count);
      } else {
        Silu<Wide<T>>::backward(input, x, count);
      }
    }
  }

  static void write(T* to, const Wide<T>* from, std::int64_t count) {
    if constexpr (Block<T>::kDirect) {
      std::copy(from, from + count, to);
    } else {
      convert(from, to, count);
    }
  }

  const Wide<T>* product_;
  T* c_;
  bool in_place_;
  bool accumulate_;
  const MatmulEpilogue& epilogue_;
  const T* bias_;
  std::int64_t bias_rows_;  // rows of c that share a row of the bias
  std::int64_t columns_;
};

void require_epilogue(const Tensor& c, const MatmulEpilogue& e) {
  require(c.shape.rank() == 2, "an epilogue works on a matrix");
  require(e.bias.absent() || e.bias.dtype == c.dtype,
          "a bias has the dtype of what it is added to");
  require(e.saved.absent() || e.saved.elements() == c.elements(),
          "an activation saves one element for each of its own");
  require(e.gradient_of == Activation::none || e.gradient_saved.elements() == c.elements(),
          "a saved activation fits the gradient");
}

/// Calls `kernel(from, to)` with typed pointers to a matrix and its sums.
template <class Kernel>
void with_sums(ConstTensor x, Tensor sums, const Kernel& kernel) {
  dispatch_float(x.dtype, [&](auto tag) {
    dispatch_float(sums.dtype, [&](auto sum_tag) {
      kernel(x.as<typename decltype(tag)::type>(), sums.as<typename decltype(sum_tag)::type>());
    });
  });
}

/// What a pointer points to.
template <class Pointer>
using Element = std::remove_cv_t<std::remove_pointer_t<Pointer>>;

}  // namespace

void apply_epilogue(int threads, const void* product, bool accumulate, Tensor c,
                    const MatmulEpilogue& epilogue) {
  require_epilogue(c, epilogue);
  dispatch_float(c.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const BlockEpilogue<T> kernel(product, accumulate, c, epilogue);
    const std::int64_t columns = c.shape[1];
    const std::int64_t grain =
        std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, columns));
    parallel_ranges(threads, c.shape[0], grain, [&kernel, columns](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        for (std::int64_t column = 0; column < columns; column += kBlock) {
          kernel.apply(row, column, std::min(kBlock, columns - column));
        }
      }
    });
  });
}

void column_sums(int threads, ConstTensor x, Tensor sums) {
  const std::int64_t rows = rows_of_group(x, sums);
  const std::int64_t columns = x.shape[1];
  // Two or more cache lines of sums, so that threads do not share one.
  constexpr std::int64_t kPart = 64;
  const std::int64_t parts = (columns + kPart - 1) / kPart;
  const std::int64_t groups = x.shape[0] / rows;
  with_sums(x, sums, [=](const auto* from, auto* to) {
    using T = Element<decltype(from)>;
    const auto add_up = [=](std::int64_t group, std::int64_t first, std::int64_t count) {
      alignas(64) Wide<T> total[kBlock] = {};
      Elements<T> block;
      for (std::int64_t row = group * rows; row < (group + 1) * rows; ++row) {
        const auto values = block.read(from + row * columns + first, count);
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) total[i] += values[i];
      }
      for (std::int64_t i = 0; i < count; ++i) {
        to[group * columns + first + i] = narrow<Element<decltype(to)>>(total[i]);
      }
    };
    // Each thread has its own columns of its own groups and adds their rows in order.
    parallel_ranges(threads, groups * parts, 1, [=](Range part) {
      while (part.first < part.last) {
        const std::int64_t group = part.first / parts;
        const std::int64_t last =
            std::min({part.last, (group + 1) * parts, part.first + kBlock / kPart});
        const std::int64_t first = part.first % parts * kPart;
        add_up(group, first, std::min((last - part.first) * kPart, columns - first));
        part.first = last;
      }
    });
  });
}

void row_sums(int threads, ConstTensor x, Tensor sums) {
  require(x.shape.rank() == 2 && sums.elements() == x.shape[0], "one sum for each row");
  const std::int64_t columns = x.shape[1];
  with_sums(x, sums, [=](const auto* from, auto* to) {
    using T = Element<decltype(from)>;
    parallel_ranges(threads, x.shape[0], 16, [=](Range rows) {
      Elements<T> block;
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        Wide<T> total = 0;
        for (std::int64_t column = 0; column < columns; column += kBlock) {
          const std::int64_t count = std::min(kBlock, columns - column);
          const auto values = block.read(from + row * columns + column, count);
          Wide<T> part = 0;
#pragma omp simd reduction(+ : part)
          for (std::int64_t i = 0; i < count; ++i) part += values[i];
          total += part;
        }
        to[row] = narrow<Element<decltype(to)>>(total);
      }
    });
  });
}

Tensor CpuBackend::allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                                  DType dtype) {
  if (activation == Activation::none) return {};
  const DType kept = activation == Activation::relu ? DType::u8 : dtype;
  return allocate(Shape{m, n}, kept, MemoryKind::activations);
}

void CpuBackend::add_bias(Tensor x, ConstTensor bias) {
  apply_epilogue(threads_, x.data, false, x, {.bias = bias});
}

void CpuBackend::activation_forward(Activation activation, Tensor x, Tensor saved) {
  apply_epilogue(threads_, x.data, false, x, {.activation = activation, .saved = saved});
}

void CpuBackend::activation_backward(Activation activation, ConstTensor saved, Tensor dx) {
  apply_epilogue(threads_, dx.data, false, dx,
                 {.gradient_of = activation, .gradient_saved = saved});
}

void CpuBackend::bias_gradient(ConstTensor dy, Tensor db) { column_sums(threads_, dy, db); }

void CpuBackend::add(ConstTensor a, ConstTensor b, Tensor y) {
  require(a.elements() == y.elements() && b.elements() == y.elements() && a.dtype == y.dtype &&
              b.dtype == y.dtype,
          "a sum has its terms' elements and dtype");
  dispatch_float(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* left = a.as<T>();
    const T* right = b.as<T>();
    T* sum = y.as<T>();
    parallel_ranges(threads_, y.elements(), kGrain, [=](Range range) {
      Elements<T> left_block;
      Elements<T> right_block;
      Elements<T> sum_block;
      for (std::int64_t i = range.first; i < range.last; i += kBlock) {
        const std::int64_t count = std::min(kBlock, range.last - i);
        const auto first = left_block.read(left + i, count);
        const auto second = right_block.read(right + i, count);
        const auto result = sum_block.target(sum + i);
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) result[j] = first[j] + second[j];
        sum_block.store(sum + i, count);
      }
    });
  });
}

}  // namespace trainbench
