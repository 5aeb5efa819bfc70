#include "cpu/providers/onednn_runtime.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include "common/core/error.h"

namespace trainbench {

dnnl::engine& onednn_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& onednn_stream() {
  static dnnl::stream stream(onednn_engine());
  return stream;
}

dnnl::memory::data_type onednn_type(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

bool multiplies_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

dnnl::primitive_attr onednn_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

void onednn_execute(const dnnl::primitive& primitive, const dnnl_exec_arg_t* arguments, int count,
                    const char* what) {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive.get(), onednn_stream().get(), count, arguments);
  if (status != dnnl_success) {
    throw DeviceError(std::string("oneDNN ") + what + " failed: " + dnnl_status2str(status));
  }
}

}  // namespace trainbench
