#include <algorithm>
#include <chrono>
#include <limits>
#include <vector>

#include "common/core/philox.h"
#include "common/host_values.h"
#include "cpu/cpu_backend.h"
#include "cpu/peaks.h"

namespace trainbench {
namespace {

using Clock = std::chrono::steady_clock;

Tensor random_square(Backend& backend, std::int64_t n, DType dtype, std::uint64_t stream) {
  const Tensor tensor = backend.allocate({n, n}, dtype, MemoryKind::workspace);
  const Philox random(1, stream);
  std::vector<double> values(static_cast<std::size_t>(n * n));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i, -1, 1);
  write_values(backend, tensor, values);
  return tensor;
}

/// Seconds of the fastest of repeated products of two [n, n] matrices.
double best_seconds(const Precision& precision, std::int64_t n, int threads, double budget) {
  CpuBackend backend({.threads = threads});
  const Tensor a = random_square(backend, n, precision.compute, 0);
  const Tensor b = random_square(backend, n, precision.compute, 1);
  const Tensor c = backend.allocate({n, n}, precision.master, MemoryKind::workspace);
  const auto seconds_once = [&] {
    const Clock::time_point start = Clock::now();
    backend.matmul({}, a, b, c, {});
    return std::chrono::duration<double>(Clock::now() - start).count();
  };
  seconds_once();  // chooses the provider
  double best = std::numeric_limits<double>::infinity();
  double spent = 0;
  for (int repeat = 0; repeat < 3 || spent < budget; ++repeat) {
    const double seconds = seconds_once();
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

}  // namespace

std::map<std::string, double> measure_cpu_gemm(int threads, double seconds_each) {
  std::map<std::string, double> best;
  for (const Precision& precision : kPrecisions) {
    if (precision.math == MathMode::tf32) continue;  // an instruction of GPUs
    double& flops = best[std::string(precision.name)];
    double seconds = 0;
    // Larger products until one takes too long: many cores need large ones to be busy.
    for (std::int64_t n = 1024; n <= 8192 && 8 * seconds <= seconds_each; n *= 2) {
      seconds = best_seconds(precision, n, threads, seconds_each);
      const auto size = static_cast<double>(n);
      flops = std::max(flops, 2 * size * size * size / seconds);
    }
  }
  return best;
}

}  // namespace trainbench
