#include "bench/families/infer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <vector>

#include "bench/families/checked_work.h"
#include "bench/harness/timed.h"
#include "common/data/loader.h"
#include "common/host_values.h"
#include "common/report/statistics.h"

namespace trainbench {
namespace {

class InferCase : public PreparedCase {
 public:
  InferCase(const SuiteCase& wanted, RunEnvironment& environment)
      : workload_(workload_by_name(wanted.id.name)),
        precision_(precision_by_name(wanted.id.precision)),
        backend_(environment.devices.open(wanted.id.device,
                                          static_cast<int>(wanted.id.integer("threads", 0)))),
        dataset_(environment.dataset(workload_, wanted.sizes)),
        batch_size_(wanted.id.integer("batch", 1)),
        seed_(environment.seed),
        timer_(*backend_, wanted.id.device == "gpu") {
    backend_->require_precision(precision_);
    model_ = workload_.make(workload_, sizes_for(workload_, wanted.sizes, dataset_));
    parameters_ = std::make_unique<Parameters>(*backend_, model_->layout(), precision_, seed_);
    model_->allocate(*backend_, {.batch = batch_size_,
                                 .compute = precision_.compute,
                                 .master = precision_.master,
                                 .training = false});
    state_ = allocate_step_state(*backend_, {.seed = seed_});
    BatchSource source(dataset_, batch_size_, seed_);
    batch_ = make_resident_batches(*backend_, source, 1).front();
  }

  void check(CaseResult& result) override {
    const auto request = [this](Backend& via) { forward(via); };
    check_work(*backend_, seed_, request, result);
    for (const double logit : read_values(*backend_, model_->logits())) {
      if (!std::isfinite(logit)) throw DeviceError("a logit is not finite");
    }
    count_work(request, result);
    result.counters["samples_per_iteration"] = static_cast<double>(batch_size_);
    if (dataset_.is_sequence()) {
      result.counters["tokens_per_iteration"] = static_cast<double>(batch_size_ * dataset_.steps());
    }
    result.counters["parameters"] = static_cast<double>(model_->layout().parameter_count());
    result.details["data"] = dataset_.name;
    result.served = backend_->served();
  }

  Measurement run(std::int64_t iterations) override {
    if (!recording_) {
      forward(*backend_);  // recorded work has run before; a case prepared anew is not checked
      recording_ = backend_->record([this] { forward(*backend_); });
    }
    requests_.clear();
    requests_.reserve(static_cast<std::size_t>(iterations));
    Measurement measurement = timer_.time(iterations, [this] { request(); });
    std::sort(requests_.begin(), requests_.end());
    measurement.counters["p50_time"] = sorted_quantile(requests_, 0.5);
    measurement.counters["p99_time"] = sorted_quantile(requests_, 0.99);
    return measurement;
  }

  MemoryUse memory() const override { return backend_->memory(); }

 private:
  void forward(Backend& via) {
    const Pass pass{via, precision_.math, true, false, state_};
    model_->forward(pass, *parameters_, batch_);
  }

  void request() {
    const auto start = std::chrono::steady_clock::now();
    recording_->replay();
    backend_->synchronize();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    requests_.push_back(taken.count());
  }

  const Workload& workload_;
  const Precision& precision_;
  std::unique_ptr<Backend> backend_;
  const Dataset& dataset_;
  std::int64_t batch_size_;
  std::uint64_t seed_;
  WorkTimer timer_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Parameters> parameters_;
  Tensor state_;
  Batch batch_;
  std::unique_ptr<Recording> recording_;
  std::vector<double> requests_;  // seconds each, of the last run
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_infer(const SuiteCase& wanted, RunEnvironment& environment) {
  return std::make_unique<InferCase>(wanted, environment);
}

}  // namespace trainbench
