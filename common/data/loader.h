#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "common/backend.h"
#include "common/data/dataset.h"
#include "common/models/model.h"

namespace trainbench {

/// The order of an epoch: a permutation of [0, samples) that depends on seed and epoch alone, each
/// permutation equally likely (Fisher-Yates).
std::vector<std::uint32_t> epoch_order(std::int64_t samples, std::uint64_t seed,
                                       std::uint64_t epoch);

/// A batch as bytes: the samples, then the labels where there are any.
class BatchLayout {
 public:
  BatchLayout(const Dataset& dataset, std::int64_t batch);

  std::int64_t batch() const { return batch_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t label_offset() const { return label_offset_; }

  /// Views of a batch that lies at `data`, in any memory.
  Batch view(const void* data) const;

 private:
  std::int64_t batch_;
  Shape samples_;  // [batch, ...sample]
  DType dtype_;
  bool labelled_;
  std::size_t label_offset_;
  std::size_t bytes_;
};

/// Shuffled batches of the training samples, epoch after epoch. An epoch has samples / batch
/// batches; the remainder, other samples each time, is left out.
class BatchSource {
 public:
  /// `dataset` must outlive the source. Throws InputError if it has fewer samples than a batch.
  BatchSource(const Dataset& dataset, std::int64_t batch, std::uint64_t seed);

  const BatchLayout& layout() const { return layout_; }
  std::int64_t batches_per_epoch() const { return dataset_.train.size() / layout_.batch(); }

  /// Writes the next batch to `to`: layout().bytes() bytes, aligned for labels.
  void fill_next(std::byte* to);

 private:
  const Dataset& dataset_;
  BatchLayout layout_;
  std::uint64_t seed_;
  std::uint64_t epoch_ = 0;
  std::size_t position_ = 0;
  std::vector<std::uint32_t> order_;
};

/// The first `count` batches of a source, in the device's memory.
std::vector<Batch> make_resident_batches(Backend& backend, BatchSource& source, int count);

/// Where a loader's time went since it was made.
struct LoaderTimes {
  std::int64_t batches = 0;  ///< handed out
  double waited = 0;         ///< seconds in which the consumer waited for a batch to be filled
  double busy = 0;           ///< seconds in which the thread filled batches
};

/// True if between two readings, `elapsed` seconds apart, the loader held the training back: its
/// thread was busy for more than 90 % of the time. Otherwise it waited for slots, that is, for the
/// device. The consumer's wait does not tell: on an asynchronous device a fast consumer waits for
/// slots that wait for the device.
bool loader_bound(const LoaderTimes& before, const LoaderTimes& after, double elapsed);

/// Batches that a thread fills ahead and sends to the device while it computes.
class Loader {
 public:
  static constexpr int kSlots = 3;  ///< one computed on, one on its way, one being filled

  /// Starts the thread. `backend` and what `source` reads must outlive the loader.
  Loader(Backend& backend, BatchSource source);
  /// The same through a channel of `slots` slots of source.layout().bytes().
  Loader(std::unique_ptr<BatchChannel> channel, int slots, BatchSource source);
  /// Stops the thread; the batches handed out are gone.
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  /// The next batch, in device memory. Releases the one before: work that reads it must have been
  /// enqueued. Waits until the batch is filled. Rethrows what ended the thread.
  Batch next();
  /// Which slot the last batch lies in, of slots(); a slot's views are always the same.
  int slot() const { return current_; }
  int slots() const { return static_cast<int>(filled_.size()); }

  /// Waits until every slot but the one handed out is filled. Rethrows what ended the thread.
  void wait_until_full();

  LoaderTimes times() const;

 private:
  void run();
  bool wait_until_free(int slot);

  std::unique_ptr<BatchChannel> channel_;
  BatchSource source_;
  BatchLayout layout_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<char> filled_;  // by slot: sent and not yet released
  bool stopping_ = false;
  std::exception_ptr failure_;
  LoaderTimes times_;

  int current_ = -1;  // the consumer's
  std::thread thread_;
};

}  // namespace trainbench
