#include "bench/harness/test_fault.h"

#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "common/config/name_filter.h"
#include "common/config/spelling.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kVariable = "TRAINBENCH_TEST_FAULT";

/// The default action, also where a sanitizer has a handler of its own.
void die_of(int signal) {
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void hang() {
  while (true) ::pause();
}

/// Where a limit ends it this throws std::bad_alloc; where the kernel does, it does not return.
void take_all_memory() {
  constexpr std::size_t kPiece = std::size_t{64} << 20;
  std::vector<std::unique_ptr<char[]>> taken;
  while (true) {
    taken.push_back(std::make_unique_for_overwrite<char[]>(kPiece));
    std::memset(taken.back().get(), 1, kPiece);
  }
}

enum class Moment { never, check, repetition };

struct Kind {
  const char* name;
  Moment moment;
  void (*act)();
};

constexpr std::array<Kind, 7> kKinds{{
    {"slow", Moment::never, nullptr},
    {"crash", Moment::repetition, [] { die_of(SIGSEGV); }},
    {"abort", Moment::repetition, [] { die_of(SIGABRT); }},
    {"kill", Moment::repetition, [] { die_of(SIGKILL); }},
    {"hang", Moment::repetition, hang},
    {"fail", Moment::repetition, [] { throw DeviceError("planted by a test"); }},
    {"oom", Moment::check, take_all_memory},
}};

struct Fault {
  Kind kind;
  NameFilter cases;
  double factor = 1;
};

[[noreturn]] void refuse(const std::string& text) {
  throw InputError(std::string(kVariable) + ": " + in_quotes(text) +
                   " is no fault: slow:REGEX:FACTOR with a factor of at least 1, or "
                   "crash|abort|kill|hang|fail|oom:REGEX");
}

std::optional<Fault> planted_fault() {
  const char* variable = std::getenv(kVariable);
  if (variable == nullptr || *variable == '\0') return std::nullopt;
  const std::string text = variable;
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) refuse(text);
  for (const Kind& kind : kKinds) {
    if (text.compare(0, colon, kind.name) != 0) continue;
    std::string cases = text.substr(colon + 1);
    double factor = 1;
    if (kind.act == nullptr) {
      const std::size_t last = cases.rfind(':');
      if (last == std::string::npos) refuse(text);
      char* end = nullptr;
      factor = std::strtod(cases.c_str() + last + 1, &end);
      if (*end != '\0' || !(factor >= 1 && factor <= 1000)) refuse(text);
      cases.resize(last);
    }
    return Fault{kind, NameFilter(cases), factor};
  }
  refuse(text);
}

class FaultyCase : public PreparedCase {
 public:
  FaultyCase(std::unique_ptr<PreparedCase> real, const Fault& fault)
      : real_(std::move(real)), kind_(fault.kind), factor_(fault.factor) {}

  void check(CaseResult& result) override {
    if (kind_.moment == Moment::check) kind_.act();
    real_->check(result);
  }

  /// The harness's own clocks run on while this spins, as they would in a slower case.
  Measurement run(std::int64_t iterations) override {
    Measurement measurement = real_->run(iterations);
    if (kind_.act != nullptr) return measurement;
    const std::chrono::duration<double> extra((factor_ - 1) * measurement.wall_seconds);
    const Clock::time_point start = Clock::now();
    while (Clock::now() - start < extra) {
    }
    measurement.wall_seconds += std::chrono::duration<double>(Clock::now() - start).count();
    if (measurement.device_seconds) *measurement.device_seconds *= factor_;
    return measurement;
  }

  std::map<std::string, double> after_repetition() override {
    if (kind_.moment == Moment::repetition) kind_.act();
    return real_->after_repetition();
  }

  MemoryUse memory() const override { return real_->memory(); }

 private:
  std::unique_ptr<PreparedCase> real_;
  Kind kind_;
  double factor_;
};

}  // namespace

std::string test_fault() {
  if (!planted_fault()) return "";
  return std::getenv(kVariable);
}

std::unique_ptr<PreparedCase> with_test_fault(std::unique_ptr<PreparedCase> prepared,
                                              const CaseId& id) {
  const std::optional<Fault> fault = planted_fault();
  if (!fault || !fault->cases.finds(id.full_name())) return prepared;
  return std::make_unique<FaultyCase>(std::move(prepared), *fault);
}

}  // namespace trainbench
