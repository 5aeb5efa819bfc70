#include "bench/families/train.h"

#include <cmath>
#include <optional>

#include "bench/families/checked_work.h"
#include "bench/harness/profile_json.h"
#include "bench/harness/run_environment.h"
#include "bench/harness/timed.h"
#include "common/data/loader.h"
#include "common/nn/profile_backend.h"

namespace trainbench {
namespace {

/// Different batches that a resident step cycles through, so that its loss means something.
constexpr int kResidentBatches = 8;

constexpr int kProfiledSteps = 5;

/// What both boundaries of a training step share: a trainer on a backend, its check and its costs.
class TrainCase : public PreparedCase {
 public:
  TrainCase(const SuiteCase& wanted, RunEnvironment& environment)
      : workload_(workload_by_name(wanted.id.name)),
        backend_(environment.devices.open(wanted.id.device,
                                          static_cast<int>(wanted.id.integer("threads", 0)))),
        dataset_(environment.dataset(workload_, wanted.sizes)),
        batch_(wanted.id.integer("batch", workload_.default_batch)),
        seed_(environment.seed),
        profile_(environment.profile),
        trainer_(*backend_, workload_,
                 {.precision = precision_by_name(wanted.id.precision),
                  .batch = batch_,
                  .seed = environment.seed,
                  .fused = wanted.id.text("fusion", "on") == "on",
                  .sizes = sizes_for(workload_, wanted.sizes, dataset_)}),
        timer_(*backend_, wanted.id.device == "gpu") {}

  void check(CaseResult& result) override {
    const Batch batch = first_batch();
    const auto step_via = [&](Backend& backend) { trainer_.step(backend, batch); };
    check_work(*backend_, seed_, step_via, result);
    loss_first_ = trainer_.loss();
    count_work(step_via, result);
    add_counts(result);
    result.served = backend_->served();
    if (profile_) {
      result.details["profile"] =
          to_json(profile_steps(*backend_, trainer_, batch, kProfiledSteps), kProfiledSteps);
    }
  }

  Measurement run(std::int64_t iterations) override {
    before_run();
    Measurement measurement = timer_.time(iterations, [this] { step(); });
    after_run(measurement);
    return measurement;
  }

  std::map<std::string, double> after_repetition() override {
    const double loss = trainer_.loss();
    if (!std::isfinite(loss)) throw DeviceError("the loss is not finite: training diverged");
    std::map<std::string, double> counters{{"loss_first", loss_first_.value_or(loss)},
                                           {"loss_last", loss},
                                           {"skipped_steps", trainer_.state().skipped_steps}};
    if (launches_ > 0) counters["launches_per_iteration"] = static_cast<double>(launches_);
    return counters;
  }

  MemoryUse memory() const override { return backend_->memory(); }

 protected:
  virtual void step() = 0;
  virtual Batch first_batch() = 0;
  virtual void before_run() {}
  virtual void after_run(Measurement&) {}

  /// Steps on `batch`, whose views are the same each time, through its recording.
  void replay(std::unique_ptr<Recording>& recording, const Batch& batch) {
    if (!recording) {
      const auto train = [this, batch] { trainer_.step(*backend_, batch); };
      if (!loss_first_) {  // recorded work has run before; a case prepared anew is not checked
        train();
        loss_first_ = trainer_.loss();
      }
      recording = backend_->record(train);
    }
    launches_ = recording->launches();
    recording->replay();
  }

  Backend& backend() { return *backend_; }
  const Dataset& dataset() const { return dataset_; }
  std::int64_t batch() const { return batch_; }
  std::uint64_t seed() const { return seed_; }

 private:
  void add_counts(CaseResult& result) {
    result.counters["samples_per_iteration"] = static_cast<double>(batch_);
    if (dataset_.is_sequence()) {
      result.counters["tokens_per_iteration"] = static_cast<double>(batch_ * dataset_.steps());
    }
    result.counters["parameters"] =
        static_cast<double>(trainer_.model().layout().parameter_count());
    result.details["data"] = dataset_.name;
  }

  const Workload& workload_;
  std::unique_ptr<Backend> backend_;
  const Dataset& dataset_;
  std::int64_t batch_;
  std::uint64_t seed_;
  bool profile_;
  Trainer trainer_;
  WorkTimer timer_;
  std::optional<double> loss_first_;  // of the first step of all
  std::int64_t launches_ = 0;         // of a step; 0: not counted
};

/// Batches lie on the device already: the step alone.
class ResidentStep : public TrainCase {
 public:
  ResidentStep(const SuiteCase& wanted, RunEnvironment& environment)
      : TrainCase(wanted, environment) {
    BatchSource source(dataset(), batch(), seed());
    batches_ = make_resident_batches(backend(), source, kResidentBatches);
    recordings_.resize(batches_.size());
  }

 private:
  Batch first_batch() override { return batches_.front(); }

  void step() override {
    replay(recordings_[next_], batches_[next_]);
    next_ = (next_ + 1) % batches_.size();
  }

  std::vector<Batch> batches_;
  std::vector<std::unique_ptr<Recording>> recordings_;
  std::size_t next_ = 0;
};

/// Batches are gathered from host memory by a thread and travel to the device: what a user's
/// training loop does. The loss is read at the end of a repetition, as such a loop logs it.
class EndToEndStep : public TrainCase {
 public:
  EndToEndStep(const SuiteCase& wanted, RunEnvironment& environment)
      : TrainCase(wanted, environment),
        loader_(backend(), BatchSource(dataset(), batch(), seed())),
        recordings_(static_cast<std::size_t>(loader_.slots())) {}

 private:
  Batch first_batch() override { return loader_.next(); }

  void step() override {
    const Batch batch = loader_.next();
    replay(recordings_[static_cast<std::size_t>(loader_.slot())], batch);
  }

  void before_run() override { before_ = loader_.times(); }

  void after_run(Measurement& measurement) override {
    const LoaderTimes after = loader_.times();
    const double elapsed = measurement.wall_seconds;
    measurement.counters["loader_wait_fraction"] = (after.waited - before_.waited) / elapsed;
    measurement.counters["loader_bound"] = loader_bound(before_, after, elapsed) ? 1 : 0;
  }

  Loader loader_;
  std::vector<std::unique_ptr<Recording>> recordings_;
  LoaderTimes before_;
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_train(const SuiteCase& wanted, RunEnvironment& environment) {
  if (wanted.id.text("boundary", "resident") == "end-to-end") {
    return std::make_unique<EndToEndStep>(wanted, environment);
  }
  return std::make_unique<ResidentStep>(wanted, environment);
}

}  // namespace trainbench
