#include <string>

#include "bench/families/attention.h"
#include "bench/families/conv.h"
#include "bench/families/infer.h"
#include "bench/families/latency.h"
#include "bench/families/launch.h"
#include "bench/families/loader.h"
#include "bench/families/matmul.h"
#include "bench/families/scaling.h"
#include "bench/families/stream.h"
#include "bench/families/train.h"
#include "bench/families/transfer.h"
#include "bench/harness/case.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

struct Registered {
  const char* family;
  CaseFactory factory;
};

constexpr Registered kFamilies[] = {
    {"train", prepare_train},     {"loader", prepare_loader}, {"stream", prepare_stream},
    {"latency", prepare_latency}, {"launch", prepare_launch}, {"transfer", prepare_transfer},
    {"matmul", prepare_matmul},   {"conv", prepare_conv},     {"attention", prepare_attention},
    {"scaling", prepare_scaling}, {"infer", prepare_infer},
};

}  // namespace

CaseFactory family_factory(const std::string& family) {
  for (const Registered& each : kFamilies) {
    if (family == each.family) return each.factory;
  }
  throw InputError("unknown family \"" + family + "\"");
}

}  // namespace trainbench
