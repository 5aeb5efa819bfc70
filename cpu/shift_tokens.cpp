#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

template <class T>
void shift(int threads, const T* from, Shape shape, bool time_major, std::int32_t* inputs,
           std::int32_t* targets) {
  const std::int64_t batch = shape[0];
  const std::int64_t window = shape[1];
  const std::int64_t steps = window - 1;
  // Parts write whole ranges of the results, whichever way these lie.
  parallel_ranges(threads, batch * steps, kGrain, [=](Range range) {
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const std::int64_t row = time_major ? i % batch : i / steps;
      const std::int64_t step = time_major ? i / batch : i % steps;
      const T* token = from + row * window + step;
      inputs[i] = token[0];
      targets[i] = token[1];
    }
  });
}

}  // namespace

void CpuBackend::shift_tokens(ConstTensor from, bool time_major, Tensor inputs, Tensor targets) {
  require(from.shape.rank() == 2 && from.shape[1] > 1, "windows are [b, t + 1]");
  const std::int64_t tokens = from.shape[0] * (from.shape[1] - 1);
  require(inputs.elements() == tokens && targets.elements() == tokens,
          "a window has an input and a target for each step");
  auto* in = inputs.as<std::int32_t>();
  auto* out = targets.as<std::int32_t>();
  if (from.dtype == DType::u8) {
    shift(threads_, from.as<std::uint8_t>(), from.shape, time_major, in, out);
  } else {
    shift(threads_, from.as<std::int32_t>(), from.shape, time_major, in, out);
  }
}

}  // namespace trainbench
