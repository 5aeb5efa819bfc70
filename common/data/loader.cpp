#include "common/data/loader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <numeric>

#include "common/core/error.h"
#include "common/core/philox.h"
#include "common/system/cpu_topology.h"

namespace trainbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kOrderStream = std::uint64_t{0x6f7264} << 40;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The words of a Philox stream one after the other.
class WordReader {
 public:
  explicit WordReader(const Philox& random) : random_(random) {}

  std::uint32_t next() {
    if (index_ % 4 == 0) block_ = random_.block(index_ / 4);
    return block_.word[index_++ % 4];
  }

  // Uniform in [0, bound), without bias. Lemire, "Fast random integer generation in an interval",
  // ACM TOMACS 2019.
  std::uint32_t below(std::uint32_t bound) {
    const std::uint32_t threshold = (0u - bound) % bound;
    std::uint64_t product = 0;
    do {
      product = std::uint64_t{next()} * bound;
    } while (static_cast<std::uint32_t>(product) < threshold);
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  Philox random_;
  std::uint64_t index_ = 0;
  PhiloxWords block_{};
};

}  // namespace

std::vector<std::uint32_t> epoch_order(std::int64_t samples, std::uint64_t seed,
                                       std::uint64_t epoch) {
  require(samples >= 0 && samples <= std::numeric_limits<std::uint32_t>::max(),
          "the samples of an epoch are counted in 32 bits");
  std::vector<std::uint32_t> order(static_cast<std::size_t>(samples));
  std::iota(order.begin(), order.end(), 0u);
  WordReader random(Philox(seed, kOrderStream + epoch));
  for (std::size_t last = order.size(); last > 1; --last) {
    std::swap(order[last - 1], order[random.below(static_cast<std::uint32_t>(last))]);
  }
  return order;
}

BatchLayout::BatchLayout(const Dataset& dataset, std::int64_t batch)
    : batch_(batch),
      samples_(dataset.is_sequence() ? Shape{batch, dataset.sample_shape[0]}
                                     : Shape{batch, dataset.sample_shape[0],
                                             dataset.sample_shape[1], dataset.sample_shape[2]}),
      dtype_(dataset.dtype),
      labelled_(!dataset.train.labels.empty()) {
  constexpr std::size_t kAlignment = 64;
  const auto sample_bytes = static_cast<std::size_t>(batch * dataset.sample_bytes());
  label_offset_ = (sample_bytes + kAlignment - 1) / kAlignment * kAlignment;
  bytes_ = labelled_ ? label_offset_ + static_cast<std::size_t>(batch) * sizeof(std::int32_t)
                     : sample_bytes;
}

Batch BatchLayout::view(const void* data) const {
  Batch batch{.samples = ConstTensor(data, samples_, dtype_), .labels = {}};
  if (labelled_) {
    const ConstTensor bytes(data, Shape{static_cast<std::int64_t>(bytes_)}, DType::u8);
    const auto labels = bytes.range(static_cast<std::int64_t>(label_offset_),
                                    batch_ * static_cast<std::int64_t>(sizeof(std::int32_t)));
    batch.labels = ConstTensor(labels.data, Shape{batch_}, DType::i32);
  }
  return batch;
}

BatchSource::BatchSource(const Dataset& dataset, std::int64_t batch, std::uint64_t seed)
    : dataset_(dataset), layout_(dataset, batch), seed_(seed) {
  if (batch < 1 || batch > dataset.train.size()) {
    throw InputError("batch " + std::to_string(batch) + ": " + dataset.name + " has " +
                     std::to_string(dataset.train.size()) +
                     " training samples; a batch must have at least 1 and at most as many");
  }
}

