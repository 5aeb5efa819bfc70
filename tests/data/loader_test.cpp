#include "common/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <set>

#include "common/core/error.h"

namespace trainbench {
namespace {

using std::chrono::microseconds;

constexpr std::int64_t kSamples = 30;

// Each sample's bytes and label tell its index.
Dataset numbered_dataset(std::int64_t samples = kSamples) {
  Dataset data{.name = "numbered",
               .synthetic = true,
               .sample_shape = Shape{3, 1, 1},
               .classes = samples,
               .train = {},
               .test = {}};
  for (std::int64_t i = 0; i < samples; ++i) {
    data.train.samples.insert(data.train.samples.end(), 3, static_cast<std::uint8_t>(i));
    data.train.labels.push_back(static_cast<std::int32_t>(i));
    ++data.train.count;
  }
  return data;
}

std::vector<int> labels_of(const Batch& batch) {
  const auto* labels = batch.labels.as<std::int32_t>();
  const auto* samples = batch.samples.as<std::uint8_t>();
  std::vector<int> result(labels, labels + batch.labels.elements());
  for (std::size_t i = 0; i < result.size(); ++i) {
    for (std::size_t p = 0; p < 3; ++p) EXPECT_EQ(samples[3 * i + p], result[i]);
  }
  return result;
}

// What a source gives, without a thread.
std::vector<int> expected_labels(const Dataset& data, std::int64_t batch, std::uint64_t seed,
                                 int batches) {
  BatchSource source(data, batch, seed);
  std::vector<std::byte> memory(source.layout().bytes());
  std::vector<int> all;
  for (int i = 0; i < batches; ++i) {
    source.fill_next(memory.data());
    const std::vector<int> labels = labels_of(source.layout().view(memory.data()));
    all.insert(all.end(), labels.begin(), labels.end());
  }
  return all;
}

TEST(EpochOrder, IsAPermutationOfSeedAndEpochAlone) {
  const std::vector<std::uint32_t> order = epoch_order(1000, 1, 2);
  EXPECT_EQ(std::set<std::uint32_t>(order.begin(), order.end()).size(), 1000u);
  EXPECT_EQ(*std::max_element(order.begin(), order.end()), 999u);
  EXPECT_EQ(order, epoch_order(1000, 1, 2));
  EXPECT_NE(order, epoch_order(1000, 1, 3));
  EXPECT_NE(order, epoch_order(1000, 2, 2));
}

// Computed by another implementation of Philox4x32-10 and of the shuffle, in Python.
TEST(EpochOrder, IsTheSameOnEveryMachine) {
  EXPECT_EQ(epoch_order(10, 7, 0), (std::vector<std::uint32_t>{7, 0, 4, 9, 6, 1, 5, 2, 3, 8}));
  EXPECT_EQ(epoch_order(10, 7, 1), (std::vector<std::uint32_t>{7, 8, 3, 5, 0, 6, 4, 1, 9, 2}));
  EXPECT_EQ(epoch_order(10, 8, 0), (std::vector<std::uint32_t>{0, 1, 9, 2, 3, 8, 7, 4, 6, 5}));
}

TEST(EpochOrder, PermutationsAreEquallyLikely) {
  constexpr int kEpochs = 24000;
  std::map<std::vector<std::uint32_t>, int> counts;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    ++counts[epoch_order(4, 11, static_cast<std::uint64_t>(epoch))];
  }
  ASSERT_EQ(counts.size(), 24u);
  double chi_squared = 0;
  for (const auto& [order, count] : counts) {
    const double off = count - kEpochs / 24.0;
    chi_squared += off * off / (kEpochs / 24.0);
  }
  EXPECT_LT(chi_squared, 49.7);  // 23 degrees of freedom: exceeded with probability 0.001
}

TEST(BatchSource, VisitsEachSampleOnceAnEpoch) {
  const Dataset data = numbered_dataset();
  const std::vector<int> all = expected_labels(data, 5, 1, 18);
  for (int epoch = 0; epoch < 3; ++epoch) {
    const auto start = all.begin() + epoch * kSamples;
    EXPECT_EQ(std::set<int>(start, start + kSamples).size(), static_cast<std::size_t>(kSamples));
  }
  EXPECT_NE(std::vector<int>(all.begin(), all.begin() + kSamples),
            std::vector<int>(all.begin() + kSamples, all.begin() + 2 * kSamples));
}

TEST(BatchSource, OrderDoesNotDependOnTheBatch) {
  const Dataset data = numbered_dataset();
  EXPECT_EQ(expected_labels(data, 5, 1, 12), expected_labels(data, 10, 1, 6));
  EXPECT_NE(expected_labels(data, 5, 1, 6), expected_labels(data, 5, 2, 6));
}

TEST(BatchSource, LeavesOutTheRemainder) {
  const Dataset data = numbered_dataset(32);
  EXPECT_EQ(BatchSource(data, 5, 1).batches_per_epoch(), 6);
  const std::vector<int> all = expected_labels(data, 5, 1, 12);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const std::vector<std::uint32_t> order = epoch_order(32, 1, static_cast<std::uint64_t>(epoch));
    EXPECT_TRUE(std::equal(order.begin(), order.begin() + 30, all.begin() + epoch * 30));
  }
}

