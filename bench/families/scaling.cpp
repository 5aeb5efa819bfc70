#include "bench/families/scaling.h"

#include <thread>

#include "bench/families/operation_case.h"
#include "common/core/error.h"

namespace trainbench {

std::unique_ptr<PreparedCase> prepare_scaling(const SuiteCase& wanted,
                                              RunEnvironment& environment) {
  const std::int64_t available = std::thread::hardware_concurrency();
  if (available > 0 && wanted.id.integer("threads", 1) > available) {
    throw Unsupported("this CPU has no more than " + std::to_string(available) +
                      " hardware threads");
  }
  auto prepared = std::make_unique<OperationCase>(wanted, environment);
  const std::int64_t size = wanted.id.integer("size", 0);
  if (wanted.id.name == "compute") {
    const Tensor a = prepared->uniform({size, size});
    const Tensor b = prepared->uniform({size, size});
    const Tensor c = prepared->result({size, size});
    prepared->set_work([=](Backend& backend) { backend.matmul({}, a, b, c, {}); });
  } else {
    const Tensor a = prepared->uniform({size * 1024});
    const Tensor b = prepared->uniform({size * 1024});
    const Tensor y = prepared->result({size * 1024});
    prepared->set_work([=](Backend& backend) { backend.add(a, b, y); });
  }
  return prepared;
}

}  // namespace trainbench
