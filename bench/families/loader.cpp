#include "bench/families/loader.h"

#include <algorithm>

#include "bench/harness/run_environment.h"
#include "bench/harness/timed.h"
#include "common/data/loader.h"

namespace trainbench {
namespace {

constexpr std::int64_t kDefaultBatch = 256;

/// Throws DeviceError unless `received`, a batch's bytes as they lie on the device, holds the first
/// samples of the first epoch.
void require_first_batch(const Dataset& dataset, const BatchLayout& layout, std::uint64_t seed,
                         const std::vector<std::uint8_t>& samples,
                         const std::vector<std::int32_t>& labels) {
  const SampleSet& train = dataset.train;
  const std::vector<std::uint32_t> order = epoch_order(train.size(), seed, 0);
  const auto sample_bytes = static_cast<std::size_t>(dataset.sample_bytes());
  for (std::size_t i = 0; i < static_cast<std::size_t>(layout.batch()); ++i) {
    const std::size_t sample = order[i];
    const bool equal_bytes =
        std::equal(samples.data() + i * sample_bytes, samples.data() + (i + 1) * sample_bytes,
                   dataset.sample(train, sample));
    if (!equal_bytes || (!labels.empty() && labels[i] != train.labels[sample])) {
      throw DeviceError("output check failed: sample " + std::to_string(i) +
                        " of the first batch is not sample " + std::to_string(sample) +
                        " of the data set");
    }
  }
}

class LoaderCase : public PreparedCase {
 public:
  LoaderCase(const SuiteCase& wanted, RunEnvironment& environment)
      : backend_(environment.devices.open(wanted.id.device,
                                          static_cast<int>(wanted.id.integer("threads", 0)))),
        dataset_(environment.dataset(wanted.id.name)),
        seed_(environment.seed),
        on_gpu_(wanted.id.device == "gpu"),
        source_(dataset_, wanted.id.integer("batch", kDefaultBatch), seed_),
        loader_(*backend_, source_),
        timer_(*backend_, on_gpu_) {}

  void check(CaseResult& result) override {
    const BatchLayout& layout = source_.layout();
    const Batch batch = loader_.next();
    std::vector<std::uint8_t> samples(batch.samples.bytes());
    std::vector<std::int32_t> labels;
    backend_->copy_to_host(samples.data(), batch.samples);
    if (!batch.labels.absent()) {
      labels.resize(static_cast<std::size_t>(layout.batch()));
      backend_->copy_to_host(labels.data(), batch.labels);
    }
    require_first_batch(dataset_, layout, seed_, samples, labels);
    result.counters["max_relative_error"] = 0;
    result.counters["checked_outputs"] = static_cast<double>(samples.size() + labels.size());
    result.counters["samples_per_iteration"] = static_cast<double>(layout.batch());
    // On the CPU a byte is read and written; of a GPU's memory it is written alone.
    result.counters["bytes_per_iteration"] =
        static_cast<double>(layout.bytes()) * (on_gpu_ ? 1 : 2);
    result.details["data"] = dataset_.name;
  }

  /// From all slots filled to all slots filled again, so that as many batches are loaded as taken.
  Measurement run(std::int64_t iterations) override {
    loader_.wait_until_full();
    return timer_.time(
        iterations, [this] { loader_.next(); }, [this] { loader_.wait_until_full(); });
  }

  MemoryUse memory() const override { return backend_->memory(); }

 private:
  std::unique_ptr<Backend> backend_;
  const Dataset& dataset_;
  std::uint64_t seed_;
  bool on_gpu_;
  BatchSource source_;
  Loader loader_;
  WorkTimer timer_;
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_loader(const SuiteCase& wanted, RunEnvironment& environment) {
  return std::make_unique<LoaderCase>(wanted, environment);
}

}  // namespace trainbench
