#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

template <class T>
__global__ void __launch_bounds__(kBlock)
    shift_tokens_kernel(const T* from, std::int64_t batch, std::int64_t window, bool time_major,
                        std::int32_t* inputs, std::int32_t* targets) {
  const std::int64_t steps = window - 1;
  for_packs<1>(batch * steps, [=](auto, std::int64_t i) {
    const std::int64_t row = time_major ? i % batch : i / steps;
    const std::int64_t step = time_major ? i / batch : i % steps;
    const T* const token = from + row * window + step;
    inputs[i] = token[0];
    targets[i] = token[1];
  });
}

}  // namespace

void CudaBackend::shift_tokens(ConstTensor from, bool time_major, Tensor inputs, Tensor targets) {
  require(from.shape.rank() == 2 && from.shape[1] > 1, "windows are [b, t + 1]");
  const std::int64_t tokens = from.shape[0] * (from.shape[1] - 1);
  require(inputs.elements() == tokens && targets.elements() == tokens,
          "a window has an input and a target for each step");
  const Queue& queue = own("shift_tokens", from.dtype);
  const auto launch = [&](const auto* tokens_in) {
    shift_tokens_kernel<<<grid_size(queue, tokens), kBlock, 0, queue.stream>>>(
        tokens_in, from.shape[0], from.shape[1], time_major, inputs.as<std::int32_t>(),
        targets.as<std::int32_t>());
  };
  if (from.dtype == DType::u8) {
    launch(from.as<std::uint8_t>());
  } else {
    launch(from.as<std::int32_t>());
  }
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