void BatchSource::fill_next(std::byte* to) {
  const auto batch = static_cast<std::size_t>(layout_.batch());
  if (position_ + batch > order_.size()) {
    order_ = epoch_order(dataset_.train.size(), seed_, epoch_++);
    position_ = 0;
  }
  const auto bytes = static_cast<std::size_t>(dataset_.sample_bytes());
  const SampleSet& train = dataset_.train;
  std::byte* labels = to + layout_.label_offset();
  for (std::size_t i = 0; i < batch; ++i) {
    const std::size_t sample = order_[position_ + i];
    std::memcpy(to + i * bytes, dataset_.sample(train, sample), bytes);
    if (!train.labels.empty()) {
      std::memcpy(labels + i * sizeof(std::int32_t), &train.labels[sample], sizeof(std::int32_t));
    }
  }
  position_ += batch;
}

std::vector<Batch> make_resident_batches(Backend& backend, BatchSource& source, int count) {
  const BatchLayout& layout = source.layout();
  std::vector<std::byte> host(layout.bytes());
  std::vector<Batch> batches;
  for (int i = 0; i < count; ++i) {
    source.fill_next(host.data());
    const Tensor device = backend.allocate(Shape{static_cast<std::int64_t>(layout.bytes())},
                                           DType::u8, MemoryKind::workspace);
    backend.copy_from_host(device, host.data());
    batches.push_back(layout.view(device.data));
  }
  return batches;
}

bool loader_bound(const LoaderTimes& before, const LoaderTimes& after, double elapsed) {
  constexpr double kBound = 0.9;
  return after.busy - before.busy > kBound * elapsed;
}

Loader::Loader(Backend& backend, BatchSource source)
    : Loader(backend.make_channel(source.layout().bytes(), kSlots), kSlots, source) {}

Loader::Loader(std::unique_ptr<BatchChannel> channel, int slots, BatchSource source)
    : channel_(std::move(channel)),
      source_(std::move(source)),
      layout_(source_.layout()),
      filled_(static_cast<std::size_t>(slots), 0) {
  require(slots >= 2, "a loader has a slot to fill and a slot to hand out");
  thread_ = std::thread([this] {
    allow_all_cpus();
    run();
  });
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Batch Loader::next() {
  if (current_ >= 0) channel_->release(current_);
  const int following = (current_ + 1) % slots();
  {
    std::unique_lock lock(mutex_);
    if (current_ >= 0) filled_[static_cast<std::size_t>(current_)] = 0;
    changed_.notify_all();
    const auto start = Clock::now();
    char& filled = filled_[static_cast<std::size_t>(following)];
    changed_.wait(lock, [&] { return filled != 0 || failure_; });
    times_.waited += seconds_since(start);
    if (filled == 0) {
      current_ = -1;
      std::rethrow_exception(failure_);
    }
    ++times_.batches;
  }
  current_ = following;
  return layout_.view(channel_->receive(current_).data);
}

void Loader::wait_until_full() {
  std::unique_lock lock(mutex_);
  const auto full = [this] {
    return std::all_of(filled_.begin(), filled_.end(), [](char filled) { return filled != 0; });
  };
  changed_.wait(lock, [&] { return full() || failure_; });
  if (!full()) std::rethrow_exception(failure_);
}

LoaderTimes Loader::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

bool Loader::wait_until_free(int slot) {
  std::unique_lock lock(mutex_);
  const char& filled = filled_[static_cast<std::size_t>(slot)];
  changed_.wait(lock, [&] { return filled == 0 || stopping_; });
  return !stopping_;
}

void Loader::run() {
  try {
    for (int slot = 0; wait_until_free(slot); slot = (slot + 1) % slots()) {
      std::byte* host = channel_->host(slot);
      const auto start = Clock::now();
      source_.fill_next(host);
      const double busy = seconds_since(start);
      channel_->send(slot);
      {
        const std::lock_guard lock(mutex_);
        filled_[static_cast<std::size_t>(slot)] = 1;
        times_.busy += busy;
      }
      changed_.notify_all();
    }
  } catch (...) {
    {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

}  // namespace trainbench
