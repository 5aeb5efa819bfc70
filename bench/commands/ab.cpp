#include "bench/commands/ab.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>

#include "bench/commands/judge.h"
#include "bench/harness/block_run.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/number_flags.h"
#include "bench/harness/run_context.h"
#include "common/config/suite.h"
#include "common/core/error.h"
#include "common/report/atomic_file.h"
#include "common/report/json.h"
#include "common/report/numbers.h"
#include "common/system/unique_folder.h"

namespace trainbench {
namespace {

constexpr int kInterrupted = 130;

/// Flags that go to both binaries' `run` as they are: each checks them itself.
struct Passed {
  const char* flag;
  const char* help;
};
constexpr Passed kPassed[] = {
    {"--device", "cpu, gpu or both; all"},
    {"--precision", "fp32, tf32, fp16, bf16, fp64"},
    {"--batch", "Batch sizes instead of the suite's"},
    {"--threads", "CPU thread counts instead of the suite's"},
    {"--data", "A folder or file of data, or synthetic; KIND=SOURCE; may be repeated"},
    {"--seed", "Seed of weights, data order and synthetic data"},
    {"--cpu-provider", "eigen, blas, onednn or auto"},
    {"--gpu-provider", "vendor, own or auto"},
    {"--gpu", "Index of the GPU to use"},
};

struct AbCommand {
  std::array<std::string, 2> binaries;
  std::string suite = "quick";
  std::map<std::string, std::vector<std::string>> passed;  ///< by flag
  BlockRunOptions blocks;
  JudgeOptions judge;
  std::string out;
};

void require_program(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored) && ::access(path.c_str(), X_OK) == 0) return;
  throw InputError(path + ": is no program that can be run; a build of trainbench is needed");
}

/// Removes the processes' files, whatever ends the run: what they held is in the evidence.
class FolderGuard {
 public:
  explicit FolderGuard(std::string path) : path_(std::move(path)) {}
  ~FolderGuard() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FolderGuard(const FolderGuard&) = delete;
  FolderGuard& operator=(const FolderGuard&) = delete;

 private:
  std::string path_;
};

class AbRun {
 public:
  explicit AbRun(const AbCommand& command)
      : command_(command),
        sides_{BlockSide{command.binaries[0], {}}, BlockSide{command.binaries[1], {}}},
        out_(command.out.empty() ? default_output_stem() + "-ab" : command.out) {}

  int run() {
    for (const std::string& binary : command_.binaries) require_program(binary);
    for (std::size_t side = 0; side < 2; ++side) prepare_output(evidence(side));
    const InterruptGuard guard;
    const BlockRunOptions blocks = block_options();
    const FolderGuard folder(blocks.folder);
    survey(sides_, blocks);
    std::size_t open = 0;
    if (!interrupted()) {
      JudgeOptions settled = command_.judge;
      settle(judged(0), judged(1), settled);  // what cannot be compared is not measured for hours
      if (settled.compare.times) open = run_blocks(sides_, blocks, settled.compare);
    }
    if (sides_[1].report.results.empty()) return kInterrupted;
    save();
    say_why_it_ended(open);
    JudgeOptions judge_options = command_.judge;
    judge_options.compare.by_block = true;
    const int code = judge(judged(0), judged(1), judge_options);
    return interrupted() ? kInterrupted : code;
  }

 private:
  BlockRunOptions block_options() {
    BlockRunOptions blocks = command_.blocks;
    blocks.run_arguments = {command_.suite};
    for (const auto& [flag, values] : command_.passed) {
      for (const std::string& value : values) {
        blocks.run_arguments.insert(blocks.run_arguments.end(), {flag, value});
      }
    }
    blocks.filter = command_.judge.filter;
    blocks.folder =
        make_unique_folder((std::filesystem::temp_directory_path() / "trainbench-ab-").string());
    blocks.on_block = [this] { save(); };
    return blocks;
  }

  std::string evidence(std::size_t side) const {
    return out_ + (side == 0 ? "/a.json" : "/b.json");
  }

  /// After each block, so that what was measured outlives this process.
  void save() {
    for (std::size_t side = 0; side < 2; ++side) {
      Report& report = sides_[side].report;
      if (report.results.empty()) continue;
      report.partial = interrupted();
      report.context["ab"] = {{"side", side == 0 ? "a" : "b"},
                              {"binary", sides_[side].binary},
                              {"repetitions", command_.blocks.repetitions},
                              {"width", command_.blocks.width},
                              {"budget", command_.blocks.budget}};
      write_file_atomically(evidence(side), to_json(report));
    }
  }

  JudgedSide judged(std::size_t side) const { return {sides_[side].binary, {sides_[side].report}}; }

  void say_why_it_ended(std::size_t open) const {
    const std::string width = percent_text(command_.blocks.width);
    if (interrupted()) {
      std::fprintf(stderr, "trainbench: interrupted\n");
    } else if (open > 0) {
      std::fprintf(stderr, "trainbench: the budget ended with %zu %s wider than %s\n", open,
                   open == 1 ? "case" : "cases", width.c_str());
    } else {
      std::fprintf(stderr, "trainbench: no case is wider than %s\n", width.c_str());
    }
    std::fprintf(stderr, "results: %s %s\n", evidence(0).c_str(), evidence(1).c_str());
  }

  const AbCommand& command_;
  std::array<BlockSide, 2> sides_;
  std::string out_;
};

}  // namespace

void register_ab(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("ab", "Measure two builds of this program in turns and judge the second");
  auto wanted = std::make_shared<AbCommand>();
  BlockRunOptions& blocks = wanted->blocks;
  command->add_option("a", wanted->binaries[0], "The base: a trainbench binary")->required();
  command->add_option("b", wanted->binaries[1], "The one to judge")->required();
  command->add_option("suite", wanted->suite, suite_help())->capture_default_str();
  for (const Passed& each : kPassed) {
    command->add_option(each.flag, wanted->passed[each.flag], each.help)->allow_extra_args(false);
  }
  command->add_option("--budget", blocks.budget, "Seconds after which no new block begins")
      ->check(real_number(0, 1e6))
      ->capture_default_str();
  command
      ->add_option("--width", blocks.width,
                   "Width of a ratio's interval that is narrow enough: 1%, or 0.01")
      ->transform(fraction(1e-6, 10))
      ->capture_default_str();
  command->add_option("--repetitions", blocks.repetitions, "Samples a process; their median counts")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_option("--min-time", blocks.min_time, "Least seconds of one sample")
      ->check(real_number(1e-6, 600));
  command
      ->add_option("--time-limit", blocks.time_limit,
                   "Most seconds that preparing a case or a repetition of it may take")
      ->check(real_number(1e-3, 1e6))
      ->capture_default_str();
  command->add_option("--out", wanted->out, "A folder for both sides' results, a.json and b.json");
  add_judge_flags(*command, wanted->judge);
  command->callback([wanted, &action] { action = [wanted] { return AbRun(*wanted).run(); }; });
}

}  // namespace trainbench
