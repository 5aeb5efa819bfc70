#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/backend.h"

namespace trainbench {

enum class Status : std::uint8_t { ok, failed, skipped };

std::string_view name_of(Status status);

/// What identifies a case. Its name, `family/case/device/precision/key:value...`, is made of these.
struct CaseId {
  std::string family;                                     ///< "train"
  std::string name;                                       ///< "mlp"
  std::string device;                                     ///< "cpu" or "gpu"
  std::string precision;                                  ///< "fp32"
  std::vector<std::pair<std::string, std::string>> keys;  ///< {"batch", "256"}, in printed order

  std::string full_name() const;
  /// The id that has this full name; throws InputError for what is none.
  static CaseId parse(const std::string& full_name);
  /// The id of a case that another program named: the name is all that is known of it.
  static CaseId of_another_program(std::string name) {
    return {.family = std::move(name), .name = "", .device = "", .precision = "", .keys = {}};
  }

  /// The value of a key, or `fallback` where the case does not have it.
  std::string text(const std::string& key, const std::string& fallback) const;
  std::int64_t integer(const std::string& key, std::int64_t fallback) const;
};

/// One repetition of a case: the unit that statistics are made of. Times are seconds an iteration
/// (one training step, one loaded batch).
struct Sample {
  double real_time = 0;  ///< Google Benchmark's: wall time on the CPU, device events on the GPU
  double cpu_time = 0;
  std::int64_t iterations = 0;
  int process = 0;                         ///< which of the run's processes took it
  std::map<std::string, double> counters;  ///< per repetition: wall_time, gpu_time, loss_first, ...
};

/// Everything that is known of a case after the run.
struct CaseResult {
  CaseId id;
  Status status = Status::ok;
  std::string reason;      ///< why it failed or was skipped
  bool simulated = false;  ///< the device is a simulation: its times are no speed
  std::vector<Sample> samples;
  std::map<std::string, double> counters;  ///< equal for all repetitions: memory, FLOPs, error
  std::vector<Served> served;              ///< what computed each operation
  nlohmann::ordered_json details;          ///< anything else worth keeping: warm-up, flags, notes

  /// Its status and reason; a case that is ok but was never measured has failed.
  Status outcome() const;
  std::string outcome_reason() const;

  /// The case's and each sample's value of a counter: one a sample, or none where a sample lacks
  /// it.
  std::vector<double> values(const std::string& counter) const;
};

/// A run: its context and its cases in the order they were asked for.
struct Report {
  nlohmann::ordered_json google_context;  ///< Google Benchmark's own context: date, host_name, ...
  nlohmann::ordered_json context;         ///< the "trainbench" object: machine, build, settings
  std::vector<CaseResult> results;
  bool partial = false;  ///< interrupted: some cases have fewer repetitions than asked, or none
};

}  // namespace trainbench