TEST(BatchSource, ABatchNeedsThatManySamples) {
  const Dataset data = numbered_dataset();
  EXPECT_NO_THROW(BatchSource(data, kSamples, 1));
  EXPECT_THROW(BatchSource(data, kSamples + 1, 1), InputError);
  EXPECT_THROW(BatchSource(data, 0, 1), InputError);
}

TEST(BatchLayout, LabelsAreAlignedBehindTheSamples) {
  const Dataset data = numbered_dataset();
  for (const std::int64_t batch : {1, 7, 30}) {
    const BatchLayout layout(data, batch);
    EXPECT_GE(layout.label_offset(), static_cast<std::size_t>(3 * batch));
    EXPECT_EQ(layout.label_offset() % alignof(std::int32_t), 0u);
    EXPECT_EQ(layout.bytes(), layout.label_offset() + 4 * static_cast<std::size_t>(batch));
    const Batch view = layout.view(nullptr);
    EXPECT_EQ(view.samples.shape, (Shape{batch, 3, 1, 1}));
    EXPECT_EQ(view.labels.shape, (Shape{batch}));
  }
}

// Windows of four tokens, each starting where the one before ends.
TEST(BatchSource, SequencesOverlapByOneTokenAndHaveNoLabels) {
  const std::vector<std::int32_t> tokens{5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  Dataset data{.name = "tokens",
               .synthetic = true,
               .sample_shape = Shape{4},
               .dtype = DType::i32,
               .classes = 15,
               .train = {},
               .test = {}};
  data.train.samples.resize(tokens.size() * sizeof tokens[0]);
  std::memcpy(data.train.samples.data(), tokens.data(), data.train.samples.size());
  data.train.count = 3;
  BatchSource source(data, 3, 1);
  EXPECT_EQ(source.layout().bytes(), 3u * 4u * sizeof tokens[0]);
  std::vector<std::byte> memory(source.layout().bytes());
  source.fill_next(memory.data());
  const Batch batch = source.layout().view(memory.data());
  EXPECT_EQ(batch.samples.shape, (Shape{3, 4}));
  EXPECT_EQ(batch.samples.dtype, DType::i32);
  EXPECT_TRUE(batch.labels.absent());
  const auto* seen = batch.samples.as<std::int32_t>();
  const std::vector<std::uint32_t> order = epoch_order(3, 1, 0);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t step = 0; step < 4; ++step) {
      EXPECT_EQ(seen[4 * i + step], tokens[3 * order[i] + step]);
    }
  }
}

struct ChannelBehaviour {
  microseconds delay{0};   ///< of every send
  int fails_at_send = -1;  ///< the send that throws
};

// Slots in host memory. Checks that each goes host -> send -> receive -> release.
class FakeChannel : public BatchChannel {
 public:
  FakeChannel(std::size_t slot_bytes, int slots, ChannelBehaviour behaviour)
      : behaviour_(behaviour), slots_(static_cast<std::size_t>(slots)) {
    for (Slot& slot : slots_) slot.memory.resize(slot_bytes);
  }

  std::byte* host(int slot) override {
    advance(slot, kReleased, kFilling);
    return at(slot).memory.data();
  }
  void send(int slot) override {
    std::this_thread::sleep_for(behaviour_.delay);
    if (sends_++ == behaviour_.fails_at_send) throw DeviceError("the copy failed");
    advance(slot, kFilling, kSent);
  }
  Tensor receive(int slot) override {
    advance(slot, kSent, kReceived);
    std::vector<std::byte>& memory = at(slot).memory;
    return {memory.data(), Shape{static_cast<std::int64_t>(memory.size())}, DType::u8};
  }
  void release(int slot) override {
    // What a device would still read after its release must not be relied on.
    std::fill(at(slot).memory.begin(), at(slot).memory.end(), std::byte{0xee});
    advance(slot, kReceived, kReleased);
  }

