# Options of the build, and the compile flags that every target of ours shares.

option(TRAINBENCH_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(TRAINBENCH_WERROR "Treat warnings as errors" OFF)
option(TRAINBENCH_FUZZ "Build the fuzz targets (clang, with TRAINBENCH_SANITIZE=address,undefined)" OFF)
set(TRAINBENCH_CUDA AUTO CACHE STRING "Build the GPU side: AUTO (where a toolkit is found), ON, OFF")
set(TRAINBENCH_ARCH native CACHE STRING
    "-march of the CPU code: native, or a portable level such as x86-64-v2")
set(TRAINBENCH_SANITIZE "" CACHE STRING "Sanitizers: address,undefined or thread")
set(TRAINBENCH_GPU_TEST_LAUNCHER "" CACHE STRING
    "Command that runs a GPU test, such as \"DIR/simgpu;run;--\"; empty: tests run as they are")

# Flags of our own targets. Third-party code is not held to our warnings.
add_library(trainbench_flags INTERFACE)
target_include_directories(trainbench_flags INTERFACE "${PROJECT_SOURCE_DIR}")
# g++ 12 sees an overlap in "text" + std::string() that is none (GCC bug 105651, fixed in 13).
target_compile_options(trainbench_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:$<$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>:-Wno-restrict>>
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic -Wshadow -Wno-missing-field-initializers>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TRAINBENCH_WERROR}>>:-Werror>)

# The architecture flags stand apart: the guard that reports a CPU without them must not have them.
add_library(trainbench_arch INTERFACE)
if(TRAINBENCH_ARCH)
  target_compile_options(trainbench_arch INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-march=${TRAINBENCH_ARCH}>)
endif()

if(TRAINBENCH_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang" OR NOT TRAINBENCH_SANITIZE MATCHES "address")
    message(FATAL_ERROR "TRAINBENCH_FUZZ needs clang and TRAINBENCH_SANITIZE=address,undefined: --preset ci-clang")
  endif()
  # The fuzzer follows the paths through all of our code.
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=fuzzer-no-link>)
endif()
if(TRAINBENCH_SANITIZE)
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${TRAINBENCH_SANITIZE}>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-recover=all>
                      $<$<COMPILE_LANGUAGE:CXX>:-fno-omit-frame-pointer>)
  # Instrumented loops are not vectorised, whatever they ask for.
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-pass-failed>)
  add_link_options(-fsanitize=${TRAINBENCH_SANITIZE})
  target_compile_definitions(trainbench_flags INTERFACE TRAINBENCH_SANITIZED)
endif()

# trainbench_library(NAME sources...): a static library with our flags.
function(trainbench_library name)
  add_library(${name} STATIC ${ARGN})
  target_link_libraries(${name} PUBLIC trainbench_flags trainbench_arch)
endfunction()
