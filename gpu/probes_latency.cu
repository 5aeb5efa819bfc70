#include <algorithm>
#include <string>

#include "gpu/probes.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

__global__ void chase_kernel(const std::uint32_t* next, std::int64_t loads, std::uint32_t* place) {
  std::uint32_t at = *place;
  for (std::int64_t load = 0; load < loads; ++load) at = next[at];
  *place = at;
}

/// A chain a thread.
__global__ void chain_kernel(float factor, float term, std::int64_t steps, float* last) {
  const std::int64_t chain = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  float x = 1.0f + static_cast<float>(1 + chain % 64) / 64.0f;
#pragma unroll 16
  for (std::int64_t step = 0; step < steps; ++step) x = fmaf(x, factor, term);
  last[chain] = x;
}

/// Four warps, one for each of an SM's schedulers: blocks spread over the SMs from there on.
constexpr std::int64_t kChainThreads = 128;

}  // namespace

void CudaProbes::chase(ConstTensor table, std::int64_t loads, Tensor place) {
  chase_kernel<<<1, 1, 0, queue_.stream>>>(static_cast<const std::uint32_t*>(table.data), loads,
                                           static_cast<std::uint32_t*>(place.data));
  TRAINBENCH_LAUNCHED();
}

void CudaProbes::chains(std::int64_t steps, Tensor last) {
  const std::int64_t chains = last.elements();
  require(chains > 0 && (chains & (chains - 1)) == 0, "chains are a power of two");
  const std::int64_t threads = std::min(chains, kChainThreads);
  chain_kernel<<<static_cast<unsigned>(chains / threads), static_cast<unsigned>(threads), 0,
                 queue_.stream>>>(kChainFactor, kChainTerm, steps, elements_of<float>(last));
  TRAINBENCH_LAUNCHED();
}

std::string CudaProbes::chain_layout(std::int64_t chains) const {
  const std::int64_t threads = std::min(chains, kChainThreads);
  return std::to_string(chains / threads) + " blocks of " + std::to_string(threads) + " threads";
}

}  // namespace trainbench::gpu
