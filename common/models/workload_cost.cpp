#include "common/models/workload_cost.h"

#include "common/data/loader.h"
#include "common/models/workload_data.h"
#include "common/nn/trainer.h"

namespace trainbench {
namespace {

/// A set of the right shapes: as few samples as its kind can have, as no data is read.
Dataset shapes_for(const Workload& workload, const ModelSizes& sizes) {
  const SequenceShape sequence = sequence_shape(workload, sizes);
  const std::int64_t elements = sequence.steps > 0 ? 10 * (sequence.steps + 1) : 1;
  const SyntheticSize size{elements, elements};
  Dataset dataset = make_synthetic_dataset(workload.dataset, 1, size, sequence);
  const auto channels = sizes.find("channels");
  if (channels != sizes.end() && !dataset.is_sequence()) {
    dataset.sample_shape = {dataset.sample_shape[0], dataset.sample_shape[1], channels->second};
  }
  return dataset;
}

}  // namespace

StepCost count_step(const StepProblem& problem, const SavedLayout& saved) {
  const Workload& workload = *problem.workload;
  const Dataset dataset = shapes_for(workload, problem.sizes);
  StepCost step;
  step.batch = problem.batch > 0 ? problem.batch : workload.default_batch;
  CostBackend cost(saved);
  Trainer trainer(cost, workload,
                  {.precision = problem.precision,
                   .batch = step.batch,
                   .sizes = sizes_for(workload, problem.sizes, dataset)});
  step.memory = cost.memory();
  cost.reset();
  trainer.step(cost, BatchLayout(dataset, step.batch).view(nullptr));
  step.tokens = step.batch * dataset.steps();
  step.parameters = trainer.model().layout().parameter_count();
  step.operations = cost.operations();
  step.total = cost.total();
  return step;
}

}  // namespace trainbench
