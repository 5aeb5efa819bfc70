#include "bench/harness/block_run.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <random>

#include "bench/harness/interrupt.h"
#include "bench/harness/progress.h"
#include "bench/harness/worker_job.h"
#include "common/core/error.h"
#include "common/report/json.h"
#include "common/report/signed_rank.h"
#include "common/system/host_files.h"

namespace trainbench {
namespace {

using Clock = std::chrono::steady_clock;

/// Where a process's standard error goes: what hundreds of them say is no news.
std::string errors_file(const BlockRunOptions& options) { return options.folder + "/errors"; }

/// The last line of it, without the program's name before it.
std::string last_error(const BlockRunOptions& options) {
  const std::vector<std::string> lines =
      split_lines(read_host_file(errors_file(options)).value_or(""));
  if (lines.empty()) return "it said nothing";
  constexpr std::string_view kProgram = "trainbench: ";
  const std::string& line = lines.back();
  return line.starts_with(kProgram) ? line.substr(kProgram.size()) : line;
}

/// Why a worker has no result.
std::string why(const WorkerResult& worker) {
  return worker.death.empty() ? "its process wrote no result" : worker.death;
}

std::vector<std::string> command(const BlockSide& side, const BlockRunOptions& options,
                                 const std::vector<std::string>& further) {
  std::vector<std::string> arguments{side.binary, "run"};
  arguments.insert(arguments.end(), options.run_arguments.begin(), options.run_arguments.end());
  arguments.insert(arguments.end(), further.begin(), further.end());
  return arguments;
}

/// A regular expression that finds this name alone.
std::string exactly(const std::string& name) {
  std::string pattern = "^";
  for (const char c : name) {
    if (std::string_view("\\^$.|?*+()[]{}").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern + "$";
}

CaseResult* find(Report& report, const std::string& name) {
  for (CaseResult& result : report.results) {
    if (result.id.full_name() == name) return &result;
  }
  return nullptr;
}

/// Only what a real clock measured has times to compare.
bool measured(const CaseResult& result) {
  return result.status == Status::ok && !result.samples.empty() && !result.simulated;
}

class BlockRun {
 public:
  BlockRun(std::array<BlockSide, 2>& sides, const BlockRunOptions& options,
           const CompareOptions& compare_options)
      : sides_(sides), options_(options), compare_options_(compare_options) {
    compare_options_.by_block = true;
    compare_options_.exact.clear();  // counters take no part in when to stop
    for (CaseResult& base : sides_[0].report.results) {
      CaseResult* fresh = find(sides_[1].report, base.id.full_name());
      if (fresh == nullptr || !measured(base) || !measured(*fresh)) continue;
      open_.push_back(base.id.full_name());
      base.samples.clear();
      fresh->samples.clear();
    }
    // With fewer blocks the strictest of Holm's steps rejects nothing, whatever was measured.
    next_look_ =
        static_cast<int>(least_pairs(compare_options_.alpha / std::max<double>(1, open_.size())));
  }

  std::size_t run() {
    double longest = 0;
    for (int block = 0; !open_.empty() && !interrupted(); ++block) {
      const double before = seconds();
      if (block > 0 && before + longest > options_.budget) break;
      run_block(block);
      longest = std::max(longest, seconds() - before);
      if (options_.on_block) options_.on_block();
      if (block + 1 >= next_look_) close_narrow(block + 1);
    }
    return open_.size();
  }

 private:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - started_).count(); }

  void run_block(int block) {
    std::vector<std::string> order = open_;
    std::shuffle(order.begin(), order.end(), random_);
    progress_.begin("block " + std::to_string(block + 1) + ", " +
                        std::to_string(std::lround(seconds())) + " of " +
                        std::to_string(std::lround(options_.budget)) + " s: case",
                    static_cast<int>(order.size()), 4);
    for (const std::string& name : order) {
      const std::size_t first = random_() % 2;
      for (const std::size_t side : {first, 1 - first}) {
        if (interrupted()) return;
        progress_.show(name + (side == 0 ? " (a)" : " (b)"));
        measure(sides_[side], name, block);
      }
      progress_.advance();
    }
    std::erase_if(open_, [&](const std::string& name) {
      return find(sides_[0].report, name)->status != Status::ok ||
             find(sides_[1].report, name)->status != Status::ok;
    });
  }

  void measure(BlockSide& side, const std::string& name, int block) {
    const std::string out = options_.folder + "/result.json";
    std::filesystem::remove(out);
    std::filesystem::remove(journal_path(out));
    std::vector<std::string> further{"--filter",
                                     exactly(name),
                                     "--no-peaks",
                                     "--repetitions",
                                     std::to_string(options_.repetitions),
                                     "--out",
                                     out};
    if (options_.min_time > 0) {
      further.insert(further.end(), {"--min-time", std::to_string(options_.min_time)});
    }
    const WorkerResult worker = run_worker(command(side, options_, further), out,
                                           options_.time_limit, errors_file(options_));
    if (interrupted()) return;
    CaseResult& result = *find(side.report, name);
    for (CaseResult part : worker.results) {
      for (Sample& sample : part.samples) sample.process = block;
      if (part.id.full_name() == name) add_part(result, part);
    }
    if (worker.complete || result.status != Status::ok) return;
    result.status = Status::failed;
    result.reason = why(worker);
    if (worker.unfinished.empty()) result.reason += ": " + last_error(options_);
  }

  /// Looks again only when there is a quarter more: each look is a chance to stop on an interval
  /// that happens to be narrow.
  void close_narrow(int blocks) {
    next_look_ = std::max(blocks + 1, static_cast<int>(std::ceil(1.25 * blocks)));
    const Comparison comparison = compare({sides_[0].report}, {sides_[1].report}, compare_options_);
    for (const CaseComparison& each : comparison.cases) {
      if (each.unit != Unit::block || !(each.high <= each.low * (1 + options_.width))) continue;
      std::erase(open_, each.name);
    }
  }

  std::array<BlockSide, 2>& sides_;
  const BlockRunOptions& options_;
  CompareOptions compare_options_;
  std::vector<std::string> open_;  ///< names of the cases that are still measured
  int next_look_ = 0;              ///< blocks after which the intervals are looked at
  Progress progress_;
  std::mt19937 random_{std::random_device{}()};
  Clock::time_point started_ = Clock::now();
};

}  // namespace

void survey(std::array<BlockSide, 2>& sides, const BlockRunOptions& options) {
  Progress progress;
  progress.begin("survey", 2, 20);
  for (BlockSide& side : sides) {
    progress.show(side.binary);
    const std::string out = options.folder + "/survey.json";
    std::filesystem::remove(out);
    std::vector<std::string> further{
        "--processes", "1",     "--repetitions", "1",
        "--min-time",  "0.001", "--time-limit",  std::to_string(options.time_limit),
        "--out",       out};
    if (!options.filter.empty()) {
      further.insert(further.end(), {"--filter", options.filter});
    }
    constexpr double kNoLimit = 1e9;  // the program has its own for each case
    const WorkerResult worker =
        run_worker(command(side, options, further), out, kNoLimit, errors_file(options));
    if (interrupted()) return;
    if (!worker.complete) {
      throw InputError(side.binary + " run: " + why(worker) + ": " + last_error(options));
    }
    side.report = read_report_file(out);
    progress.advance();
  }
}

std::size_t run_blocks(std::array<BlockSide, 2>& sides, const BlockRunOptions& options,
                       const CompareOptions& compare_options) {
  return BlockRun(sides, options, compare_options).run();
}

}  // namespace trainbench
