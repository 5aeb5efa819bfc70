#include "common/backend.h"

namespace trainbench {

Tensor allocate_step_state(Backend& backend, const StepState& initial) {
  const Tensor state = backend.allocate(Shape{sizeof(StepState)}, DType::u8, MemoryKind::workspace);
  backend.copy_from_host(state, &initial);
  return state;
}

StepState read_step_state(Backend& backend, ConstTensor state) {
  StepState host;
  backend.copy_to_host(&host, state);
  return host;
}

}  // namespace trainbench
