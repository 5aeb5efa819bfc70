#pragma once

#include <string>
#include <vector>

#include "common/report/result.h"

namespace trainbench {

/// A measured case: ten repetitions around `seconds` whose order statistics are known, as
/// seconds * {1.00, 1.01, ..., 1.09} in a mixed order.
inline CaseResult sample_case(const std::string& name, double seconds) {
  CaseResult result;
  result.id = CaseId::parse(name);
  result.counters = {{"flops_per_iteration", 8.5e9},
                     {"memory_bytes_parameters", 23.2e6},
                     {"memory_bytes_activations", 8.6e6},
                     {"max_relative_error", 1.25e-7}};
  result.served = {{"matmul 256x2048x784 NT f32", "onednn"}, {"relu", "own"}};
  result.details = {{"warmup", {{"iterations", 12}, {"ended_by", "agreement"}}}};
  const int order[] = {4, 9, 0, 7, 2, 5, 1, 8, 3, 6};
  for (const int step : order) {
    Sample sample;
    sample.real_time = seconds * (1 + 0.01 * step);
    sample.cpu_time = 2 * sample.real_time;
    sample.iterations = 12;
    const double batch = static_cast<double>(result.id.integer("batch", 1));
    sample.counters = {{"wall_time", sample.real_time},
                       {"samples_per_second", batch / sample.real_time},
                       {"flops_per_second", 8.5e9 / sample.real_time},
                       {"fraction_of_peak_flops", 8.5e9 / sample.real_time / 350e9},
                       {"bytes_per_second", 0.4e9 / sample.real_time},
                       {"loss_first", 2.3125},
                       {"loss_last", 0.5}};
    result.samples.push_back(std::move(sample));
  }
  return result;
}

inline CaseResult unmeasured_case(const std::string& name, Status status,
                                  const std::string& reason) {
  CaseResult result;
  result.id = CaseId::parse(name);
  result.status = status;
  result.reason = reason;
  return result;
}

/// A report of a CPU and a GPU that is no simulation, with `scale` on all times.
inline Report sample_report(double scale = 1) {
  Report report;
  report.google_context = {{"date", "2026-01-31T12:00:00+01:00"},
                           {"host_name", "host"},
                           {"executable", "/usr/bin/trainbench"},
                           {"num_cpus", 4},
                           {"mhz_per_cpu", 2500},
                           {"cpu_scaling_enabled", false},
                           {"caches", nlohmann::ordered_json::array()},
                           {"load_avg", {0.5, 0.25, 0.125}},
                           {"library_build_type", "release"}};
  report.context = {{"suite", "sample"}};
  report.context["devices"] = {
      {{"kind", "cpu"},
       {"name", "Some CPU"},
       {"simulated", false},
       {"units", 2},
       {"threads", 2},
       {"peaks", {{"flops", {{"fp32", 350e9}, {"bf16", 350e9}}}, {"bandwidth", 20e9}}}},
      {{"kind", "gpu"},
       {"name", "Some GPU"},
       {"simulated", false},
       {"units", 132},
       {"peaks", {{"flops", {{"fp32", 35e12}, {"bf16", 700e12}}}, {"bandwidth", 3e12}}}}};
  report.results = {
      sample_case("train/mlp/cpu/fp32/batch:256", scale * 0.036),
      sample_case("train/mlp/cpu/fp32/batch:256/threads:1", scale * 0.070),
      sample_case("train/mlp/cpu/bf16/batch:256", scale * 0.090),
      sample_case("train/mlp/gpu/fp32/batch:256", scale * 0.00036),
      sample_case("train/mlp/gpu/bf16/batch:256", scale * 0.00012),
      sample_case("train/mlp/cpu/fp32/batch:256/boundary:end-to-end", scale * 0.040),
      unmeasured_case("train/mlp/gpu/fp16/batch:256", Status::skipped, "no half on this device"),
      unmeasured_case("train/mlp/gpu/tf32/batch:256", Status::failed,
                      "output check failed: C[3, 7] is 1.5, reference 1.25"),
  };
  return report;
}

}  // namespace trainbench
