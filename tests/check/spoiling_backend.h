#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/check/check_backend.h"
#include "common/check/random_tensor.h"
#include "common/forwarding_backend.h"
#include "cpu/cpu_backend.h"

namespace trainbench {

/// Spoils one result of one operation after it ran. A group of operations derives from it and hands
/// each of its results, as "operation" or "operation.output", to maybe().
class SpoilingBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  /// Every `stride`th element of it, from `first` on, gets wrong by a few hundredths; the first
  /// alone where there is no stride.
  void spoil(std::string target, std::int64_t first = 0, std::int64_t stride = 0) {
    target_ = std::move(target);
    first_ = first;
    stride_ = stride;
  }

 protected:
  void maybe(const std::string& result, Tensor tensor) {
    if (result != target_ || tensor.absent()) return;
    if (tensor.dtype == DType::u8) {
      StepState state = read_step_state(inner_, tensor);
      ++state.skipped_steps;
      inner_.copy_from_host(tensor, &state);
      return;
    }
    std::vector<double> values = read_values(inner_, tensor);
    const std::int64_t stride = stride_ > 0 ? stride_ : tensor.elements();
    for (std::int64_t i = first_ % tensor.elements(); i < tensor.elements(); i += stride) {
      double& value = values[static_cast<std::size_t>(i)];
      value += tensor.dtype == DType::i32 ? 1 : 0.02 * (1 + std::abs(value));
    }
    write_values(inner_, tensor, values);
  }

 private:
  std::string target_;
  std::int64_t first_ = 0;
  std::int64_t stride_ = 0;
};

/// Runs a group's operations once through the first backend, on results of up to rows x columns
/// elements in the second's memory.
using RunOperations = void (*)(Backend&, Backend&, std::int64_t, std::int64_t, DType);

struct Extents {
  std::int64_t rows;
  std::int64_t columns;
};

/// The failed results when `target` is spoilt.
template <class Spoiling>
std::vector<OutputCheck> failures(RunOperations run, const std::string& target, Extents extents,
                                  std::int64_t first, std::int64_t stride, DType dtype) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  Spoiling spoiling(*cpu);
  spoiling.spoil(target, first, stride);
  CheckBackend check(spoiling);
  run(check, *cpu, extents.rows, extents.columns, dtype);
  std::vector<OutputCheck> failed;
  for (const OutputCheck& output : check.outputs()) {
    if (!output.passed()) failed.push_back(output);
  }
  EXPECT_EQ(check.summary().passed, failed.empty());
  return failed;
}

/// One wrong element of a small result fails it alone. An update's copy of the weights is right if
/// it is the spoilt master, rounded.
template <class Spoiling>
void expect_to_fail_alone(RunOperations run, const std::string& target) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const auto failed = failures<Spoiling>(run, target, {9, 7}, 0, 0, dtype);
    const bool copy_too = target == "sgd.master" || target == "adamw.master";
    ASSERT_EQ(failed.size(), copy_too ? 2u : 1u) << target << " " << name_of(dtype);
    EXPECT_EQ(failed[0].failures, 1);
    const std::string operation = target.substr(0, target.find('.'));
    EXPECT_EQ(failed[0].operation.substr(0, operation.size()), operation);
    if (target.find('.') != std::string::npos) {
      EXPECT_EQ(failed[0].output, target.substr(target.find('.') + 1));
    }
    EXPECT_NE(failed[0].describe().find(operation), std::string::npos);
  }
}

/// Of 300 x 200 elements 4,096 are checked: of every 50th that is wrong, about 82.
template <class Spoiling>
void expect_a_fraction_to_fail(RunOperations run, const std::string& target) {
  EXPECT_FALSE(failures<Spoiling>(run, target, {300, 200}, 3, 50, DType::f32).empty());
}

inline void expect_to_pass_unspoilt(RunOperations run) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    CheckBackend check(*cpu);
    run(check, *cpu, 9, 7, dtype);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
  }
}

}  // namespace trainbench
