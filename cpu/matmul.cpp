#include "cpu/cpu_backend.h"
#include "cpu/epilogue.h"

namespace trainbench {

void CpuBackend::matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                        const MatmulEpilogue& epilogue) {
  if (form.math == MathMode::tf32) {
    throw Unsupported("tf32 is a format of GPU tensor cores; the CPU has none");
  }
  router_.run({form, a, b, c, epilogue});
  if (epilogue.bias_gradient.absent()) return;
  if (form.transpose_a) {
    column_sums(threads_, a, epilogue.bias_gradient);
  } else {
    row_sums(threads_, a, epilogue.bias_gradient);
  }
}

}  // namespace trainbench
