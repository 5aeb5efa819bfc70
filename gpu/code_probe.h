#pragma once

namespace trainbench::gpu {

/// A kernel of this build; asking the runtime for its attributes tells whether the binary holds
/// code for the current device.
const void* code_probe();

}  // namespace trainbench::gpu
