#include "bench/commands/predict.h"

#include <charconv>
#include <cstdio>
#include <memory>

#include "bench/commands/predict_plan.h"
#include "bench/commands/predict_steps.h"
#include "bench/harness/number_flags.h"
#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/report/numbers.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kLargestSize = std::uint64_t{1} << 20;
constexpr std::size_t kColumns = 100;

struct PredictOptions {
  std::vector<std::string> devices;
  std::vector<std::string> workloads;
  std::vector<std::string> precisions{"fp32", "fp16"};
  std::vector<std::int64_t> batches;
  std::vector<std::string> sizes;
  bool json = false;
  bool operations = false;
  PlanQuestion plan;
};

/// From "layers=48".
ModelSizes parse_sizes(const std::vector<std::string>& given) {
  ModelSizes sizes;
  for (const std::string& each : given) {
    const std::size_t sign = each.find('=');
    std::int64_t value = 0;
    const char* const end = each.data() + each.size();
    const char* const first = sign == std::string::npos ? end : each.data() + sign + 1;
    const auto read = std::from_chars(first, end, value);
    if (first == end || read.ec != std::errc() || read.ptr != end || value < 1) {
      throw InputError("--size " + in_quotes(each) + ": must be NAME=NUMBER, such as layers=48");
    }
    sizes[each.substr(0, sign)] = value;
  }
  return sizes;
}

/// What is predicted: everything where nothing is named.
std::vector<std::string> asked_names(const PredictOptions& options) {
  if (!options.workloads.empty()) return options.workloads;
  if (!options.sizes.empty()) {
    throw InputError("--size needs --workload: sizes are a workload's own");
  }
  std::vector<std::string> names;
  for (const Workload& workload : workloads()) names.emplace_back(workload.name);
  for (const LanguageModel& model : language_models()) names.emplace_back(model.name);
  return names;
}

const Workload& workload_to_predict(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Workload& workload : workloads()) {
    if (workload.name == name) return workload;
    known.push_back(workload.name);
  }
  for (const LanguageModel& model : language_models()) known.push_back(model.name);
  throw InputError("unknown workload " + in_quotes(name) + "; " + right_spelling(name, known));
}

std::vector<StepProblem> problems(const PredictOptions& options,
                                  const std::vector<std::string>& names) {
  const ModelSizes sizes = parse_sizes(options.sizes);
  std::vector<StepProblem> problems;
  for (const std::string& name : names) {
    if (planned_model(name) != nullptr) continue;
    for (const std::int64_t batch :
         options.batches.empty() ? std::vector<std::int64_t>{0} : options.batches) {
      for (const std::string& precision : options.precisions) {
        problems.push_back(
            {&workload_to_predict(name), sizes, batch, precision_by_name(precision)});
      }
    }
  }
  return problems;
}

void print_assumptions(const std::vector<std::string>& assumptions) {
  std::printf("\nassumptions:\n");
  for (const std::string& each : assumptions) {
    std::printf("- %s\n", wrapped(each, kColumns - 2, "  ").c_str());
  }
}

void print(const std::vector<PredictedStep>& steps) {
  for (std::size_t first = 0, last = 0; first < steps.size(); first = last) {
    const PredictedStep& step = steps[first];
    std::vector<PredictedStep> group;
    for (; last < steps.size() && steps[last].problem.workload == step.problem.workload &&
           steps[last].cost.batch == step.cost.batch;
         ++last) {
      group.push_back(steps[last]);
    }
    std::printf("\n%s, batch %lld, %s parameters\n%s", problem_name(step.problem).c_str(),
                static_cast<long long>(step.cost.batch),
                si(static_cast<double>(step.cost.parameters), "").c_str(),
                steps_table(group).c_str());
  }
}

int run_predict(const PredictOptions& options) {
  const std::vector<PredictedDevice> devices = predicted_devices(options.devices);
  const std::vector<std::string> names = asked_names(options);
  std::vector<PredictedStep> steps;
  for (const StepProblem& problem : problems(options, names)) {
    steps.push_back(predict_step(problem, devices));
  }
  std::vector<Json> plans;
  for (const std::string& name : names) {
    const LanguageModel* model = planned_model(name);
    if (model != nullptr) plans.push_back(plan_json(*model, options.plan, devices));
  }
  std::vector<std::string> assumptions = prediction_assumptions();
  if (!plans.empty()) {
    for (const std::string& each : plan_assumptions()) assumptions.push_back(each);
  }
  if (!options.json) {
    std::printf("PREDICTED, not measured: roofline estimates of training\n");
    print(steps);
    for (const Json& plan : plans) std::printf("\n%s", plan_text(plan).c_str());
    print_assumptions(assumptions);
    return 0;
  }
  Json document{
      {"estimate", true}, {"assumptions", assumptions}, {"steps", Json::array()}, {"plans", plans}};
  for (const PredictedStep& step : steps) {
    document["steps"].push_back(steps_json(step, options.operations));
  }
  std::printf("%s\n", document.dump(2).c_str());
  return 0;
}

}  // namespace

void register_predict(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "predict", "Estimate training steps on devices that are not here; measures nothing");
  auto options = std::make_shared<PredictOptions>();
  command->add_option("--on", options->devices, "Devices: names, or files that end in .json")
      ->delimiter(',');
  command
      ->add_option("--workload", options->workloads,
                   "Workloads, gpt3-175b, llama-70b; all if left out")
      ->delimiter(',');
  command->add_option("--precision", options->precisions, "fp32, tf32, fp16, bf16, fp64")
      ->delimiter(',');
  command->add_option("--batch", options->batches, "Batch sizes instead of the workload's own")
      ->delimiter(',')
      ->check(whole_number(1, kLargestSize));
  command->add_option("--size", options->sizes, "NAME=NUMBER: a size of the model: layers=48")
      ->delimiter(',');
  command->add_option("--tokens", options->plan.tokens, "Tokens to train a planned model on")
      ->check(real_number(1, 1e18));
  command->add_option("--devices", options->plan.devices, "Devices to train a planned model with")
      ->check(whole_number(1, kLargestSize));
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--operations", options->operations, "Add each operation's cost to the JSON");
  command->callback([options, &action] { action = [options] { return run_predict(*options); }; });
}

}  // namespace trainbench
