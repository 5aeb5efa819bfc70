#include "common/nn/parameters.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>

#include "common/core/philox.h"
#include "common/host_values.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

ParameterLayout two_parameters() {
  ParameterLayout layout;
  layout.add("first", Shape{3, 5}, Initial::uniform(0.5));
  layout.add("second", Shape{64}, Initial::uniform(2));
  layout.add("third", Shape{65}, Initial::uniform(1));
  return layout;
}

TEST(ParameterLayout, StartsEachParameterAtAMultipleOfTheAlignment) {
  const ParameterLayout layout = two_parameters();
  ASSERT_EQ(layout.specs().size(), 3u);
  EXPECT_EQ(layout.specs()[0].offset, 0);
  EXPECT_EQ(layout.specs()[1].offset, 64);
  EXPECT_EQ(layout.specs()[2].offset, 128);
  EXPECT_EQ(layout.elements(), 256);
  EXPECT_EQ(layout.parameter_count(), 15 + 64 + 65);
}

// The index-th number of the stream that the parameter's own index names, scaled to its bound.
TEST(ParameterLayout, InitialValuesAreAFunctionOfTheSeedAlone) {
  const ParameterLayout layout = two_parameters();
  std::vector<double> expected(256, 0.0);
  for (std::size_t p = 0; p < layout.specs().size(); ++p) {
    const ParameterSpec& spec = layout.specs()[p];
    for (std::int64_t i = 0; i < spec.shape.elements(); ++i) {
      const std::uint32_t word = Philox(42, p).word(static_cast<std::uint64_t>(i));
      expected[static_cast<std::size_t>(spec.offset + i)] =
          -spec.initial.spread + 2 * spec.initial.spread * (static_cast<double>(word) / 0x1p32);
    }
  }
  const int threads = omp_get_max_threads();
  for (const int n : {1, 2, 3, 7}) {
    omp_set_num_threads(n);
    EXPECT_EQ(layout.initial_values(42), expected) << n << " threads";
  }
  omp_set_num_threads(threads);
  EXPECT_NE(layout.initial_values(43), expected);
}

TEST(Parameters, StartAsTheLayoutSaysInEveryPrecision) {
  const ParameterLayout layout = two_parameters();
  const std::vector<double> initial = layout.initial_values(7);
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  for (const Precision& precision : {kFp64, kFp32, kFp16, kBf16}) {
    const Parameters parameters(*backend, layout, precision, 7);
    std::vector<double> expected = initial;
    for (double& value : expected) value = rounded_to(precision.master, value);
    EXPECT_EQ(read_values(*backend, parameters.master()), expected) << precision.name;
    EXPECT_EQ(read_values(*backend, parameters.gradients()), std::vector<double>(256, 0.0));
    // What layers read is the master, rounded.
    const std::vector<double> second = read_values(*backend, parameters.weight(1));
    ASSERT_EQ(second.size(), 64u);
    for (std::size_t i = 0; i < second.size(); ++i) {
      EXPECT_EQ(second[i], rounded_to(precision.compute, expected[64 + i])) << precision.name;
    }
  }
}

TEST(Parameters, ViewsLieInTheFlatBuffers) {
  const ParameterLayout layout = two_parameters();
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  Parameters parameters(*backend, layout, kFp32, 1);
  EXPECT_EQ(parameters.weight(0).shape, Shape({3, 5}));
  EXPECT_EQ(parameters.gradient(2).shape, Shape({65}));
  EXPECT_EQ(parameters.weight(1).data, parameters.master().range(64, 64).data);
  EXPECT_EQ(parameters.gradient(1).data, parameters.gradients().range(64, 64).data);
  std::vector<double> values(256, 0.25);
  parameters.set(*backend, values);
  EXPECT_EQ(read_values(*backend, parameters.master()), values);
}

}  // namespace
}  // namespace trainbench