 private:
  enum State { kReleased, kFilling, kSent, kReceived };
  struct Slot {
    std::vector<std::byte> memory;
    std::atomic<State> state{kReleased};
  };

  Slot& at(int slot) { return slots_[static_cast<std::size_t>(slot)]; }
  void advance(int slot, State from, State to) { EXPECT_EQ(at(slot).state.exchange(to), from); }

  ChannelBehaviour behaviour_;
  std::vector<Slot> slots_;
  int sends_ = 0;
};

std::unique_ptr<Loader> make_loader(const Dataset& data, int slots, ChannelBehaviour behaviour = {},
                                    std::int64_t batch = 5) {
  const BatchSource source(data, batch, 1);
  return std::make_unique<Loader>(
      std::make_unique<FakeChannel>(source.layout().bytes(), slots, behaviour), slots, source);
}

std::vector<int> take(Loader& loader, int batches, microseconds pause = microseconds{0}) {
  std::vector<int> all;
  for (int i = 0; i < batches; ++i) {
    const std::vector<int> labels = labels_of(loader.next());
    all.insert(all.end(), labels.begin(), labels.end());
    std::this_thread::sleep_for(pause);
  }
  return all;
}

TEST(Loader, GivesTheSourcesBatchesInOrder) {
  const Dataset data = numbered_dataset();
  const std::vector<int> expected = expected_labels(data, 5, 1, 200);
  for (const int slots : {2, 3, 7}) {
    const auto loader = make_loader(data, slots);
    EXPECT_EQ(take(*loader, 200), expected);
    EXPECT_EQ(loader->times().batches, 200);
  }
}

TEST(Loader, SlowConsumerAndSlowProducerGiveTheSame) {
  const Dataset data = numbered_dataset();
  const std::vector<int> expected = expected_labels(data, 5, 1, 40);
  EXPECT_EQ(take(*make_loader(data, 3), 40, microseconds{500}), expected);

  const auto slow = make_loader(data, 3, {.delay = microseconds{500}});
  EXPECT_EQ(take(*slow, 40), expected);
  EXPECT_GT(slow->times().waited, 0.0);
  EXPECT_GT(slow->times().busy, 0.0);
}

TEST(Loader, SlotsTakeTurns) {
  const Dataset data = numbered_dataset();
  const auto loader = make_loader(data, 3);
  std::vector<const void*> address(3);
  for (int i = 0; i < 9; ++i) {
    const Batch batch = loader->next();
    EXPECT_EQ(loader->slot(), i % 3);
    if (i >= 3) {
      EXPECT_EQ(batch.samples.data, address[static_cast<std::size_t>(i % 3)]);
    }
    address[static_cast<std::size_t>(i % 3)] = batch.samples.data;
  }
}

TEST(Loader, FailureOfTheThreadReachesTheConsumer) {
  const Dataset data = numbered_dataset();
  for (const int good : {0, 1, 5}) {
    const auto loader = make_loader(data, 3, {.fails_at_send = good});
    EXPECT_EQ(take(*loader, good), expected_labels(data, 5, 1, good));
    EXPECT_THROW(loader->next(), DeviceError);
    EXPECT_THROW(loader->next(), DeviceError);
  }
}

TEST(Loader, IsFullWithAllSlotsButTheOneHandedOut) {
  const Dataset data = numbered_dataset();
  const auto loader = make_loader(data, 3, {.fails_at_send = 5});
  loader->wait_until_full();
  const double busy = loader->times().busy;
  EXPECT_GT(busy, 0.0);
  take(*loader, 3);  // the third is held: 5 batches sent
  loader->wait_until_full();
  EXPECT_GT(loader->times().busy, busy);
  loader->next();
  EXPECT_THROW(loader->wait_until_full(), DeviceError);
}

TEST(Loader, StopsAtAnyMoment) {
  const Dataset data = numbered_dataset();
  for (int taken = 0; taken < 12; ++taken) {
    for (const int delay : {0, 50}) {
      const auto loader = make_loader(data, 3, {.delay = microseconds{delay}});
      take(*loader, taken);
    }
  }
}

TEST(LoaderBound, IsAThreadThatIsAlwaysBusy) {
  const LoaderTimes before{.batches = 10, .waited = 1.0, .busy = 2.0};
  EXPECT_TRUE(loader_bound(before, {.batches = 20, .waited = 1.9, .busy = 2.95}, 1.0));
  EXPECT_FALSE(loader_bound(before, {.batches = 20, .waited = 1.9, .busy = 2.5}, 1.0));
}

}  // namespace
}  // namespace trainbench
