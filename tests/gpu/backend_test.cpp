#include <gtest/gtest.h>

#include <string>

#include "common/host_values.h"
#include "gpu/cuda_backend.h"
#include "gpu/cuda_device.h"
#include "tests/gpu/device_values.h"

namespace trainbench {
namespace {

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(CudaProbe, DescribesTheDevice) {
  const CudaProbe probe = probe_cuda();
  ASSERT_FALSE(probe.devices.empty());
  EXPECT_EQ(probe.reason, "");
  const CudaDevice& device = probe.devices.front();
  EXPECT_EQ(device.info.kind, "gpu");
  EXPECT_FALSE(device.info.name.empty());
  EXPECT_EQ(device.info.simulated, device.info.name.find("simulated") != std::string::npos);
  EXPECT_GT(device.info.memory_bytes, 0u);
  EXPECT_GT(device.info.units, 0);
  EXPECT_GT(device.info.lanes, 0);
  EXPECT_GT(device.info.clock, 1e8);
  EXPECT_GE(device.major, 7);
  EXPECT_EQ(device.unusable, "");
}

TEST(CudaBackend, ADeviceThatIsNotThereIsUnsupported) {
  EXPECT_THROW(make_cuda_backend({.device = 99}), Unsupported);
  EXPECT_THROW(make_cuda_backend({.device = -1}), Unsupported);
}

TEST(CudaBackend, MemoryIsCountedByKind) {
  const auto backend = make_cuda_backend();
  const MemoryUse before = backend->memory();
  backend->allocate(Shape{3, 5}, DType::f16, MemoryKind::gradients);
  backend->allocate(Shape{7}, DType::f64, MemoryKind::optimizer);
  EXPECT_EQ(backend->memory()[MemoryKind::gradients], before[MemoryKind::gradients] + 30);
  EXPECT_EQ(backend->memory()[MemoryKind::optimizer], before[MemoryKind::optimizer] + 56);
  EXPECT_EQ(backend->memory().allocations, before.allocations + 2);
}

TEST(CudaBackend, AFailedAllocationSaysWhatItNeedsAndWhatThereIs) {
  const auto backend = make_cuda_backend();
  constexpr std::int64_t kTebibyte = std::int64_t{1} << 40;
  const std::string message = message_of(
      [&] { backend->allocate(Shape{4 * kTebibyte}, DType::u8, MemoryKind::activations); });
  EXPECT_NE(message.find("needs 4194304.0 MiB"), std::string::npos) << message;
  EXPECT_NE(message.find("free "), std::string::npos) << message;
  // The device is as good as before.
  const Tensor x = random_tensor(*backend, Shape{10}, DType::f32, 1);
  backend->cast(x, random_tensor(*backend, Shape{10}, DType::f16, 2));
  EXPECT_NO_THROW(backend->synchronize());
}

TEST(CudaBackend, CopiesComeBack) {
  const auto backend = make_cuda_backend();
  const Tensor a = backend->allocate(Shape{1000}, DType::f32, MemoryKind::activations);
  const Tensor b = backend->allocate(Shape{1000}, DType::f32, MemoryKind::activations);
  std::vector<float> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  backend->copy_from_host(a, values.data());
  const std::vector<float> expected = values;
  values.assign(values.size(), -1);  // the source may be reused at once
  backend->copy(a, b);
  backend->fill_zero(a);
  std::vector<float> back(1000);
  backend->copy_to_host(back.data(), b);
  EXPECT_EQ(back, expected);
  backend->copy_to_host(back.data(), a);
  EXPECT_EQ(back, std::vector<float>(1000, 0.0f));
}

TEST(CudaBackend, WhatARecordingThrowsComesThrough) {
  const auto backend = make_cuda_backend();
  const Tensor x = random_tensor(*backend, Shape{8}, DType::f32, 1);
  EXPECT_THROW(backend->record([&] {
    backend->fill_zero(x);
    throw Unsupported("not this one");
  }),
               Unsupported);
  // The stream takes work again, and nothing of the recording has run.
  EXPECT_NE(read_values(*backend, x), std::vector<double>(8, 0.0));
  const auto recording = backend->record([&] { backend->fill_zero(x); });
  EXPECT_NE(read_values(*backend, x), std::vector<double>(8, 0.0)) << "recording runs nothing";
  recording->replay();
  EXPECT_EQ(read_values(*backend, x), std::vector<double>(8, 0.0));
}

TEST(CudaBackend, ARecordingCountsItsKernels) {
  const auto backend = make_cuda_backend();
  const Tensor x = random_tensor(*backend, Shape{8}, DType::f32, 1);
  const Tensor y = random_tensor(*backend, Shape{8}, DType::f16, 2);
  const auto recording = backend->record([&] {
    backend->cast(x, y);
    backend->fill_zero(y);
    backend->cast(y, x);
  });
  EXPECT_EQ(recording->launches(), 2) << "setting bytes is no kernel";
}

TEST(CudaBackend, TheTimerTimesTheDevice) {
  const auto backend = make_cuda_backend();
  const Tensor x = random_tensor(*backend, Shape{1 << 16}, DType::f32, 1);
  const Tensor y = random_tensor(*backend, Shape{1 << 16}, DType::f16, 2);
  const auto timer = backend->make_timer();
  timer->start();
  backend->cast(x, y);
  timer->stop();
  const double once = timer->seconds();
  EXPECT_GT(once, 0);
  timer->start();
  for (int i = 0; i < 16; ++i) backend->cast(x, y);
  timer->stop();
  EXPECT_GT(timer->seconds(), once);
}

}  // namespace
}  // namespace trainbench
