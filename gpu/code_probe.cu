#include "gpu/code_probe.h"

namespace trainbench::gpu {
namespace {

__global__ void code_probe_kernel() {}

}  // namespace

const void* code_probe() { return reinterpret_cast<const void*>(&code_probe_kernel); }

}  // namespace trainbench::gpu
