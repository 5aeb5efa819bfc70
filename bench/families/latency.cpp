#include "bench/families/latency.h"

#include <cmath>
#include <numeric>

#include "bench/families/probe_case.h"
#include "common/core/error.h"
#include "common/core/philox.h"

namespace trainbench {
namespace {

/// A permutation of [0, lines) that is one cycle, uniform among all such (Sattolo, 1986).
std::vector<std::int32_t> random_cycle(std::int64_t lines, std::uint64_t seed) {
  const Philox random(seed, 1);
  std::vector<std::int32_t> next(static_cast<std::size_t>(lines));
  std::iota(next.begin(), next.end(), 0);
  for (std::size_t i = next.size(); i-- > 1;) {
    std::swap(next[i], next[random.word(i) * std::uint64_t{i} >> 32]);
  }
  return next;
}

class ChaseCase : public ProbeCase {
 public:
  ChaseCase(const SuiteCase& wanted, RunEnvironment& environment)
      : ProbeCase(wanted, environment),
        line_(probes().line_bytes()),
        lines_(std::max(working_set(wanted.id, 1, true) / line_, std::int64_t{2})),
        next_(random_cycle(lines_, seed())),
        table_(backend().allocate(Shape{lines_ * step()}, DType::i32, MemoryKind::workspace)),
        place_(backend().allocate(Shape{1}, DType::i32, MemoryKind::workspace)) {
    write_table();
    go_to(0);
  }

  void check(CaseResult& result) override {
    // More than a round, so that neither standing still nor stopping after it ends at this place.
    const std::int64_t further = lines_ / 3 + 1;
    go_to(0);
    probes().chase(table_, lines_ + further, place_);
    std::int32_t expected = 0;
    for (std::int64_t i = 0; i < further; ++i) expected = next_[static_cast<std::size_t>(expected)];
    std::int32_t place = 0;
    backend().copy_to_host(&place, place_);
    if (place != expected * step()) {
      throw DeviceError("output check failed: " + std::to_string(lines_ + further) +
                        " loads led to element " + std::to_string(place) + " instead of " +
                        std::to_string(expected * step()));
    }
    result.counters["max_relative_error"] = 0;
    result.counters["checked_outputs"] = 1;
    result.counters["loads_per_iteration"] = static_cast<double>(lines_);
    label_working_set(result, lines_ * line_, true);
    if (result.counters["cache_level"] == 0) {
      result.counters["bytes_per_load"] = static_cast<double>(line_);
    }
  }

 private:
  void enqueue(std::int64_t iterations) override {
    probes().chase(table_, iterations * lines_, place_);
  }

  std::int64_t step() const { return line_ / static_cast<std::int64_t>(sizeof(std::int32_t)); }

  void go_to(std::int32_t element) { backend().copy_from_host(place_, &element); }

  /// The first element of each line says where that of the next begins.
  void write_table() {
    constexpr std::int64_t kLines = 4096;
    for (std::int64_t first = 0; first < lines_; first += kLines) {
      const std::int64_t count = std::min(kLines, lines_ - first);
      std::vector<std::int32_t> part(static_cast<std::size_t>(count * step()));
      for (std::int64_t i = 0; i < count; ++i) {
        part[static_cast<std::size_t>(i * step())] =
            static_cast<std::int32_t>(next_[static_cast<std::size_t>(first + i)] * step());
      }
      backend().copy_from_host(table_.range(first * step(), count * step()), part.data());
    }
  }

  std::int64_t line_;
  std::int64_t lines_;
  std::vector<std::int32_t> next_;  // by line
  Tensor table_;
  Tensor place_;
};

class ChainsCase : public ProbeCase {
 public:
  ChainsCase(const SuiteCase& wanted, RunEnvironment& environment)
      : ProbeCase(wanted, environment), chains_(wanted.id.integer("chains", 1)) {
    if ((chains_ & (chains_ - 1)) != 0) {
      throw Unsupported("chains: must be a power of two, not " + std::to_string(chains_));
    }
    last_ = backend().allocate(Shape{chains_}, DType::f32, MemoryKind::workspace);
  }

  void check(CaseResult& result) override {
    double largest = 0;
    double used = 0;
    for (const std::int64_t steps : {1, 7, 16}) compare(steps, largest, used);
    result.counters["max_relative_error"] = largest;
    result.counters["error_of_tolerance"] = used;
    result.counters["checked_outputs"] = 3 * static_cast<double>(chains_);
    result.counters["operations_in_turn"] = kSteps;
    result.counters["flops_per_iteration"] = 2.0 * kSteps * static_cast<double>(chains_);
    if (chains_ == 1) result.counters["flops_per_operation"] = 2;
    result.details["layout"] = probes().chain_layout(chains_);
  }

 private:
  static constexpr std::int64_t kSteps = 4096;  // of an iteration

  void enqueue(std::int64_t iterations) override { probes().chains(iterations * kSteps, last_); }

  /// In exact arithmetic x - 1 becomes 3/4 of itself in each step. Values stay below 2, so that a
  /// step rounds by at most 4 u (a product and a sum, each by 2 u) and passes on 3/4 of all before.
  void compare(std::int64_t steps, double& largest, double& used) {
    probes().chains(steps, last_);
    std::vector<float> last(static_cast<std::size_t>(chains_));
    backend().copy_to_host(last.data(), last_);
    const double bound = 4 * 4 * unit_roundoff(DType::f32);
    for (std::int64_t chain = 0; chain < chains_; ++chain) {
      const double start = chain_start(chain);
      const double expected =
          1 + (start - 1) * std::pow(double{kChainFactor}, static_cast<double>(steps));
      const double value = last[static_cast<std::size_t>(chain)];
      const double error = std::abs(value - expected);
      if (!(error <= bound)) {
        throw DeviceError("output check failed: chain " + std::to_string(chain) + " is at " +
                          std::to_string(value) + " instead of " + std::to_string(expected) +
                          " after " + std::to_string(steps) + " steps");
      }
      largest = std::max(largest, error / expected);
      used = std::max(used, error / bound);
    }
  }

  std::int64_t chains_;
  Tensor last_;
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_latency(const SuiteCase& wanted,
                                              RunEnvironment& environment) {
  if (wanted.id.name == "chase") return std::make_unique<ChaseCase>(wanted, environment);
  return std::make_unique<ChainsCase>(wanted, environment);
}

}  // namespace trainbench
