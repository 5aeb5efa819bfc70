#include <omp.h>

#include "cpu/parallel.h"
#include "cpu/probes.h"

namespace trainbench {
namespace {

[[noreturn]] void nothing_to_transfer() {
  throw Unsupported("a CPU computes in the host's memory: there is nothing to transfer");
}

void count_unit(const Tensor& counts) {
  if (!counts.absent()) ++counts.as<std::int32_t>()[omp_get_thread_num()];
}

}  // namespace

void CpuProbes::empty(Tensor counts) {
#pragma omp parallel num_threads(threads_)
  count_unit(counts);
}

void CpuProbes::barriers(std::int64_t times, Tensor counts) {
#pragma omp parallel num_threads(threads_)
  {
    for (std::int64_t i = 0; i < times; ++i) {
#pragma omp barrier
      count_unit(counts);
    }
  }
}

std::unique_ptr<HostMemory> CpuProbes::allocate_host(std::size_t, bool) { nothing_to_transfer(); }

void CpuProbes::transfer(const Transfer&, std::int64_t) { nothing_to_transfer(); }

}  // namespace trainbench
