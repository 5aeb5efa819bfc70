#pragma once

#include <string>
#include <vector>

#include "bench/harness/devices.h"
#include "common/config/suite.h"
#include "common/report/result.h"

namespace trainbench {

/// What a run was asked for, as its results repeat it.
struct RunSettings {
  std::vector<std::string> command;  ///< the command line
  std::uint64_t seed = 1;
  std::string data;  ///< --data; empty: the default
  std::string cpu_provider;
  std::string gpu_provider;
  bool interleaved = true;
  int processes = 0;       ///< --processes; 0: all in one
  bool peaks = true;       ///< they are measured
  std::string test_fault;  ///< bench/harness/test_fault.h; empty: none
};

/// Where results go that were given no name: "results/2026-01-31T120000-host".
std::string default_output_stem();

/// CPU threads of a case: its own, or the physical cores that may be used; 0 on a GPU.
int threads_of(const CaseId& id);

/// The devices the cases name, in order.
std::vector<std::string> devices_of(const Suite& suite);

/// Those devices with their measured peaks and, for a GPU, its state before anything ran; or why
/// they are missing: the context's "devices".
nlohmann::ordered_json device_context(const Suite& suite, Devices& devices);

/// Ends that list after the run: a GPU's state now, and the peaks as they are known by then.
void finish_device_context(nlohmann::ordered_json& list, Devices& devices);

/// All that a reader needs to judge or repeat a run: build, machine, devices, libraries, settings,
/// and what the clock and the counts mean.
nlohmann::ordered_json run_context(const Suite& suite, const RunSettings& settings,
                                   Devices& devices);

}  // namespace trainbench
