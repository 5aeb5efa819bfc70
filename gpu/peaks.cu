#include <cmath>

#include "common/core/philox.h"
#include "gpu/cuda_backend.h"
#include "gpu/cuda_device.h"
#include "gpu/peak_loops.h"
#include "gpu/peaks.h"
#include "gpu/probes.h"
#include "gpu/runtime/buffer.h"
#include "gpu/runtime/event.h"
#include "gpu/runtime/stream.h"
#include "gpu/vector.cuh"

namespace trainbench {
namespace {

using gpu::DeviceBuffer;
using gpu::Event;
using gpu::Stream;

/// How long to measure.
struct Budget {
  double seconds = 0;
  bool simulated = false;
};

/// Uniform in [-1, 1): a product of zeros draws less power and runs at higher clocks.
template <class T>
__global__ void __launch_bounds__(gpu::kBlock)
    fill_random_kernel(T* to, std::uint64_t stream, std::int64_t count) {
  gpu::for_packs<1>(count, [=](auto, std::int64_t i) {
    const Philox random(1, stream);
    const auto value = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i)));
    to[i] = gpu::convert<T>(2 * value - 1);
  });
}

/// Largest work per second of launch(rounds), where a round does `work`. The rounds of a launch are
/// chosen so that it takes milliseconds, against which the events' resolution is nothing.
template <class Launch>
double best_rate(const Stream& stream, const Budget& budget, double work, Launch launch) {
  constexpr double kLaunchSeconds = 4e-3;
  Event start(Event::Use::timing);
  Event stop(Event::Use::timing);
  const auto seconds_of = [&](int rounds) {
    start.record(stream);
    launch(rounds);
    stop.record(stream);
    stop.synchronize();
    return stop.seconds_since(start);
  };
  int rounds = 1;
  double seconds = seconds_of(rounds);
  while (!budget.simulated && seconds < kLaunchSeconds && rounds < (1 << 24)) {
    rounds *= 2;
    seconds = seconds_of(rounds);
  }
  double best = 0;
  double spent = 0;
  do {
    seconds = seconds_of(rounds);
    if (seconds > 0) best = std::max(best, work * rounds / seconds);
    spent += seconds;
  } while (!budget.simulated && spent < budget.seconds);
  return best;
}

double triad_bandwidth(const Stream& stream, const gpu::Queue& queue, const Budget& budget) {
  int l2 = 0;
  int device = 0;
  TRAINBENCH_CUDA(cudaGetDevice(&device));
  TRAINBENCH_CUDA(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, device));
  // Each array alone is several times the cache, so that none of it survives from round to round.
  const std::size_t bytes =
      budget.simulated
          ? std::size_t{1} << 16
          : std::max<std::size_t>(4 * static_cast<std::size_t>(l2), std::size_t{256} << 20);
  const auto count = static_cast<std::int64_t>(bytes / sizeof(float));
  const DeviceBuffer a(bytes);
  const DeviceBuffer b(bytes);
  const DeviceBuffer c(bytes);
  for (const DeviceBuffer* buffer : {&b, &c}) {
    TRAINBENCH_CUDA(cudaMemsetAsync(buffer->data(), 0x3e, bytes, stream.get()));
  }
  const auto array = [&](const DeviceBuffer& buffer) {
    return Tensor(buffer.data(), Shape{count}, DType::f32);
  };
  const StreamOperands operands{array(a), array(b), array(c), {}};
  return best_rate(stream, budget, 3.0 * static_cast<double>(bytes),
                   [&](int rounds) { gpu::stream(queue, StreamKernel::triad, operands, rounds); });
}

void fill_random(const Stream& stream, const gpu::Queue& queue, const Tensor& to,
                 std::uint64_t philox_stream) {
  dispatch_float(to.dtype, [&](auto tag) {
    using T = gpu::DeviceElement<decltype(tag)>;
    fill_random_kernel<<<gpu::grid_size(queue, to.elements()), gpu::kBlock, 0, stream.get()>>>(
        gpu::elements_of<T>(to), philox_stream, to.elements());
  });
  TRAINBENCH_LAUNCHED();
  stream.synchronize();
}

/// FLOP/s of square products as a layer's forward pass makes them, the best of a few sizes.
double best_gemm(int device, const Precision& precision, const Stream& stream,
                 const gpu::Queue& queue, const Budget& budget) {
  const std::int64_t largest = budget.simulated ? 64 : 8192;
  double best = 0;
  for (std::int64_t n = budget.simulated ? largest : 2048; n <= largest; n *= 2) {
    const auto backend = make_cuda_backend({.device = device});
    const Shape shape{n, n};
    const Tensor a = backend->allocate(shape, precision.compute, MemoryKind::workspace);
    const Tensor b = backend->allocate(shape, precision.compute, MemoryKind::workspace);
    const Tensor c = backend->allocate(shape, precision.compute, MemoryKind::workspace);
    fill_random(stream, queue, a, 1);
    fill_random(stream, queue, b, 2);
    const auto timer = backend->make_timer();
    const auto seconds_of = [&] {
      timer->start();
      backend->matmul({.transpose_b = true, .math = precision.math}, a, b, c);
      timer->stop();
      return timer->seconds();
    };
    double seconds = seconds_of();
    double spent = 0;
    do {
      seconds = seconds_of();
      const double edge = static_cast<double>(n);
      if (seconds > 0) best = std::max(best, 2 * edge * edge * edge / seconds);
      spent += seconds;
    } while (!budget.simulated && spent < budget.seconds / 3);
    // Eight times the work would take eight times as long.
    if (8 * seconds > budget.seconds) break;
  }
  return best;
}

}  // namespace

Peaks measure_cuda_peaks(int device, double seconds_each) {
  const CudaProbe probe = probe_cuda();
  const auto backend = make_cuda_backend({.device = device});  // refuses with the reason
  const CudaDevice& described = probe.devices[static_cast<std::size_t>(device)];
  const Budget budget{seconds_each, described.info.simulated};
  const Stream stream;
  const gpu::Queue queue{.stream = stream.get(), .units = described.info.units};
  const DeviceBuffer sink(sizeof(double));

  Peaks peaks;
  for (const Precision& precision : kPrecisions) {
    try {
      backend->require_precision(precision);
    } catch (const Unsupported&) {
      continue;
    }
    const std::string name(precision.name);
    const gpu::PeakLoop loop = gpu::peak_loop(precision, described.major);
    if (loop.launch != nullptr) {
      const int blocks = budget.simulated ? 1 : loop.blocks_per_unit * described.info.units;
      peaks.flops[name] = best_rate(stream, budget, loop.flops_per_round * blocks, [&](int rounds) {
        loop.launch(stream.get(), blocks, rounds, sink.data());
        TRAINBENCH_LAUNCHED();
      });
    }
    peaks.gemm[name] = best_gemm(device, precision, stream, queue, budget);
  }
  peaks.bandwidth = triad_bandwidth(stream, queue, budget);
  return peaks;
}

}  // namespace trainbench
