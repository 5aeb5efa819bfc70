#include "common/config/families.h"

#include "common/config/axes.h"
#include "common/config/operation_families.h"
#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/data/dataset.h"
#include "common/models/workload.h"
#include "common/probes.h"

namespace trainbench {
namespace {

constexpr std::int64_t kMostChains = std::int64_t{1} << 24;
constexpr std::int64_t kMostKib = std::int64_t{1} << 30;

/// Of all arrays together; without it they are larger than any cache.
Axis working_set_axis() { return {.key = "kib", .least = 1, .most = kMostKib}; }

Family train_family() {
  Family family{
      .name = "train",
      .claim = "A GPU trains tens to hundreds of times more samples a second than a CPU.",
      .axes = {batch_axis([](std::string_view workload) {
                 return std::to_string(workload_by_name(workload).default_batch);
               }),
               {.key = "boundary",
                .choices = {"resident", "end-to-end"},
                .fallback = [](std::string_view) { return std::string("resident"); }},
               threads_axis(),
               {.key = "fusion",
                .choices = {"on", "off"},
                .fallback = [](std::string_view) { return std::string("on"); }}},
      .check_sizes =
          [](std::string_view name, const ModelSizes& sizes) {
            const Workload& workload = workload_by_name(name);
            workload.make(workload, sizes);
          },
  };
  for (const Workload& workload : workloads()) family.cases.push_back(workload.name);
  family.precisions = training_precisions();
  return family;
}

Family infer_family() {
  Family family = train_family();
  family.name = "infer";
  family.claim =
      "GPUs are for training, not for inference: one request keeps few of its units busy.";
  family.axes = {batch_axis([](std::string_view) { return std::string("1"); }), threads_axis()};
  return family;
}

Family loader_family() {
  return {
      .name = "loader",
      .claim = "Moving data starves the compute: a loader slower than the step sets its pace.",
      .cases = data_kinds(),
      .precisions = {"u8"},
      .axes = {batch_axis([](std::string_view) { return std::string("256"); })},
  };
}

Family stream_family() {
  Family family{
      .name = "stream",
      .claim = "A GPU's memory moves tens of times more bytes a second than a CPU's.",
      .precisions = {"fp32"},
      .axes = {working_set_axis(), threads_axis()},
  };
  for (const StreamForm& form : kStreamForms) family.cases.push_back(form.name);
  return family;
}

Family latency_family() {
  Axis kib = working_set_axis();
  kib.only_in = "chase";
  return {
      .name = "latency",
      .claim =
          "One thing after the other is quicker on a CPU; a GPU wins by tens of thousands at "
          "once.",
      .cases = {"chase", "fma"},
      .precisions = {"fp32"},
      .axes = {kib,
               {.key = "chains", .least = 1, .most = kMostChains, .only_in = "fma"},
               threads_axis()},
  };
}

Family launch_family() {
  return {
      .name = "launch",
      .claim =
          "Each kernel costs microseconds before it does anything: small steps are bound by it.",
      .cases = {"empty", "chain", "graph", "barrier"},
      .precisions = {"fp32"},
      .axes = {threads_axis()},
  };
}

Family transfer_family() {
  Axis kib = working_set_axis();
  kib.fallback = [](std::string_view) { return std::string("65536"); };
  kib.fallback_in_name = true;
  return {
      .name = "transfer",
      .claim = "Data comes to a GPU tens of times more slowly than its memory could take it.",
      .cases = {"h2d", "d2h", "both"},
      .precisions = {"u8"},
      .axes = {kib,
               {.key = "host",
                .choices = {"pinned", "pageable"},
                .fallback = [](std::string_view) { return std::string("pinned"); },
                .fallback_in_name = true}},
  };
}

}  // namespace

const std::vector<std::string_view>& device_kinds() {
  static const std::vector<std::string_view> kinds{"cpu", "gpu"};
  return kinds;
}

const std::vector<Family>& families() {
  static const std::vector<Family> table = [] {
    std::vector<Family> all{train_family(),   loader_family(), stream_family(),
                            latency_family(), launch_family(), transfer_family()};
    for (Family& family : operation_families()) all.push_back(std::move(family));
    all.push_back(infer_family());
    return all;
  }();
  return table;
}

const Family& family_by_name(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Family& family : families()) {
    if (family.name == name) return family;
    known.push_back(family.name);
  }
  throw InputError("unknown family " + in_quotes(name) + "; " + right_spelling(name, known));
}

}  // namespace trainbench
