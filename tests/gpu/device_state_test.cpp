#include "gpu/device_state.h"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "common/system/salted_hash.h"
#include "gpu/cuda_device.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

/// The UUID by which NVML knows the device, made from what the CUDA runtime knows of it.
std::string uuid_of(int device) {
  cudaDeviceProp properties{};
  EXPECT_EQ(cudaGetDeviceProperties(&properties, device), cudaSuccess);
  std::string text = "GPU-";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    std::snprintf(byte, sizeof byte, "%02x", static_cast<unsigned char>(properties.uuid.bytes[i]));
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += byte;
  }
  return text;
}

/// Holds a value to a range; only a real device may refuse it.
void expect_within(const Json& state, const char* path, double low, double high) {
  const Json& value = state.at(Json::json_pointer(path));
  if (value.is_null() && !probe_cuda().devices.front().info.simulated) return;
  ASSERT_TRUE(value.is_number()) << path << ": " << value;
  EXPECT_GE(value.get<double>(), low) << path;
  EXPECT_LE(value.get<double>(), high) << path;
}

std::string missing(int device, const std::string& library) {
  const Json state = cuda_device_state(device, library);
  EXPECT_EQ(state.size(), 1u) << state;
  return state.value("missing", "");
}

TEST(CudaDeviceState, ValuesArePlausible) {
  const Json state = cuda_device_state(0);
  ASSERT_FALSE(state.contains("missing")) << state;
  EXPECT_FALSE(state.at("driver").get<std::string>().empty());
  // Wide enough for every device since Volta, too narrow for a wrong unit.
  expect_within(state, "/sm_clock_max", 0.5e9, 5e9);
  expect_within(state, "/sm_clock", 0.05e9, 5e9);
  expect_within(state, "/memory_clock_max", 0.5e9, 20e9);
  expect_within(state, "/memory_clock", 0.1e9, 20e9);
  expect_within(state, "/power_limit", 15, 3000);
  expect_within(state, "/power", 1, 3000);
  expect_within(state, "/temperature", 5, 110);
  expect_within(state, "/pcie/generation_max", 3, 9);
  expect_within(state, "/pcie/generation", 1, 9);
  expect_within(state, "/pcie/width_max", 1, 32);
  expect_within(state, "/pcie/width", 1, 32);
}

TEST(CudaDeviceState, IsOfTheDeviceThatCudaMeansAndHidesItsUuid) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  for (int device = 0; device < count; ++device) {
    const Json state = cuda_device_state(device);
    if (state.at("mig") == true) GTEST_SKIP() << "CUDA's UUID is that of a part of the GPU";
    EXPECT_EQ(state.at("uuid_hash"), salted_hash(uuid_of(device))) << device;
  }
}

TEST(CudaDeviceState, WhatNvmlRefusesOrLacksIsNull) {
  const Json state = cuda_device_state(0, FAKE_NVML);
  EXPECT_EQ(state.at("driver"), "1.2.3");
  EXPECT_EQ(state.at("sm_clock"), 1.5e9);
  EXPECT_EQ(state.at("memory_clock"), 2e9);
  EXPECT_EQ(state.at("mig"), true);
  for (const char* refused : {"power", "ecc"}) EXPECT_TRUE(state.at(refused).is_null()) << refused;
  for (const char* absent : {"uuid_hash", "persistence_mode", "sm_clock_max", "temperature"}) {
    EXPECT_TRUE(state.at(absent).is_null()) << absent;
  }
  EXPECT_TRUE(state.at("pcie").at("width").is_null());
}

TEST(CudaDeviceState, ThrottleReasonsHaveNames) {
  EXPECT_EQ(cuda_device_state(0, FAKE_NVML).at("throttle_reasons"),
            (Json{"sw_power_cap", "hw_thermal_slowdown", "bit_12"}));
}

TEST(CudaDeviceState, SaysWhyItIsMissing) {
  const std::string absent = missing(0, "libnvidia-ml-absent.so.1");
  EXPECT_NE(absent.find("NVML: libnvidia-ml-absent.so.1: cannot open"), std::string::npos)
      << absent;
  EXPECT_EQ(missing(0, "libm.so.6"), "NVML: libm.so.6 has no nvmlInit_v2");
  EXPECT_EQ(missing(0, FAILING_NVML), "NVML: Driver Not Loaded");
  EXPECT_EQ(missing(99, FAKE_NVML), "CUDA device 99: invalid device ordinal");
}

}  // namespace
}  // namespace trainbench
