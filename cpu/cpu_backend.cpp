#include "cpu/cpu_backend.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>

#include "common/system/cpu_topology.h"
#include "cpu/parallel.h"
#include "cpu/probes.h"
#include "cpu/providers.h"

namespace trainbench {
namespace {

/// The work itself: a CPU has nothing to gain from writing it down.
class CpuRecording final : public Recording {
 public:
  explicit CpuRecording(std::function<void()> work) : work_(std::move(work)) {}
  void replay() override { work_(); }

 private:
  std::function<void()> work_;
};

class CpuTimer final : public DeviceTimer {
 public:
  void start() override { start_ = Clock::now(); }
  void stop() override { stop_ = Clock::now(); }
  double seconds() override { return std::chrono::duration<double>(stop_ - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_;
  Clock::time_point stop_;
};

/// Slots that the compute thread reads where the loader wrote them.
class CpuChannel final : public BatchChannel {
 public:
  CpuChannel(Backend& backend, std::size_t slot_bytes, int slots)
      : reading_(static_cast<std::size_t>(slots), false) {
    for (int slot = 0; slot < slots; ++slot) {
      slots_.push_back(backend.allocate(Shape{static_cast<std::int64_t>(slot_bytes)}, DType::u8,
                                        MemoryKind::workspace));
    }
  }

  std::byte* host(int slot) override {
    const auto index = static_cast<std::size_t>(slot);
    std::unique_lock lock(mutex_);
    released_.wait(lock, [&] { return !reading_[index]; });
    return static_cast<std::byte*>(slots_[index].data);
  }
  void send(int) override {}
  Tensor receive(int slot) override {
    const std::lock_guard lock(mutex_);
    reading_[static_cast<std::size_t>(slot)] = true;
    return slots_[static_cast<std::size_t>(slot)];
  }
  void release(int slot) override {
    {
      const std::lock_guard lock(mutex_);
      reading_[static_cast<std::size_t>(slot)] = false;
    }
    released_.notify_one();
  }

 private:
  std::vector<Tensor> slots_;
  std::vector<bool> reading_;  // received and not yet released
  std::mutex mutex_;
  std::condition_variable released_;
};

void copy_bytes(int threads, void* to, const void* from, std::size_t bytes) {
  parallel_ranges(threads, static_cast<std::int64_t>(bytes), 16 * kGrain, [=](Range range) {
    std::memcpy(static_cast<std::byte*>(to) + range.first,
                static_cast<const std::byte*>(from) + range.first,
                static_cast<std::size_t>(range.last - range.first));
  });
}

}  // namespace

std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options) {
  return std::make_unique<CpuBackend>(options);
}

CpuBackend::CpuBackend(const CpuOptions& options)
    : threads_(options.threads > 0 ? options.threads : usable_cores()),
      arena_(threads_),
      router_(threads_, matmul_providers_for(options.provider), arena_),
      convolutions_(threads_, convolution_providers_for(options.provider), router_, arena_) {
  require_threads(threads_);
  // Loops outside of the backend, such as that over the initial weights, keep to it too.
  omp_set_num_threads(threads_);
}

Tensor CpuBackend::allocate(Shape shape, DType dtype, MemoryKind kind) {
  return arena_.allocate(shape, dtype, kind);
}

std::unique_ptr<BatchChannel> CpuBackend::make_channel(std::size_t slot_bytes, int slots) {
  return std::make_unique<CpuChannel>(*this, slot_bytes, slots);
}

void CpuBackend::copy_from_host(Tensor to, const void* from) {
  copy_bytes(threads_, to.data, from, to.bytes());
}

void CpuBackend::copy_to_host(void* to, ConstTensor from) {
  copy_bytes(threads_, to, from.data, from.bytes());
}

void CpuBackend::copy(ConstTensor from, Tensor to) {
  require(from.shape == to.shape && from.dtype == to.dtype, "a copy keeps shape and dtype");
  copy_bytes(threads_, to.data, from.data, from.bytes());
}

void CpuBackend::fill_zero(Tensor tensor) {
  parallel_ranges(threads_, static_cast<std::int64_t>(tensor.bytes()), 16 * kGrain,
                  [data = static_cast<std::byte*>(tensor.data)](Range range) {
                    std::memset(data + range.first, 0,
                                static_cast<std::size_t>(range.last - range.first));
                  });
}

std::unique_ptr<Recording> CpuBackend::record(const std::function<void()>& work) {
  return std::make_unique<CpuRecording>(work);
}

std::unique_ptr<DeviceTimer> CpuBackend::make_timer() { return std::make_unique<CpuTimer>(); }

std::unique_ptr<Probes> CpuBackend::make_probes() { return std::make_unique<CpuProbes>(threads_); }

std::vector<Served> CpuBackend::served() const {
  std::vector<Served> list = router_.served();
  for (Served& convolution : convolutions_.served()) list.push_back(std::move(convolution));
  return list;
}

void CpuBackend::require_precision(const Precision& precision) const {
  if (precision.math == MathMode::tf32) {
    throw Unsupported("tf32 is a format of GPU tensor cores; the CPU has none");
  }
}

}  // namespace trainbench
