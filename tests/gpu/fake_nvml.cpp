#include <cstring>

// An NVML library whose device is throttled and refuses its power, its ECC mode and most else.

namespace {
constexpr int kSuccess = 0;
constexpr int kNotSupported = 3;
}  // namespace

extern "C" {

int nvmlInit_v2() { return kSuccess; }

int nvmlDeviceGetHandleByPciBusId_v2(const char*, void** device) {
  static int only;
  *device = &only;
  return kSuccess;
}

int nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "1.2.3", size);
  return kSuccess;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 12345;
  return kNotSupported;
}

int nvmlDeviceGetEccMode(void*, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return kNotSupported;
}

int nvmlDeviceGetMigMode(void*, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return kSuccess;
}

int nvmlDeviceGetClockInfo(void*, int type, unsigned* megahertz) {
  *megahertz = type == 1 ? 1500 : type == 2 ? 2000 : 0;
  return kSuccess;
}

int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 1 << 2 | 1 << 6 | 1 << 12;
  return kSuccess;
}

}  // extern "C"
