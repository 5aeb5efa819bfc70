// Operations that move whole pixels or rows: nearest upsampling, concatenation of channels.

#include "gpu/cuda_backend_impl.h"
#include "gpu/strips.cuh"

namespace trainbench::gpu {
namespace {

/// Calls `f` with the tag of what is moved at a time: 16 bytes where `vector`, else an element.
template <class F>
void dispatch_unit(bool vector, DType dtype, F&& f) {
  if (vector) {
    f(TypeTag<uint4>{});
  } else if (size_of(dtype) == 1) {
    f(TypeTag<std::uint8_t>{});
  } else if (size_of(dtype) == 2) {
    f(TypeTag<std::uint16_t>{});
  } else if (size_of(dtype) == 4) {
    f(TypeTag<std::uint32_t>{});
  } else {
    f(TypeTag<std::uint64_t>{});
  }
}

std::int64_t columns_of(const ConstTensor& x) { return x.shape[x.shape.rank() - 1]; }
std::int64_t bytes_of_row(const ConstTensor& x) {
  return columns_of(x) * static_cast<std::int64_t>(size_of(x.dtype));
}

/// y's rows are a's followed by b's: joined where y is written to, else parted.
template <class Y, class Part>
__global__ void __launch_bounds__(kBlock) join_kernel(Strips s, Y* y, Part* a, Part* b, int left) {
  const StripThread t(s);
  const bool first = t.pack < left;
  Part* const part = first ? a + t.pack : b + (t.pack - left);
  const int width = first ? left : s.packs - left;
  t.for_rows([&](std::int64_t row) {
    if constexpr (std::is_const_v<Part>) {
      y[row * s.packs + t.pack] = part[row * width];
    } else {
      part[row * width] = y[row * s.packs + t.pack];
    }
  });
}

template <class Y, class Part>
void launch_join(const Queue& queue, const Y& y, const Part& a, const Part& b) {
  const std::int64_t left = bytes_of_row(a);
  const std::int64_t right = bytes_of_row(b);
  require(bytes_of_row(y) == left + right && a.dtype == y.dtype && b.dtype == y.dtype,
          "a row of a concatenation is one of each part");
  require(y.bytes() == a.bytes() + b.bytes(), "the parts of a concatenation have equal rows");
  const bool vector =
      left % kVectorBytes == 0 && right % kVectorBytes == 0 && aligned(y.data, a.data, b.data);
  dispatch_unit(vector, y.dtype, [&](auto tag) {
    using Unit = typename decltype(tag)::type;
    const Strips s =
        strips_over(queue, 1, y.elements() / columns_of(y),
                    (left + right) / static_cast<std::int64_t>(sizeof(Unit)), kForMaps);
    join_kernel<<<s.grid, kBlock, 0, queue.stream>>>(
        s, elements_of<Unit>(y), elements_of<Unit>(a), elements_of<Unit>(b),
        static_cast<int>(left / static_cast<std::int64_t>(sizeof(Unit))));
  });
  TRAINBENCH_LAUNCHED();
}

/// The upper left of the four pixels of a large image over a small one's; both numbered through all
/// images, as a large image has twice the rows.
__device__ std::int64_t upper_left(std::int64_t pixel, int width) {
  const auto number = static_cast<unsigned>(pixel);
  const unsigned row = number / static_cast<unsigned>(width);
  const unsigned column = number - row * static_cast<unsigned>(width);
  return 4 * static_cast<std::int64_t>(row) * width + 2 * column;
}

/// Rows are pixels of x.
template <class Unit>
__global__ void __launch_bounds__(kBlock)
    upsample_kernel(Strips s, const Unit* x, Unit* y, int width) {
  const StripThread t(s);
  const std::int64_t below = 2 * static_cast<std::int64_t>(width) * s.packs;
  t.for_rows([&](std::int64_t row) {
    const Unit value = x[row * s.packs + t.pack];
    Unit* const to = y + upper_left(row, width) * s.packs + t.pack;
    to[0] = value;
    to[s.packs] = value;
    to[below] = value;
    to[below + s.packs] = value;
  });
}

/// Rows are pixels of dx.
template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    upsample_backward_kernel(Strips s, const T* dy, T* dx, int width) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  const std::int64_t right = static_cast<std::int64_t>(s.packs) * N;
  const std::int64_t below = 2 * right * width;
  t.for_rows<1>([&](std::int64_t row) {
    const T* const from = dy + (upper_left(row, width) * s.packs + t.pack) * N;
    const auto a = Pack<T, N>::load(from);
    const auto b = Pack<T, N>::load(from + right);
    const auto c = Pack<T, N>::load(from + below);
    const auto d = Pack<T, N>::load(from + below + right);
    Pack<T, N> sum;
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      sum.lane[lane] = convert<T>((convert<Acc>(a.lane[lane]) + convert<Acc>(b.lane[lane])) +
                                  (convert<Acc>(c.lane[lane]) + convert<Acc>(d.lane[lane])));
    }
    sum.store(dx + (row * s.packs + t.pack) * N);
  });
}

void require_double(const ConstTensor& small, const ConstTensor& large) {
  require(small.shape.rank() == 4 && large.shape == Shape({small.shape[0], 2 * small.shape[1],
                                                           2 * small.shape[2], small.shape[3]}),
          "upsampling doubles height and width");
  require(small.dtype == large.dtype, "upsampling keeps the dtype");
}

}  // namespace

void CudaBackend::upsample(ConstTensor x, Tensor y) {
  const Queue& queue = own("upsample", x.dtype);
  require_double(x, y);
  const std::int64_t pixel = bytes_of_row(x);
  const bool vector = pixel % kVectorBytes == 0 && aligned(x.data, y.data);
  dispatch_unit(vector, x.dtype, [&](auto tag) {
    using Unit = typename decltype(tag)::type;
    const Strips s = strips_over(queue, 1, x.elements() / x.shape[3],
                                 pixel / static_cast<std::int64_t>(sizeof(Unit)), kForMaps);
    upsample_kernel<<<s.grid, kBlock, 0, queue.stream>>>(
        s, elements_of<Unit>(x), elements_of<Unit>(y), static_cast<int>(x.shape[2]));
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::upsample_backward(ConstTensor dy, Tensor dx) {
  const Queue& queue = own("upsample_backward", dy.dtype);
  require_double(dx, dy);
  const std::int64_t channels = dx.shape[3];
  dispatch_float(dx.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_vector<T>(whole_packs<T>(channels, dy.data, dx.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Strips s = strips_over(queue, 1, dx.elements() / channels, channels / kWidth, kForMaps);
      upsample_backward_kernel<kWidth><<<s.grid, kBlock, 0, queue.stream>>>(
          s, elements_of<T>(dy), elements_of<T>(dx), static_cast<int>(dx.shape[2]));
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::concat(ConstTensor a, ConstTensor b, Tensor y) {
  launch_join(own("concat", y.dtype), y, a, b);
}

void CudaBackend::split(ConstTensor y, Tensor a, Tensor b) {
  launch_join(own("split", y.dtype), y, a, b);
}

}  // namespace trainbench::gpu
