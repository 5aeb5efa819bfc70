#include "common/cost/efficiencies.h"

#include <filesystem>

#include "common/config/suite.h"
#include "common/config/typed_reader.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

FittedConstant read_constant(const JsonNode& node) {
  const ObjectReader object(node, {"value", "from", "rows"});
  FittedConstant constant;
  constant.value = object.required("value").number(0, 1);
  constant.from = object.required("from").text(1, 80);
  for (const JsonNode& row : object.required("rows").elements(1, 100)) {
    constant.rows.push_back(row.text(1, 200));
  }
  return constant;
}

Efficiencies read_architecture(const JsonNode& node) {
  std::vector<std::string_view> names;
  for (const NamedConstant& each : fitted_constants()) names.push_back(each.name);
  const ObjectReader object(node, names);
  Efficiencies efficiencies;
  for (const NamedConstant& each : fitted_constants()) {
    efficiencies.*each.constant = read_constant(object.required(each.name));
  }
  return efficiencies;
}

}  // namespace

const std::vector<NamedConstant>& fitted_constants() {
  static const std::vector<NamedConstant> table{
      {"cuda_cores", &Efficiencies::cuda_cores},
      {"tensor_cores", &Efficiencies::tensor_cores},
      {"cuda_convolution", &Efficiencies::cuda_convolution},
      {"tensor_convolution", &Efficiencies::tensor_convolution},
      {"bandwidth", &Efficiencies::bandwidth},
      {"operation_seconds", &Efficiencies::operation_seconds},
  };
  return table;
}

std::map<std::string, Efficiencies> read_efficiencies(const std::string& file) {
  const Json document = read_json_file(file);
  const ObjectReader object(JsonNode(document, file), {"description", "architectures"});
  std::map<std::string, Efficiencies> efficiencies;
  for (const auto& [name, node] : object.required("architectures").members()) {
    efficiencies[name] = read_architecture(node);
  }
  return efficiencies;
}

std::map<std::string, Efficiencies> read_efficiencies() {
  for (const std::filesystem::path& folder : config_folders()) {
    const std::filesystem::path file = folder / "prediction/efficiencies.json";
    std::error_code error;
    if (std::filesystem::exists(file, error)) return read_efficiencies(file.string());
  }
  throw InputError("no configs folder has prediction/efficiencies.json; install trainbench's");
}

}  // namespace trainbench
