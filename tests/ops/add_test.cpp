#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

using AddTest = OpTest;

TEST_P(AddTest, AddsAlsoInPlace) {
  for (const std::int64_t count : {1, 7, 513, 20001}) {
    const Tensor a = random({count}, compute());
    const Tensor b = random({count}, compute());
    const Tensor y = guarded({count}, compute());
    const Values first = values(a);
    const Values second = values(b);
    Values expected, tolerance;
    for (std::size_t i = 0; i < first.size(); ++i) {
      expected.push_back(first[i] + second[i]);
      tolerance.push_back(arithmetic_roundoff(compute()) * std::abs(expected[i]) +
                          storage_tolerance(compute(), expected[i]));
    }
    backend().add(a, b, y);
    expect_near(y, expected, tolerance);
    backend().add(a, b, a);
    expect_near(a, expected, tolerance);
    expect_equal(b, second);
  }
}

// Gradients and weights are added in the master dtype.
TEST_P(AddTest, AddsInTheMasterDtype) {
  const Tensor a = guarded({2}, master(), {1, 0x1p-20});
  backend().add(a, guarded({2}, master(), {0x1p-20, 2}), a);
  expect_equal(a, {1 + 0x1p-20, 2 + 0x1p-20});
}

INSTANTIATE_TEST_SUITE_P(Devices, AddTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
