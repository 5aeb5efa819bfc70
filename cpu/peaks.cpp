#include "cpu/peaks.h"

#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>
#include <string>

#include "common/system/cgroup.h"
#include "common/system/cpu_topology.h"
#include "common/system/host_files.h"
#include "cpu/arena.h"
#include "cpu/parallel.h"
#include "cpu/peaks_kernels.h"
#include "cpu/stream_kernels.h"

namespace trainbench {
namespace {

constexpr double kRepeats = 10;  // that a measurement's time is cut into
volatile double consumed;        // results go here, so that the work that gave them is done

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that `threads` threads need for body(thread), from the first's start to the last's end:
/// the least of repeats that together take `budget` seconds, at least three.
template <class Body>
double best_seconds(int threads, double budget, const Body& body) {
  double best = std::numeric_limits<double>::infinity();
  double start = 0;
  double spent = 0;
  for (int repeat = 0; repeat < 3 || spent < budget; ++repeat) {
#pragma omp parallel num_threads(threads)
    {
#pragma omp barrier
#pragma omp master
      start = now();
#pragma omp barrier
      body(omp_get_thread_num());
    }
    const double seconds = now() - start;
    best = std::min(best, seconds);
    spent += seconds;
  }
  return best;
}

/// Rounds a second of one thread, `threads` of them running at once.
double best_round_rate(int threads, double budget, double (*run)(std::int64_t rounds)) {
  const auto seconds_of = [&](int team, std::int64_t rounds, double seconds) {
    return best_seconds(team, seconds, [&](int) { consumed = run(rounds); });
  };
  // As many rounds as a thread alone does in a slice: on a busy machine a team's time may be that
  // of its barriers, from which nothing could be told.
  const double slice = std::max(budget / kRepeats, 1e-3);
  std::int64_t rounds = 1024;
  for (double seconds = 0; (seconds = seconds_of(1, rounds, 0)) < slice / 2;) {
    const double growth = std::clamp(slice / std::max(seconds, 1e-9), 2.0, 16.0);
    rounds = static_cast<std::int64_t>(static_cast<double>(rounds) * growth);
  }
  return static_cast<double>(rounds) / seconds_of(threads, rounds, budget);
}

/// Elements of one triad array: four times all last-level caches together, so that no array's part
/// can stay there, and all three at most a quarter of the memory that may be used.
std::size_t triad_elements() {
  constexpr std::size_t kUnknownCache = std::size_t{64} << 20;
  const std::size_t cache = read_cpu_topology().last_level_bytes();
  std::size_t bytes = 4 * (cache > 0 ? cache : kUnknownCache);
  const std::uint64_t memory = usable_memory();
  if (memory > 0) bytes = std::min<std::size_t>(bytes, memory / 4 / 3);
  return bytes / sizeof(float);
}

double measure_bandwidth(int threads, double budget) {
  const auto count = static_cast<std::int64_t>(triad_elements()) / kStreamGrain * kStreamGrain;
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(float);
  const CpuBuffer buffers[] = {{bytes, threads, 0}, {bytes, threads, 320}, {bytes, threads, 640}};
  const auto part_on = [&](int thread) {
    const Range range = part_of(count, kStreamGrain, thread, threads);
    const auto of = [&](int array) {
      return reinterpret_cast<float*>(buffers[array].data()) + range.first;
    };
    return StreamPart{of(0), of(1), of(2), range.last - range.first};
  };
#pragma omp parallel num_threads(threads)
  {
    const StreamPart part = part_on(omp_get_thread_num());
    std::fill_n(const_cast<float*>(part.b), part.count, 1.0f);
    std::fill_n(const_cast<float*>(part.c), part.count, 2.0f);
  }
  const double seconds = best_seconds(threads, budget, [&](int thread) {
    stream_pass(StreamKernel::triad, Stores::streaming, part_on(thread));
  });
  return 3.0 * static_cast<double>(bytes) / seconds;
}

double measure_flops(const PeakKernel& kernel, int threads, double budget) {
  return kernel.flops_per_round * threads * best_round_rate(threads, budget, kernel.run);
}

}  // namespace

Peaks measure_cpu_peaks(int threads, double seconds_each) {
  require_threads(threads);
  Peaks peaks;
  for (const PeakKernel& kernel : peak_kernels()) {
    if (!kernel.available()) continue;
    double& flops = peaks.flops[kernel.precision];
    flops = std::max(flops, measure_flops(kernel, threads, seconds_each));
  }
  try {
    peaks.bandwidth = measure_bandwidth(threads, seconds_each);
  } catch (const std::bad_alloc&) {
    // Where there is no memory for the arrays the bandwidth stays unknown.
  }
  return peaks;
}

double measure_core_clock() {
#if defined(__x86_64__)
  // 64-bit IMUL takes 3 cycles on Intel since Nehalem (2008) and on AMD since Zen (2017): Agner
  // Fog, "Instruction tables". Additions would not do: newer cores fold them before they are
  // executed.
  constexpr double kCycles = 3;
  constexpr int kChain = 64;
  const auto chain = [](std::int64_t rounds) {
    std::uint64_t x = 1;
    const std::uint64_t factor = 3;
    for (std::int64_t round = 0; round < rounds; ++round) {
      // Written out, because a compiler may multiply the factors with each other first.
      for (int i = 0; i < kChain; ++i) __asm__ volatile("imul %1, %0" : "+r"(x) : "r"(factor));
    }
    return static_cast<double>(x);
  };
  return kCycles * kChain * best_round_rate(1, 0.01, chain);
#else
  return 0;
#endif
}

DeviceInfo cpu_device_info() {
  const CpuTopology topology = read_cpu_topology();
  DeviceInfo info;
  info.kind = "cpu";
  info.name = topology.model.empty() ? "unknown CPU" : topology.model;
  info.memory_bytes = meminfo("/", "MemTotal").value_or(0) * 1024;
  info.units = usable_cores();
  const double measured_clock = measure_core_clock();
  info.clock = topology.nominal_clock > 0 ? topology.nominal_clock : measured_clock;
  if (measured_clock <= 0) return info;
  for (const PeakKernel& kernel : peak_kernels()) {
    if (std::string(kernel.precision) != "fp32") continue;
    // A round number of 128-bit units: the loop's rate is that or a little less.
    const double lanes = measure_flops(kernel, 1, 0.01) / (2 * measured_clock);
    info.lanes = info.units * std::max(4.0, 4 * std::round(lanes / 4));
  }
  return info;
}

}  // namespace trainbench
