#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/cost/device_spec.h"

namespace trainbench {

/// A constant of the model that was fitted on published measurements.
struct FittedConstant {
  double value = 0;
  std::string from;               ///< the architecture that was measured
  std::vector<std::string> rows;  ///< the measurements, by name
};

/// What parts of its rated peaks an architecture reaches.
struct Efficiencies {
  FittedConstant cuda_cores;          ///< of the rated FLOP/s, products in exact arithmetic
  FittedConstant tensor_cores;        ///< the same, products on tensor cores
  FittedConstant cuda_convolution;    ///< a convolution's part of what a product reaches there
  FittedConstant tensor_convolution;  ///< the same on tensor cores
  FittedConstant bandwidth;           ///< of the rated bytes/s
  FittedConstant operation_seconds;  ///< an operation's time beside its work: launch, ramp and tail
};

/// By architecture. Reads configs/prediction/efficiencies.json; throws InputError.
std::map<std::string, Efficiencies> read_efficiencies();

/// The same from a file.
std::map<std::string, Efficiencies> read_efficiencies(const std::string& file);

/// The constants by their names in the file.
struct NamedConstant {
  const char* name;
  FittedConstant Efficiencies::*constant;
};
const std::vector<NamedConstant>& fitted_constants();

}  // namespace trainbench
