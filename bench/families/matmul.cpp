#include "bench/families/matmul.h"

#include "bench/families/operation_case.h"
#include "common/core/error.h"

namespace trainbench {

std::unique_ptr<PreparedCase> prepare_matmul(const SuiteCase& wanted, RunEnvironment& environment) {
  const CaseId& id = wanted.id;
  if (id.text("provider", "auto") == "naive" && id.integer("threads", 0) != 1) {
    throw Unsupported("the naive loops run on one thread: ask for them with \"threads\": 1");
  }
  auto prepared = std::make_unique<OperationCase>(wanted, environment);
  const std::int64_t m = id.integer("m", 0);
  const std::int64_t n = id.integer("n", 0);
  const std::int64_t k = id.integer("k", 0);
  const MatmulForm form{.transpose_a = id.name[0] == 't',
                        .transpose_b = id.name[1] == 't',
                        .math = prepared->precision().math};
  const Tensor a = prepared->uniform(form.transpose_a ? Shape{k, m} : Shape{m, k});
  const Tensor b = prepared->uniform(form.transpose_b ? Shape{n, k} : Shape{k, n});
  const Precision& precision = prepared->precision();
  const Tensor c =
      prepared->result({m, n}, form.transpose_a ? precision.master : precision.compute);
  prepared->set_work([=](Backend& backend) { backend.matmul(form, a, b, c, {}); });
  return prepared;
}

}  // namespace trainbench
