#include "bench/families/launch.h"

#include "bench/families/probe_case.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

/// Launches of a chain: as many as a small training step has.
constexpr std::int64_t kLaunches = 32;

class LaunchCase : public ProbeCase {
 public:
  LaunchCase(const SuiteCase& wanted, RunEnvironment& environment)
      : ProbeCase(wanted, environment),
        kind_(wanted.id.name),
        counts_(backend().allocate(Shape{probes().units()}, DType::i32, MemoryKind::workspace)) {
    backend().fill_zero(counts_);
  }

  /// The same launches, but that each unit counts them.
  void check(CaseResult& result) override {
    const std::int64_t launches = launches_of_an_iteration();
    std::vector<std::int32_t> counts = read_counts();
    once(counts_);
    const std::vector<std::int32_t> after = read_counts();
    for (std::size_t unit = 0; unit < counts.size(); ++unit) {
      const int seen = after[unit] - counts[unit];
      if (seen != launches) {
        throw DeviceError("output check failed: unit " + std::to_string(unit) + " saw " +
                          std::to_string(seen) + " of " + std::to_string(launches));
      }
    }
    if (kind_ == "graph") recording_ = backend().record([this] { chain({}); });
    result.counters["max_relative_error"] = 0;
    result.counters["checked_outputs"] = static_cast<double>(counts.size());
    result.counters["launches_per_iteration"] = static_cast<double>(launches);
    result.details["units"] = probes().units();
  }

 private:
  std::int64_t launches_of_an_iteration() const { return kind_ == "empty" ? 1 : kLaunches; }

  void enqueue(std::int64_t iterations) override {
    for (std::int64_t i = 0; i < iterations; ++i) {
      if (kind_ == "graph") {
        recording_->replay();
      } else {
        once({});
      }
    }
  }

  /// An iteration; a recorded one is recorded anew.
  void once(Tensor counts) {
    if (kind_ == "barrier") return probes().barriers(kLaunches, counts);
    if (kind_ == "graph") {
      backend().record([&] { chain(counts); })->replay();
      return backend().synchronize();
    }
    if (kind_ == "chain") return chain(counts);
    probes().empty(counts);
    backend().synchronize();
  }

  void chain(Tensor counts) {
    for (std::int64_t i = 0; i < kLaunches; ++i) probes().empty(counts);
  }

  std::vector<std::int32_t> read_counts() {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(counts_.elements()));
    backend().copy_to_host(counts.data(), counts_);
    return counts;
  }

  std::string kind_;
  Tensor counts_;
  std::unique_ptr<Recording> recording_;
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_launch(const SuiteCase& wanted, RunEnvironment& environment) {
  return std::make_unique<LaunchCase>(wanted, environment);
}

}  // namespace trainbench
