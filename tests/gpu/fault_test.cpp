#include <gtest/gtest.h>

#include <string>

#include "common/host_values.h"
#include "gpu/cuda_backend.h"
#include "gpu/cuda_device.h"
#include "tests/gpu/small_training.h"

// What a healthy device never shows. The launcher injects the fault that each case is named after
// (CMakeLists.txt).

namespace trainbench {
namespace {

/// The reason for which neither probe nor backend find a device.
std::string missing_device() {
  const CudaProbe probe = probe_cuda();
  EXPECT_THROW(make_cuda_backend(), Unsupported);
  return probe.reason;
}

TEST(Fault, NoDriver) {
  EXPECT_NE(missing_device().find("no NVIDIA driver is installed"), std::string::npos)
      << missing_device();
}

TEST(Fault, OldDriver) {
  EXPECT_NE(missing_device().find("driver is too old: it supports CUDA"), std::string::npos)
      << missing_device();
}

TEST(Fault, NoDevice) {
  EXPECT_NE(missing_device().find("finds no device"), std::string::npos) << missing_device();
}

TEST(Fault, Prohibited) {
  EXPECT_NE(missing_device().find("Prohibited"), std::string::npos) << missing_device();
  EXPECT_EQ(probe_cuda().devices.size(), 1u) << "the device is there and named";
}

// A kernel fails in the middle of training: that case ends with DeviceError, and so does every
// later use of the device, never with a crash.
TEST(Fault, Launch) {
  const SmallTraining training;
  const auto train = [&] {
    const auto backend = make_cuda_backend();
    Trainer trainer = training.make(*backend);
    const std::vector<Batch> batches = training.resident_batches(*backend);
    for (int step = 0; step < 100; ++step) {
      trainer.step(*backend, batches.front());
      backend->synchronize();
    }
  };
  EXPECT_THROW(train(), DeviceError);
  // The context is lost: the next case finds no device that works, and is told so.
  EXPECT_ANY_THROW(train());
}

// One allocation fails, whichever it is: a clear error, and the next try works.
TEST(Fault, Allocation) {
  const SmallTraining training;
  const auto train = [&] {
    const auto backend = make_cuda_backend();
    Trainer trainer = training.make(*backend);
    trainer.step(*backend, training.resident_batches(*backend).front());
    backend->synchronize();
  };
  std::string message;
  try {
    train();
  } catch (const DeviceError& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("out of device memory: needs"), std::string::npos) << message;
  EXPECT_NO_THROW(train());
}

}  // namespace
}  // namespace trainbench
