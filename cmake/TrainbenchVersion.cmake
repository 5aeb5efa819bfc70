# What --version and every result say of this build: a header made at build time from git.

string(TOUPPER "${CMAKE_BUILD_TYPE}" TRAINBENCH_BUILD_TYPE_UPPER)
add_custom_target(trainbench_version
  COMMAND ${CMAKE_COMMAND}
    -DSOURCE_DIR=${PROJECT_SOURCE_DIR}
    -DOUTPUT=${PROJECT_BINARY_DIR}/generated/trainbench_version.h
    -DVERSION=${PROJECT_VERSION}
    -DBUILD_TYPE=${CMAKE_BUILD_TYPE}
    "-DCOMPILER=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}"
    "-DFLAGS=${CMAKE_CXX_FLAGS} ${CMAKE_CXX_FLAGS_${TRAINBENCH_BUILD_TYPE_UPPER}}"
    -DARCH=${TRAINBENCH_ARCH}
    -DSANITIZE=${TRAINBENCH_SANITIZE}
    "-DCUDA=${CMAKE_CUDA_COMPILER_VERSION}"
    -P ${PROJECT_SOURCE_DIR}/cmake/WriteVersion.cmake
  BYPRODUCTS ${PROJECT_BINARY_DIR}/generated/trainbench_version.h
  VERBATIM)
