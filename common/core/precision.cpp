#include "common/core/precision.h"

#include "common/core/error.h"

namespace trainbench {

const Precision& precision_by_name(std::string_view name) {
  std::string known;
  for (const Precision& precision : kPrecisions) {
    if (precision.name == name) return precision;
    if (!known.empty()) known += ", ";
    known += precision.name;
  }
  throw InputError("unknown precision \"" + std::string(name) + "\"; one of " + known);
}

}  // namespace trainbench
