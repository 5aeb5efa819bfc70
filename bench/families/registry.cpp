#include <string>

#include "bench/families/loader.h"
#include "bench/families/stream.h"
#include "bench/families/train.h"
#include "bench/harness/case.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

struct Registered {
  const char* family;
  CaseFactory factory;
};

constexpr Registered kFamilies[] = {
    {"train", prepare_train},
    {"loader", prepare_loader},
    {"stream", prepare_stream},
};

}  // namespace

CaseFactory family_factory(const std::string& family) {
  for (const Registered& each : kFamilies) {
    if (family == each.family) return each.factory;
  }
  throw InputError("unknown family \"" + family + "\"");
}

}  // namespace trainbench
