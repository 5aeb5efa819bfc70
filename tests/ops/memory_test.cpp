#include <cstring>
#include <numeric>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

constexpr std::int64_t kCounts[] = {1, 3, 17, 129, 4099};

using MemoryTest = OpTest;

TEST_P(MemoryTest, BytesSurviveTheWayThereAndBack) {
  for (const std::int64_t count : kCounts) {
    Values bytes;
    for (std::int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<double>(i * 37 % 256));
    expect_equal(guarded({count}, DType::u8, bytes), bytes);
    const Values numbers = random_values(count, 1);
    expect_equal(guarded({count}, DType::f64, numbers), numbers);
  }
}

TEST_P(MemoryTest, TheHostMayReuseItsMemoryAtOnce) {
  std::vector<float> host(100000, 1.0f);
  const Tensor tensor = backend().allocate(Shape{100000}, DType::f32, MemoryKind::workspace);
  backend().copy_from_host(tensor, host.data());
  std::fill(host.begin(), host.end(), 2.0f);
  const Values expected(100000, 1.0);
  expect_equal(tensor, expected);
}

TEST_P(MemoryTest, CopiesAndClears) {
  for (const std::int64_t count : kCounts) {
    const Tensor from = random({count}, compute());
    const Tensor to = random({count}, compute());
    backend().copy(from, to);
    expect_equal(to, values(from));
    backend().fill_zero(to);
    expect_equal(to, Values(static_cast<std::size_t>(count), 0.0));
  }
}

TEST_P(MemoryTest, CountsWhatIsHeldByKind) {
  const MemoryUse before = backend().memory();
  backend().allocate(Shape{3, 5}, DType::f32, MemoryKind::parameters);
  backend().allocate(Shape{7}, DType::bf16, MemoryKind::gradients);
  backend().allocate(Shape{2}, DType::f64, MemoryKind::gradients);
  const MemoryUse after = backend().memory();
  EXPECT_EQ(after[MemoryKind::parameters] - before[MemoryKind::parameters], 60u);
  EXPECT_EQ(after[MemoryKind::gradients] - before[MemoryKind::gradients], 30u);
  EXPECT_EQ(after[MemoryKind::optimizer], before[MemoryKind::optimizer]);
  EXPECT_EQ(after.allocations - before.allocations, 3);
}

TEST_P(MemoryTest, ARecordingRunsWhenItIsReplayed) {
  const Tensor x = guarded({1, 17}, compute(), Values(17, 1.0));
  const Tensor bias = guarded({17}, compute(), Values(17, 2.0));
  backend().add_bias(x, bias);
  const auto recording = backend().record([&] { backend().add_bias(x, bias); });
  expect_equal(x, Values(17, 3.0));
  recording->replay();
  recording->replay();
  expect_equal(x, Values(17, 7.0));
}

TEST_P(MemoryTest, ATimerMeasuresFromStartToStop) {
  const auto timer = backend().make_timer();
  const Tensor x = random({33, 129}, compute());
  timer->start();
  backend().fill_zero(x);
  timer->stop();
  const double seconds = timer->seconds();
  EXPECT_TRUE(std::isfinite(seconds));
  EXPECT_GE(seconds, 0);
}

TEST_P(MemoryTest, AChannelCarriesBytesSlotBySlot) {
  constexpr std::size_t kBytes = 1003;
  constexpr int kSlots = 2;
  const auto channel = backend().make_channel(kBytes, kSlots);
  for (int round = 0; round < 6; ++round) {
    const int slot = round % kSlots;
    std::byte* host = channel->host(slot);
    for (std::size_t i = 0; i < kBytes; ++i) {
      host[i] = static_cast<std::byte>((i + static_cast<std::size_t>(round)) % 251);
    }
    channel->send(slot);
    const Tensor received = channel->receive(slot);
    ASSERT_EQ(received.bytes(), kBytes);
    const Tensor kept = guarded({static_cast<std::int64_t>(kBytes)}, DType::u8);
    backend().copy(received, kept);
    channel->release(slot);
    Values expected;
    for (std::size_t i = 0; i < kBytes; ++i) {
      expected.push_back(static_cast<double>((i + static_cast<std::size_t>(round)) % 251));
    }
    expect_equal(kept, expected);
  }
}

TEST_P(MemoryTest, KeepsTheStepState) {
  const StepState written{.learning_rate = 0.25f,
                          .loss_scale = 3,
                          .step = 4,
                          .clean_steps = 5,
                          .nonfinite = 1,
                          .skipped_steps = 7};
  const StepState read = read_step_state(backend(), allocate_step_state(backend(), written));
  EXPECT_EQ(std::memcmp(&read, &written, sizeof read), 0);
}

INSTANTIATE_TEST_SUITE_P(Devices, MemoryTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
