#pragma once

#include <string>

#include "cpu/providers/convolution.h"
#include "cpu/providers/provider.h"

namespace trainbench {

/// oneDNN's matmul: float with bias and activation fused; bf16 where the CPU multiplies it itself.
const MatmulProvider& onednn_provider();
/// oneDNN's convolutions, in the same types. Weights are put into the library's own layout.
const ConvolutionProvider& onednn_convolution_provider();
/// Version, and the instruction set its kernels use here.
std::string onednn_version();

}  // namespace trainbench
