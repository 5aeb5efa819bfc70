# Functions that register tests. One CTest entry is one test program: GoogleTest's own cases show in its output.

set(TRAINBENCH_GPU_TEST_OPTIONS "" CACHE STRING
    "Options of the launcher, put before its \"--\", for every GPU test: \"--racecheck;--initcheck\"")
set(TRAINBENCH_GPU_TEST_VARIANTS "" CACHE STRING
    "Further runs of the GPU tests, NAME=OPTION,... each: \"seed1=--seed,1;seed2=--seed,2\"")

# trainbench_test(NAME sources... [LIBS libraries...] [LABELS labels...]): a GoogleTest program on the CPU. The
# label slow keeps it out of the sanitizers' runs; nightly keeps it to `ctest -C Nightly`.
function(trainbench_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LIBS;LABELS")
  trainbench_test_program(${name} ${arg_UNPARSED_ARGUMENTS} LIBS ${arg_LIBS})
  set(when "")
  if("nightly" IN_LIST arg_LABELS)
    set(when CONFIGURATIONS Nightly)
  endif()
  add_test(NAME ${name} COMMAND ${name} ${when})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS "${arg_LABELS}")
endfunction()

# trainbench_gpu_test(NAME sources... [LIBS libraries...] [ONE_STREAM]): a GoogleTest program that needs a
# GPU. It runs through TRAINBENCH_GPU_TEST_LAUNCHER where that is set, with TRAINBENCH_GPU_TEST_OPTIONS, and there a
# missing device is a failure; without a launcher and a device it is skipped. The variants run it again, unless its
# work is all of ONE_STREAM, whose order is no accident.
# The target gpu_tests builds them all.
function(trainbench_gpu_test name)
  if(NOT TRAINBENCH_CUDA)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "ONE_STREAM" "" "")
  trainbench_test_program(${name} ${arg_UNPARSED_ARGUMENTS} MAIN ${PROJECT_SOURCE_DIR}/tests/gpu_main.cpp)
  target_link_libraries(${name} PRIVATE CUDA::cudart)
  if(NOT TARGET gpu_tests)
    add_custom_target(gpu_tests)
  endif()
  add_dependencies(gpu_tests ${name})
  trainbench_add_gpu_run(${name} ${name} "${TRAINBENCH_GPU_TEST_OPTIONS}")
  if(TRAINBENCH_GPU_TEST_LAUNCHER AND NOT arg_ONE_STREAM)
    foreach(variant IN LISTS TRAINBENCH_GPU_TEST_VARIANTS)
      string(REGEX MATCH "^([^=]+)=(.*)$" matched "${variant}")
      if(NOT matched)
        message(FATAL_ERROR "TRAINBENCH_GPU_TEST_VARIANTS: '${variant}' is not NAME=OPTION,...")
      endif()
      set(label ${CMAKE_MATCH_1})
      string(REPLACE "," ";" options "${CMAKE_MATCH_2}")
      trainbench_add_gpu_run(${name}.${label} ${name} "${options}")
    endforeach()
  endif()
endfunction()

# One CTest entry that runs program TARGET through the launcher with further launcher options.
function(trainbench_add_gpu_run name target options)
  set(launcher ${TRAINBENCH_GPU_TEST_LAUNCHER})
  if(options)
    list(FIND launcher "--" end)
    if(end EQUAL -1)
      list(APPEND launcher ${options})
    else()
      list(INSERT launcher ${end} ${options})
    endif()
  endif()
  add_test(NAME ${name} COMMAND ${launcher} $<TARGET_FILE:${target}>)
  set_tests_properties(${name} PROPERTIES LABELS gpu SKIP_RETURN_CODE 77 TIMEOUT 900)
  if(launcher)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "TRAINBENCH_REQUIRE_GPU=1")
  endif()
endfunction()

# trainbench_test_program(NAME sources... [LIBS libraries...] [MAIN source]): what both kinds share. The target
# tests_FOLDER builds all programs of a folder.
function(trainbench_test_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "MAIN" "LIBS")
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS} ${arg_MAIN})
  if(arg_MAIN)
    target_link_libraries(${name} PRIVATE GTest::gtest)
  else()
    target_link_libraries(${name} PRIVATE GTest::gtest_main)
  endif()
  target_link_libraries(${name} PRIVATE trainbench_flags trainbench_arch trainbench_common ${arg_LIBS})
  target_compile_definitions(${name} PRIVATE TRAINBENCH_HAS_CUDA=$<BOOL:${TRAINBENCH_CUDA}>
                             TRAINBENCH_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  get_filename_component(folder "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  if(NOT TARGET tests_${folder})
    add_custom_target(tests_${folder})
  endif()
  add_dependencies(tests_${folder} ${name})
endfunction()
