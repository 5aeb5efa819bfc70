#include "gpu/activations.cuh"
#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

std::int64_t rows_of(const ConstTensor& x) {
  require(x.shape.rank() == 2, "a matrix is needed");
  return x.shape[0];
}
std::int64_t columns_of(const ConstTensor& x) { return x.shape[1]; }

// ---- Bias
// ----------------------------------------------------------------------------------------

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    add_bias_kernel(T* x, const T* bias, std::int64_t rows, std::int64_t columns,
                    std::int64_t group_rows) {
  using Acc = Accumulator<T>;
  for_rows(rows, columns / N, [=](std::int64_t row, std::int64_t pack) {
    auto value = Pack<T, N>::load(x + row * columns + pack * N);
    const auto added = Pack<T, N>::load(bias + row / group_rows * columns + pack * N);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      value.lane[lane] =
          convert<T>(convert<Acc>(value.lane[lane]) + convert<Acc>(added.lane[lane]));
    }
    value.store(x + row * columns + pack * N);
  });
}

// ---- Sum
// -----------------------------------------------------------------------------------------

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    add_kernel(const T* a, const T* b, T* y, std::int64_t count) {
  using Acc = Accumulator<T>;
  for_packs<N>(count, [=](auto width, std::int64_t i) {
    constexpr int kWidth = decltype(width)::value;
    auto sum = Pack<T, kWidth>::load(a + i);
    const auto more = Pack<T, kWidth>::load(b + i);
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) {
      sum.lane[lane] = convert<T>(convert<Acc>(sum.lane[lane]) + convert<Acc>(more.lane[lane]));
    }
    sum.store(y + i);
  });
}

// ---- ReLU: a thread handles the eight elements of a mask byte
// ------------------------------------

constexpr int kMaskLanes = 8;

/// f(lane) for the lanes of a mask byte at `first` that lie in the row.
template <bool kWhole, class F>
__device__ void for_mask_lanes(std::int64_t first, std::int64_t columns, F f) {
#pragma unroll
  for (int lane = 0; lane < kMaskLanes; ++lane) {
    if (kWhole || first + lane < columns) f(lane);
  }
}

/// kWhole: rows are whole numbers of 8 elements and aligned, so that they move as vectors.
template <bool kWhole, class T>
__device__ Pack<T, kMaskLanes> load_mask_lanes(const T* x, std::int64_t first,
                                               std::int64_t columns) {
  if constexpr (kWhole) {
    return Pack<T, kMaskLanes>::load(x);
  } else {
    Pack<T, kMaskLanes> pack{};
    for_mask_lanes<false>(first, columns, [&](int lane) { pack.lane[lane] = x[lane]; });
    return pack;
  }
}

template <bool kWhole, class T>
__device__ void store_mask_lanes(const Pack<T, kMaskLanes>& pack, T* x, std::int64_t first,
                                 std::int64_t columns) {
  if constexpr (kWhole) {
    pack.store(x);
  } else {
    for_mask_lanes<false>(first, columns, [&](int lane) { x[lane] = pack.lane[lane]; });
  }
}

template <bool kWhole, class T>
__global__ void __launch_bounds__(kBlock)
    relu_forward_kernel(T* x, std::uint8_t* mask, std::int64_t rows, std::int64_t columns,
                        std::int64_t mask_pitch) {
  using Acc = Accumulator<T>;
  for_rows(rows, (columns + kMaskLanes - 1) / kMaskLanes, [=](std::int64_t row, std::int64_t byte) {
    const std::int64_t first = byte * kMaskLanes;
    T* const from = x + row * columns + first;
    auto value = load_mask_lanes<kWhole>(from, first, columns);
    unsigned bits = 0;
    for_mask_lanes<kWhole>(first, columns, [&](int lane) {
      const Acc v = convert<Acc>(value.lane[lane]);
      // NaN stays NaN: a diverged network should show.
      if (v <= Acc{0}) value.lane[lane] = convert<T>(Acc{0});
      bits |= static_cast<unsigned>(v > Acc{0}) << lane;
    });
    store_mask_lanes<kWhole>(value, from, first, columns);
    if (mask != nullptr) mask[row * mask_pitch + byte] = static_cast<std::uint8_t>(bits);
  });
}

