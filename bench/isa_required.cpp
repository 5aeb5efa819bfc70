// Compiled with the program's own architecture flags, unlike isa_guard.cpp.

#include "bench/isa_guard.h"

namespace trainbench {

constinit const std::uint32_t kRequiredIsa = 0u
#ifdef __SSE4_2__
                                             | kSse42
#endif
#ifdef __POPCNT__
                                             | kPopcnt
#endif
#ifdef __AVX__
                                             | kAvx
#endif
#ifdef __AVX2__
                                             | kAvx2
#endif
#ifdef __FMA__
                                             | kFma
#endif
#ifdef __BMI2__
                                             | kBmi2
#endif
#ifdef __AVX512F__
                                             | kAvx512f
#endif
#ifdef __AVX512DQ__
                                             | kAvx512dq
#endif
#ifdef __AVX512BW__
                                             | kAvx512bw
#endif
#ifdef __AVX512VL__
                                             | kAvx512vl
#endif
#ifdef __AVX512IFMA__
                                             | kAvx512ifma
#endif
#ifdef __AVX512VBMI__
                                             | kAvx512vbmi
#endif
#ifdef __AVX512VBMI2__
                                             | kAvx512vbmi2
#endif
#ifdef __AVX512VNNI__
                                             | kAvx512vnni
#endif
#ifdef __AVX512BITALG__
                                             | kAvx512bitalg
#endif
#ifdef __AVX512BF16__
                                             | kAvx512bf16
#endif
#ifdef __AVX512FP16__
                                             | kAvx512fp16
#endif
#ifdef __AMX_BF16__
                                             | kAmxBf16
#endif
    ;

}  // namespace trainbench
