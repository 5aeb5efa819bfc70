#pragma once

#include "gpu/matmul_plan.h"

namespace trainbench::gpu {

/// True if cuBLASLt's ReLU mask of results of this dtype has the layout of saved_shape(): its
/// documentation gives the mask's size but not the order of its bits. Tries a small product on the
/// queue; allocates and waits.
bool library_mask_is_ours(cublasLtHandle_t handle, const Queue& queue, DType dtype);

}  // namespace trainbench::gpu
