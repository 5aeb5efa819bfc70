#include "common/config/operation_families.h"

#include <utility>

#include "common/config/axes.h"

namespace trainbench {
namespace {

constexpr std::int64_t kLargestExtent = std::int64_t{1} << 20;
constexpr std::int64_t kLargestImage = 4096;
constexpr std::int64_t kLargestWindow = 64;

/// One extent of a problem.
Axis extent_axis(std::string_view key, std::int64_t most,
                 std::string (*fallback)(std::string_view)) {
  return {.key = key, .least = 1, .most = most, .fallback = fallback, .fallback_in_name = true};
}

/// Who computes; a device skips those that it does not have.
Axis provider_axis(std::vector<std::string_view> choices) {
  return {.key = "provider", .choices = std::move(choices), .fallback = [](std::string_view) {
            return std::string("auto");
          }};
}

/// An axis whose default is the same for all cases of a family.
template <int kDefault>
Axis usual_extent(std::string_view key, std::int64_t most = kLargestExtent) {
  return extent_axis(key, most, [](std::string_view) { return std::to_string(kDefault); });
}

Family matmul_family() {
  return {
      .name = "matmul",
      .claim =
          "A CPU is slow because it computes serially: plain loops, then threads, then its best "
          "library, then the GPU.",
      .cases = {"nn", "nt", "tn"},
      .precisions = training_precisions(),
      .axes = {usual_extent<1024>("m"), usual_extent<1024>("n"), usual_extent<1024>("k"),
               provider_axis(
                   {"auto", "eigen", "blas", "onednn", "naive", "openmp", "vendor", "own"}),
               threads_axis()},
  };
}

Family conv_family() {
  Axis padding = usual_extent<1>("padding", kLargestWindow);
  padding.least = 0;
  Axis provider = provider_axis({"auto", "eigen", "blas", "onednn"});
  provider.only_on = "cpu";
  return {
      .name = "conv",
      .claim =
          "A convolution splits into independent work, so a GPU gains as much in each of its "
          "three passes.",
      .cases = {"forward", "data_gradient", "weight_gradient"},
      .precisions = training_precisions(),
      .axes = {batch_axis([](std::string_view) { return std::string("8"); }),
               usual_extent<56>("image", kLargestImage), usual_extent<64>("channels"),
               usual_extent<64>("filters"), usual_extent<3>("kernel", kLargestWindow),
               usual_extent<1>("stride", kLargestWindow), padding, provider, threads_axis()},
  };
}

Family attention_family() {
  return {
      .name = "attention",
      .claim = "Attention costs the square of the sequence, and a GPU makes long ones affordable.",
      .cases = {"forward", "backward"},
      .precisions = training_precisions(),
      .axes = {batch_axis([](std::string_view) { return std::string("4"); }),
               usual_extent<256>("steps"),
               usual_extent<12>("heads", 1024),
               usual_extent<64>("width", 1024),
               {.key = "causal",
                .choices = {"on", "off"},
                .fallback = [](std::string_view) { return std::string("on"); }},
               threads_axis()},
  };
}

Family scaling_family() {
  return {
      .name = "scaling",
      .claim =
          "Thousands of threads compute at once: products speed up with every core, and what "
          "waits for memory does not.",
      .cases = {"compute", "bandwidth"},
      .precisions = {"fp32"},
      .axes = {extent_axis("size", kLargestExtent,
                           [](std::string_view name) {
                             return std::string(name == "compute" ? "1024" : "32768");
                           }),
               threads_axis()},
  };
}

}  // namespace

std::vector<Family> operation_families() {
  return {matmul_family(), conv_family(), attention_family(), scaling_family()};
}

}  // namespace trainbench
