#include "common/models/workload_data.h"

namespace trainbench {
namespace {

std::int64_t size_or(const Workload& workload, const ModelSizes& asked, const std::string& name,
                     std::int64_t fallback) {
  if (const auto found = asked.find(name); found != asked.end()) return found->second;
  const auto own = workload.sizes.find(name);
  return own == workload.sizes.end() ? fallback : own->second;
}

}  // namespace

SequenceShape sequence_shape(const Workload& workload, const ModelSizes& asked) {
  return {.steps = size_or(workload, asked, "sequence", 0),
          .vocabulary = size_or(workload, asked, "vocabulary", 0)};
}

ModelSizes sizes_for(const Workload& workload, const ModelSizes& asked, const Dataset& dataset) {
  ModelSizes sizes = asked;
  if (dataset.is_sequence()) return sizes;
  const Shape& image = dataset.sample_shape;
  const auto contradiction = [&](const std::string& name, const std::string& right) {
    return InputError("size \"" + name + "\" of " + std::string(workload.name) + " is " +
                      std::to_string(size_or(workload, asked, name, 0)) + "; the images of " +
                      dataset.name + " need " + right);
  };
  if (workload.sizes.contains("channels")) {
    if (asked.contains("channels") && asked.at("channels") != image[2]) {
      throw contradiction("channels", std::to_string(image[2]));
    }
    sizes["channels"] = image[2];
  }
  const std::int64_t side = size_or(workload, asked, "image", image[0]);
  if (side != image[0] || (workload.sizes.contains("image") && image[0] != image[1])) {
    throw contradiction("image", std::to_string(image[0]));
  }
  const std::int64_t inputs = size_or(workload, asked, "inputs", image.elements());
  if (inputs != image.elements()) throw contradiction("inputs", std::to_string(image.elements()));
  if (!dataset.train.labels.empty() &&
      size_or(workload, asked, "classes", dataset.classes) < dataset.classes) {
    throw contradiction("classes", "at least " + std::to_string(dataset.classes));
  }
  return sizes;
}

}  // namespace trainbench