template <bool kWhole, class T>
__global__ void __launch_bounds__(kBlock)
    relu_backward_kernel(const std::uint8_t* mask, T* dx, std::int64_t rows, std::int64_t columns,
                         std::int64_t mask_pitch) {
  for_rows(rows, (columns + kMaskLanes - 1) / kMaskLanes, [=](std::int64_t row, std::int64_t byte) {
    const std::int64_t first = byte * kMaskLanes;
    T* const from = dx + row * columns + first;
    auto value = load_mask_lanes<kWhole>(from, first, columns);
    const unsigned bits = mask[row * mask_pitch + byte];
    for_mask_lanes<kWhole>(first, columns, [&](int lane) {
      if ((bits >> lane & 1u) == 0) value.lane[lane] = convert<T>(0.0f);
    });
    store_mask_lanes<kWhole>(value, from, first, columns);
  });
}

// ---- Activations that keep their input
// ----------------------------------------------------------

template <Activation kActivation, int N, class T>
__global__ void __launch_bounds__(kBlock)
    smooth_forward_kernel(T* x, T* saved, std::int64_t rows, std::int64_t columns,
                          std::int64_t saved_pitch) {
  using Acc = Accumulator<T>;
  for_rows(rows, columns / N, [=](std::int64_t row, std::int64_t pack) {
    auto value = Pack<T, N>::load(x + row * columns + pack * N);
    if (saved != nullptr) value.store(saved + row * saved_pitch + pack * N);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      value.lane[lane] = convert<T>(activated<kActivation>(convert<Acc>(value.lane[lane])));
    }
    value.store(x + row * columns + pack * N);
  });
}

template <Activation kActivation, int N, class T>
__global__ void __launch_bounds__(kBlock, 1)
    smooth_backward_kernel(const T* saved, T* dx, std::int64_t rows, std::int64_t columns,
                           std::int64_t saved_pitch) {
  using Acc = Accumulator<T>;
  for_rows(rows, columns / N, [=](std::int64_t row, std::int64_t pack) {
    const auto x = Pack<T, N>::load(saved + row * saved_pitch + pack * N);
    auto value = Pack<T, N>::load(dx + row * columns + pack * N);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      value.lane[lane] = convert<T>(convert<Acc>(value.lane[lane]) *
                                    derivative<kActivation>(convert<Acc>(x.lane[lane])));
    }
    value.store(dx + row * columns + pack * N);
  });
}

// ---- Launches
// ------------------------------------------------------------------------------------

/// A matrix with what its activation saved; the same for both directions.
struct Activated {
  Tensor x;
  ConstTensor saved;
  std::int64_t pitch() const { return saved.absent() ? 0 : saved.shape[1]; }
  std::int64_t rows() const { return rows_of(x); }
  std::int64_t columns() const { return columns_of(x); }
};

void launch_relu(const Queue& queue, const Activated& a, std::uint8_t* mask, bool forward) {
  const std::int64_t rows = a.rows();
  const std::int64_t columns = a.columns();
  const Grid2 grid = grid_over(queue, rows, (columns + kMaskLanes - 1) / kMaskLanes);
  dispatch_float(a.x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    const auto launch = [&](auto whole) {
      constexpr bool kWhole = decltype(whole)::value;
      T* const x = elements_of<T>(a.x);
      if (forward) {
        relu_forward_kernel<kWhole>
            <<<grid.blocks, grid.threads, 0, queue.stream>>>(x, mask, rows, columns, a.pitch());
      } else {
        relu_backward_kernel<kWhole><<<grid.blocks, grid.threads, 0, queue.stream>>>(
            elements_of<std::uint8_t>(a.saved), x, rows, columns, a.pitch());
      }
    };
    if (columns % kMaskLanes == 0 && aligned(a.x.data)) {
      launch(std::true_type{});
    } else {
      launch(std::false_type{});
    }
  });
  TRAINBENCH_LAUNCHED();
}

