#pragma once

#include <map>
#include <string>

#include "common/system/device_info.h"

namespace trainbench {

/// What `threads` cores of this CPU do at most: FLOP/s of register-only FMA loops for each
/// precision that has an instruction in this build, and bytes/s of a triad over arrays far larger
/// than the caches. Each is the best of short repeats that together take about `seconds_each`: a
/// peak is a bound, and whatever disturbs a repeat only makes it slower.
Peaks measure_cpu_peaks(int threads, double seconds_each);

/// FLOP/s of the fastest square product met for each precision, through CpuBackend with all its
/// providers: what software reaches of the peak.
std::map<std::string, double> measure_cpu_gemm(int threads, double seconds_each);

/// This CPU as reports show it. Its clock is measured where the machine hides the nominal one; its
/// FP32 lanes follow from a short FMA loop at that clock, as no CPU tells how many FMA units it
/// has.
DeviceInfo cpu_device_info();

/// The clock of a core under scalar code in Hz, from the latency of a chain of multiplications; 0
/// where that latency is not known.
double measure_core_clock();

}  // namespace trainbench
