#pragma once

#include <string>

#include "cpu/providers/provider.h"

namespace trainbench {

/// oneDNN's matmul: float with bias and activation fused; bf16 where the CPU multiplies it itself.
const MatmulProvider& onednn_provider();
/// Version, and the instruction set its kernels use here.
std::string onednn_version();

}  // namespace trainbench