template <Activation kActivation, class T>
void launch_smooth(const Queue& queue, const Activated& a, T* save, bool forward) {
  const std::int64_t rows = a.rows();
  const std::int64_t columns = a.columns();
  const bool vector = columns % 4 == 0 && aligned(a.x.data, a.saved.data);
  dispatch_width(vector, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const Grid2 grid = grid_over(queue, rows, columns / kWidth);
    T* const x = elements_of<T>(a.x);
    if (forward) {
      smooth_forward_kernel<kActivation, kWidth>
          <<<grid.blocks, grid.threads, 0, queue.stream>>>(x, save, rows, columns, a.pitch());
    } else {
      smooth_backward_kernel<kActivation, kWidth><<<grid.blocks, grid.threads, 0, queue.stream>>>(
          elements_of<T>(a.saved), x, rows, columns, a.pitch());
    }
  });
  TRAINBENCH_LAUNCHED();
}

/// Either direction of an activation that keeps its input.
void launch_smooth(const Queue& queue, Activation activation, const Activated& a, void* save,
                   bool forward) {
  dispatch_float(a.x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    if (activation == Activation::gelu) {
      launch_smooth<Activation::gelu>(queue, a, static_cast<T*>(save), forward);
    } else {
      launch_smooth<Activation::silu>(queue, a, static_cast<T*>(save), forward);
    }
  });
}

}  // namespace

Shape saved_shape(Activation activation, std::int64_t m, std::int64_t n) {
  constexpr std::int64_t kMaskRowBits = 128;
  constexpr std::int64_t kRowElements = 8;
  switch (activation) {
    case Activation::relu:
      return {m, (n + kMaskRowBits - 1) / kMaskRowBits * (kMaskRowBits / 8)};
    case Activation::gelu:
    case Activation::silu:
      return {m, (n + kRowElements - 1) / kRowElements * kRowElements};
    case Activation::none:
      break;
  }
  return {};
}

DType saved_dtype(Activation activation, DType dtype) {
  return activation == Activation::relu ? DType::u8 : dtype;
}

void require_saved(Activation activation, const ConstTensor& x, const ConstTensor& saved) {
  require(saved.shape == saved_shape(activation, rows_of(x), columns_of(x)) &&
              saved.dtype == saved_dtype(activation, x.dtype),
          "`saved` comes from allocate_saved for this activation, shape and dtype");
}

void add_bias(const Queue& queue, Tensor x, ConstTensor bias) {
  const std::int64_t rows = rows_of(x);
  const std::int64_t columns = columns_of(x);
  const std::int64_t group_rows = rows_of_group(x, bias);
  require(bias.dtype == x.dtype, "a bias has the dtype of what it is added to");
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_width(columns % 4 == 0 && aligned(x.data, bias.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Grid2 grid = grid_over(queue, rows, columns / kWidth);
      add_bias_kernel<kWidth><<<grid.blocks, grid.threads, 0, queue.stream>>>(
          elements_of<T>(x), elements_of<T>(bias), rows, columns, group_rows);
    });
  });
  TRAINBENCH_LAUNCHED();
}

void activation_forward(const Queue& queue, Activation activation, Tensor x, Tensor saved) {
  if (activation == Activation::none) return;
  if (!saved.absent()) require_saved(activation, x, saved);
  const Activated operands{x, saved};
  if (activation == Activation::relu) {
    launch_relu(queue, operands, elements_of<std::uint8_t>(saved), true);
    return;
  }
  launch_smooth(queue, activation, operands, saved.data, true);
}

void activation_backward(const Queue& queue, Activation activation, ConstTensor saved, Tensor dx) {
  if (activation == Activation::none) return;
  require_saved(activation, dx, saved);
  const Activated operands{dx, saved};
  if (activation == Activation::relu) {
    launch_relu(queue, operands, nullptr, false);
    return;
  }
  launch_smooth(queue, activation, operands, nullptr, false);
}

void CudaBackend::add(ConstTensor a, ConstTensor b, Tensor y) {
  const Queue& queue = own("add", y.dtype);
  const std::int64_t count = y.elements();
  require(
      a.elements() == count && b.elements() == count && a.dtype == y.dtype && b.dtype == y.dtype,
      "a sum has its terms' elements and dtype");
  dispatch_float(y.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_vector<T>(whole_packs<T>(0, a.data, b.data, y.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      add_kernel<kWidth><<<grid_size(queue, count / kWidth), kBlock, 0, queue.stream>>>(
          elements_of<T>(a), elements_of<T>(b), elements_of<T>(y), count);
    });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
