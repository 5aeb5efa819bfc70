#include <algorithm>
#include <string>

#include "gpu/probes.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

template <StreamKernel kKernel>
inline constexpr bool kWrites = form_of(kKernel).writes;
template <StreamKernel kKernel>
inline constexpr bool kReadsB = form_of(kKernel).reads_b;
template <StreamKernel kKernel>
inline constexpr bool kReadsC = form_of(kKernel).reads_c;

/// What becomes of a pack of b and c: the elements of a, or the terms of a sum.
template <StreamKernel kKernel, int kWidth>
__device__ Pack<float, kWidth> value_at(const float* b, const float* c, std::int64_t i) {
  Pack<float, kWidth> x{};
  Pack<float, kWidth> y{};
  if constexpr (kReadsB<kKernel>) x = Pack<float, kWidth>::load(b + i);
  if constexpr (kReadsC<kKernel>) y = Pack<float, kWidth>::load(c + i);
  Pack<float, kWidth> result;
#pragma unroll
  for (int lane = 0; lane < kWidth; ++lane) {
    const float bi = x.lane[lane];
    const float ci = y.lane[lane];
    float& value = result.lane[lane];
    if constexpr (kKernel == StreamKernel::copy || kKernel == StreamKernel::read) value = bi;
    if constexpr (kKernel == StreamKernel::scale) value = kStreamFactor * bi;
    if constexpr (kKernel == StreamKernel::add) value = bi + ci;
    if constexpr (kKernel == StreamKernel::triad) value = bi + kStreamFactor * ci;
    if constexpr (kKernel == StreamKernel::dot) value = bi * ci;
    if constexpr (kKernel == StreamKernel::write) value = kStreamFactor;
  }
  return result;
}

template <StreamKernel kKernel>
__global__ void __launch_bounds__(kBlock)
    stream_kernel(float* a, const float* b, const float* c, std::int64_t count, std::int64_t passes,
                  double* partial) {
  double sum = 0;
  for (std::int64_t pass = 0; pass < passes; ++pass) {
    sum = 0;
    for_packs<4>(count, [&](auto width, std::int64_t i) {
      constexpr int kWidth = decltype(width)::value;
      const auto value = value_at<kKernel, kWidth>(b, c, i);
      if constexpr (kWrites<kKernel>) {
        value.store(a + i);
      } else {
        float together = 0;
#pragma unroll
        for (int lane = 0; lane < kWidth; ++lane) together += value.lane[lane];
        sum += static_cast<double>(together);
      }
    });
    // A pass is no repetition of the one before, for all that the compiler may know.
    asm volatile("" : "+d"(sum) : : "memory");
  }
  if constexpr (!kWrites<kKernel>) {
    sum = reduce_group<kBlock>(sum, Add{});
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
  }
}

__global__ void __launch_bounds__(kBlock)
    stream_sum_kernel(const double* partial, int count, double* total) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kBlock) sum += partial[i];
  sum = reduce_group<kBlock>(sum, Add{});
  if (threadIdx.x == 0) *total = sum;
}

/// All blocks are resident at once, so that they share the arrays of each pass among them.
template <StreamKernel kKernel>
void launch(const Queue& queue, const StreamOperands& operands, std::int64_t passes) {
  const auto kernel = stream_kernel<kKernel>;
  int resident = 1;
  TRAINBENCH_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel, kBlock, 0));
  const std::int64_t count = operands.elements();
  const std::int64_t packs = count / kLanes<float>;
  const auto blocks = static_cast<unsigned>(
      std::clamp<std::int64_t>((packs + kBlock - 1) / kBlock, 1, resident * queue.units));
  auto* partial = static_cast<double*>(queue.scratch);
  kernel<<<blocks, kBlock, 0, queue.stream>>>(
      elements_of<float>(operands.a), elements_of<float>(operands.b),
      elements_of<float>(operands.c), count, passes, partial);
  TRAINBENCH_LAUNCHED();
  if constexpr (!kWrites<kKernel>) {
    require(queue.scratch_bytes >= blocks * sizeof(double), "scratch holds a sum a block");
    stream_sum_kernel<<<1, kBlock, 0, queue.stream>>>(partial, static_cast<int>(blocks),
                                                      elements_of<double>(operands.sum));
    TRAINBENCH_LAUNCHED();
  }
}

}  // namespace

void stream(const Queue& queue, StreamKernel kernel, const StreamOperands& operands,
            std::int64_t passes) {
  require(aligned(operands.a.data, operands.b.data, operands.c.data),
          "stream's arrays are aligned");
  switch (kernel) {
    case StreamKernel::copy:
      return launch<StreamKernel::copy>(queue, operands, passes);
    case StreamKernel::scale:
      return launch<StreamKernel::scale>(queue, operands, passes);
    case StreamKernel::add:
      return launch<StreamKernel::add>(queue, operands, passes);
    case StreamKernel::triad:
      return launch<StreamKernel::triad>(queue, operands, passes);
    case StreamKernel::dot:
      return launch<StreamKernel::dot>(queue, operands, passes);
    case StreamKernel::read:
      return launch<StreamKernel::read>(queue, operands, passes);
    case StreamKernel::write:
      return launch<StreamKernel::write>(queue, operands, passes);
  }
}

}  // namespace trainbench::gpu
