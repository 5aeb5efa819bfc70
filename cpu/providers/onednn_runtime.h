#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "common/core/dtype.h"

namespace trainbench {

/// What all uses of oneDNN share: one engine and one stream, on the host's memory.
dnnl::engine& onednn_engine();
dnnl::stream& onednn_stream();

dnnl::memory::data_type onednn_type(DType dtype);

/// The instruction that multiplies bf16; without it oneDNN converts, and so can we.
bool multiplies_bf16();

/// What makes a primitive exact and its scratch memory ours.
dnnl::primitive_attr onednn_attributes();

/// Runs a primitive; throws DeviceError where it fails.
void onednn_execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, int count,
                    const char* what);

}  // namespace trainbench
