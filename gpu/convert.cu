#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

template <int N, class From, class To>
__global__ void __launch_bounds__(kBlock)
    cast_kernel(const From* from, To* to, std::int64_t count) {
  for_packs<N>(count, [=](auto width, std::int64_t i) {
    constexpr int kWidth = decltype(width)::value;
    const auto in = Pack<From, kWidth>::load(from + i);
    Pack<To, kWidth> out;
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) out.lane[lane] = convert<To>(in.lane[lane]);
    out.store(to + i);
  });
}

template <int N, class To>
__global__ void __launch_bounds__(kBlock)
    normalize_bytes_kernel(const std::uint8_t* from, To* to, float scale, float shift,
                           std::int64_t count) {
  using Acc = Accumulator<To>;
  for_packs<N>(count, [=](auto width, std::int64_t i) {
    constexpr int kWidth = decltype(width)::value;
    const auto in = Pack<std::uint8_t, kWidth>::load(from + i);
    Pack<To, kWidth> out;
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) {
      const Acc value =
          static_cast<Acc>(in.lane[lane]) * static_cast<Acc>(scale) + static_cast<Acc>(shift);
      out.lane[lane] = convert<To>(value);
    }
    out.store(to + i);
  });
}

}  // namespace

void cast(const Queue& queue, ConstTensor from, Tensor to) {
  require(from.elements() == to.elements(), "a cast keeps the number of elements");
  const std::int64_t count = from.elements();
  dispatch_float(from.dtype, [&](auto from_tag) {
    dispatch_float(to.dtype, [&](auto to_tag) {
      using From = DeviceElement<decltype(from_tag)>;
      using To = DeviceElement<decltype(to_tag)>;
      dispatch_width(aligned(from.data, to.data), [&](auto width) {
        constexpr int kWidth = decltype(width)::value;
        cast_kernel<kWidth><<<grid_size(queue, count / kWidth), kBlock, 0, queue.stream>>>(
            elements_of<From>(from), elements_of<To>(to), count);
      });
    });
  });
  TRAINBENCH_LAUNCHED();
}

void normalize_bytes(const Queue& queue, ConstTensor from, Tensor to, float scale, float shift) {
  require(from.dtype == DType::u8 && from.elements() == to.elements(),
          "normalize_bytes reads as many bytes as it writes elements");
  const std::int64_t count = to.elements();
  dispatch_float(to.dtype, [&](auto tag) {
    using To = DeviceElement<decltype(tag)>;
    dispatch_width(aligned(from.data, to.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      normalize_bytes_kernel<kWidth><<<grid_size(queue, count / kWidth), kBlock, 0, queue.stream>>>(
          elements_of<std::uint8_t>(from), elements_of<To>(to), scale, shift, count);
    });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
