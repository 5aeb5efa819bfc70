#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/models/model.h"
#include "common/nn/optimizer.h"

namespace trainbench {

/// A batch and sizes other than a workload's own.
struct WorkloadVariant {
  std::int64_t batch = 0;
  ModelSizes sizes;
};

/// What training a model means here: the one table that the program, its printed list and the
/// PyTorch peer share.
struct Workload {
  std::string_view name;
  std::string_view description;
  std::string_view dataset;  ///< the kind of data it trains on: "images28"
  std::int64_t default_batch;
  ModelSizes sizes;  ///< the model's own
  OptimizerOptions optimizer;
  double learning_rate;
  double gradient_clip;   ///< largest norm of the gradient; 0: not clipped
  float input_scale = 0;  ///< a byte p enters as p * input_scale + input_shift
  float input_shift = 0;
  std::unique_ptr<Model> (*make)(const Workload&, const ModelSizes&);
  /// How weights start, in words for who reads the table.
  std::string_view initialization = "uniform in +-1/sqrt(fan in), weights and biases";
  /// What `verify` trains where every element's check at the own sizes takes too long.
  WorkloadVariant verified{};
};

/// The sizes of a workload's model where some of them were asked for otherwise.
class SizeReader {
 public:
  /// Throws InputError for a name that no size of the model has.
  SizeReader(const Workload& workload, const ModelSizes& asked);

  /// The size of that name; throws InputError unless it is positive and at most `most`.
  std::int64_t get(const std::string& name, std::int64_t most = std::int64_t{1} << 20) const;

 private:
  std::string model_;
  ModelSizes sizes_;
};

const std::vector<Workload>& workloads();

/// Throws InputError that lists the names there are.
const Workload& workload_by_name(std::string_view name);

}  // namespace trainbench
