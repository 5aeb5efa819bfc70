# Run at build time: writes OUTPUT from git's state, touching it only when it changed.
execute_process(COMMAND git -C ${SOURCE_DIR} rev-parse --short=12 HEAD
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit unknown)
endif()
execute_process(COMMAND git -C ${SOURCE_DIR} status --porcelain --untracked-files=no
                OUTPUT_VARIABLE changes ERROR_QUIET)
if(changes)
  set(dirty true)
else()
  set(dirty false)
endif()
string(STRIP "${FLAGS}" FLAGS)
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
#pragma once
// Written by cmake/WriteVersion.cmake at build time.
#define TRAINBENCH_VERSION "@VERSION@"
#define TRAINBENCH_COMMIT "@commit@"
#define TRAINBENCH_DIRTY @dirty@
#define TRAINBENCH_BUILD_TYPE "@BUILD_TYPE@"
#define TRAINBENCH_COMPILER "@COMPILER@"
#define TRAINBENCH_FLAGS "@FLAGS@"
#define TRAINBENCH_ARCH "@ARCH@"
#define TRAINBENCH_SANITIZE "@SANITIZE@"
#define TRAINBENCH_CUDA_COMPILER "@CUDA@"
]])
