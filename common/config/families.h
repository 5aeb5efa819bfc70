#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/models/model.h"

namespace trainbench {

/// The device kinds a case can name: "cpu", "gpu".
const std::vector<std::string_view>& device_kinds();

/// One thing a family's cases can vary in, beside device and precision: a key of the suite file and
/// of the case's name.
struct Axis {
  std::string_view key;
  /// The values there are; empty: the whole numbers from `least` to `most`.
  std::vector<std::string_view> choices;
  std::int64_t least = 0;
  std::int64_t most = 0;
  /// The value of a case that does not give one; null: such a case does not have the key.
  std::string (*fallback)(std::string_view case_name) = nullptr;
  bool fallback_in_name = false;
  std::string_view only_on = {};  ///< the only device it means something on; empty: all
  std::string_view only_in = {};  ///< the only case it means something in; empty: all
};

/// A group of cases that test one claim in the same way.
struct Family {
  std::string_view name;
  std::string_view claim;  ///< one sentence
  std::vector<std::string_view> cases;
  std::vector<std::string_view> precisions;  ///< the first is the default
  std::vector<Axis> axes;                    ///< in the order of the name
  /// Throws InputError for sizes the case does not have; null: the family has no sizes.
  void (*check_sizes)(std::string_view case_name, const ModelSizes& sizes) = nullptr;
};

const std::vector<Family>& families();

/// Throws InputError with the nearest right name.
const Family& family_by_name(std::string_view name);

}  // namespace trainbench
