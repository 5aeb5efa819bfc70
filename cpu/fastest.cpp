#include "cpu/fastest.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <mutex>

#include "common/config/json_file.h"
#include "common/core/error.h"
#include "common/report/atomic_file.h"

namespace trainbench {
namespace {

/// Seconds: the least of a few runs, the first of which warms up. A way that is far from the `best`
/// so far is not run again.
double time_of(const std::function<void()>& run, double best) {
  constexpr int kRuns = 4;
  constexpr double kFar = 2;
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kRuns; ++i) {
    const Clock::time_point start = Clock::now();
    run();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - start).count());
    if (i > 0 && least > kFar * best) break;
  }
  return least;
}

/// Threads, work and the names of the ways, as one line.
std::string question(int threads, const std::string& work, const std::vector<std::string>& names) {
  std::string text = std::to_string(threads) + " threads: " + work + ":";
  for (const std::string& name : names) text += " " + name;
  return text;
}

/// Answers by question: the name of the fastest way.
using Answers = std::map<std::string, std::string>;

Answers read_answers(const ChoiceFile& file) {
  Answers answers;
  try {
    const Json document = read_json_file(file.path);
    if (document.value("key", "") != file.key) return {};
    for (const auto& [asked, answer] : document.at("choices").items()) {
      answers[asked] = answer.get<std::string>();
    }
  } catch (const InputError&) {
    return {};
  } catch (const nlohmann::json::exception&) {
    return {};
  }
  return answers;
}

class Choices {
 public:
  static Choices& instance() {
    static Choices choices;
    return choices;
  }

  void keep(const ChoiceFile& file) {
    const std::lock_guard lock(mutex_);
    file_ = file;
    answers_.clear();
    measured_.clear();
    if (!file.retune) answers_ = read_answers(file);
    counts_ = {answers_.size(), 0};
  }

  std::size_t ask(int threads, const std::string& work, const std::vector<std::string>& names,
                  const std::function<void(std::size_t)>& run) {
    const std::lock_guard lock(mutex_);
    const std::string asked = question(threads, work, names);
    if (const auto known = answers_.find(asked); known != answers_.end()) {
      const auto name = std::find(names.begin(), names.end(), known->second);
      if (name != names.end()) return static_cast<std::size_t>(name - names.begin());
    }
    const std::size_t choice = measure(names.size(), run);
    answers_[asked] = measured_[asked] = names[choice];
    ++counts_.measured;
    return choice;
  }

  ChoiceCounts counts() {
    const std::lock_guard lock(mutex_);
    return counts_;
  }

  void save() {
    const std::lock_guard lock(mutex_);
    if (file_.path.empty() || measured_.empty()) return;
    Answers all = read_answers(file_);
    for (const auto& [asked, answer] : measured_) all[asked] = answer;
    const Json document{{"key", file_.key}, {"choices", all}};
    try {
      prepare_output(file_.path.string());
      write_file_atomically(file_.path.string(), document.dump(1) + "\n");
    } catch (const InputError&) {
      // A home that cannot be written to costs the next process its measurements, nothing else.
    }
  }

 private:
  static std::size_t measure(std::size_t ways, const std::function<void(std::size_t)>& run) {
    // Whoever is not clearly faster does not displace an earlier one, so that noise seldom decides.
    constexpr double kClearly = 0.75;
    double least = std::numeric_limits<double>::infinity();
    std::size_t choice = 0;
    for (std::size_t i = 0; i < ways; ++i) {
      const double time = time_of([&] { run(i); }, least);
      if (time >= kClearly * least) continue;
      least = time;
      choice = i;
    }
    return choice;
  }

  std::recursive_mutex mutex_;  // a way may ask for the fastest way to do its parts
  ChoiceFile file_;
  Answers answers_;
  Answers measured_;
  ChoiceCounts counts_;
};

}  // namespace

std::size_t fastest(int threads, const std::string& work, const std::vector<std::string>& names,
                    const std::function<void(std::size_t)>& run) {
  return names.size() == 1 ? 0 : Choices::instance().ask(threads, work, names, run);
}

void keep_choices(const ChoiceFile& file) { Choices::instance().keep(file); }

ChoiceCounts choice_counts() { return Choices::instance().counts(); }

void save_choices() { Choices::instance().save(); }

}  // namespace trainbench
