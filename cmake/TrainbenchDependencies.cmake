# Libraries from the system where it has them, else fetched at pinned versions. The fetch can be tried
# offline: -DTRAINBENCH_FETCH=ON -DFETCHCONTENT_SOURCE_DIR_<NAME>=an unpacked source of each (scripts/ci/fetched.sh).

include(FetchContent)
option(TRAINBENCH_FETCH "Ignore the system's libraries and fetch the pinned versions" OFF)
option(TRAINBENCH_ONEDNN "Offer oneDNN as a provider of the CPU's heavy operations, where it is installed" ON)
option(TRAINBENCH_CBLAS "Offer CBLAS as a provider of the CPU's matrix products, where it is installed" ON)

# trainbench_dependency(NAME PACKAGE TARGET URL SHA256 [CACHE_VARIABLE VALUE]...): makes TARGET from the
# system's PACKAGE, else from the archive at URL. The pairs are the options the fetched project is given.
function(trainbench_dependency name package target url sha256)
  if(NOT TRAINBENCH_FETCH)
    find_package(${package} QUIET GLOBAL)
  endif()
  if(TARGET ${target})
    message(STATUS "${package}: the system's ${${package}_VERSION}${${package}_VERSION_STRING}")
    return()
  endif()
  message(STATUS "${package}: fetched from ${url}")
  # Measured code must not call a debug build of a library; its own tests and warnings are not ours.
  set(CMAKE_BUILD_TYPE Release)
  set(BUILD_TESTING OFF)
  set(source_subdir .)
  set(BUILD_SHARED_LIBS OFF)
  set(CMAKE_POLICY_DEFAULT_CMP0077 NEW)
  set(CMAKE_POLICY_VERSION_MINIMUM 3.5)
  while(ARGN)
    list(POP_FRONT ARGN option value)
    set(${option} ${value})
  endwhile()
  FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON SYSTEM
                       SOURCE_SUBDIR ${source_subdir})
  FetchContent_MakeAvailable(${name})
  if(NOT TARGET ${target} AND source_subdir STREQUAL ".")
    message(FATAL_ERROR "${package}: the source at ${${name}_SOURCE_DIR} defines no target ${target}")
  endif()
endfunction()

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)

trainbench_dependency(zlib ZLIB ZLIB::ZLIB
  https://github.com/madler/zlib/releases/download/v1.3.1/zlib-1.3.1.tar.gz
  9a93b2b7dfdac77ceba5a558a580e74667dd6fede4585b91eefb60f03b72df23
  source_subdir none)  # a folder that is not there: unpacked and no more
if(NOT TARGET ZLIB::ZLIB)
  # zlib's own build moves a header of its source folder and names no ZLIB::ZLIB; its sources need no set-up.
  FetchContent_GetProperties(zlib SOURCE_DIR zlib_source)
  set(sources adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees
      uncompr zutil)
  list(TRANSFORM sources REPLACE "(.+)" "${zlib_source}/\\1.c")
  add_library(trainbench_zlib STATIC ${sources})
  target_include_directories(trainbench_zlib SYSTEM PUBLIC "${zlib_source}")
  target_compile_definitions(trainbench_zlib PRIVATE HAVE_UNISTD_H)
  target_compile_options(trainbench_zlib PRIVATE -O2)
  add_library(ZLIB::ZLIB ALIAS trainbench_zlib)
endif()

trainbench_dependency(eigen Eigen3 Eigen3::Eigen
  https://gitlab.com/libeigen/eigen/-/archive/3.4.0/eigen-3.4.0.tar.bz2
  b4c198460eba6f28d34894e3a5710998818515104d6e74e5cc331ce31e46e626
  source_subdir none)
if(NOT TARGET Eigen3::Eigen)
  # Eigen's own build looks for a Fortran compiler and a dozen solvers, and installs its headers beside our program.
  FetchContent_GetProperties(eigen SOURCE_DIR eigen_source)
  add_library(trainbench_eigen INTERFACE)
  target_include_directories(trainbench_eigen SYSTEM INTERFACE "${eigen_source}")
  add_library(Eigen3::Eigen ALIAS trainbench_eigen)
endif()

trainbench_dependency(json nlohmann_json nlohmann_json::nlohmann_json
  https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz
  d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273
  JSON_BuildTests OFF JSON_Install OFF)

trainbench_dependency(cli11 CLI11 CLI11::CLI11
  https://github.com/CLIUtils/CLI11/archive/refs/tags/v2.3.2.tar.gz
  aac0ab42108131ac5d3344a9db0fdf25c4db652296641955720a4fbe52334e22
  CLI11_BUILD_TESTS OFF CLI11_BUILD_EXAMPLES OFF CLI11_BUILD_DOCS OFF CLI11_INSTALL OFF)

trainbench_dependency(benchmark benchmark benchmark::benchmark
  https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz
  6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7
  BENCHMARK_ENABLE_TESTING OFF BENCHMARK_ENABLE_GTEST_TESTS OFF BENCHMARK_ENABLE_INSTALL OFF
  BENCHMARK_ENABLE_WERROR OFF BENCHMARK_INSTALL_DOCS OFF)

if(TRAINBENCH_TESTS)
  trainbench_dependency(googletest GTest GTest::gtest_main
    https://github.com/google/googletest/archive/refs/tags/release-1.12.1.tar.gz
    81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2
    INSTALL_GTEST OFF BUILD_GMOCK OFF)
endif()

# trainbench_provider(TARGET TITLE LIBRARY HEADER): an optional provider of the CPU's heavy operations, from the
# system alone. Found by its files: Debian's package file of oneDNN asks for OpenCL, which we do not need.
function(trainbench_provider target title library header)
  # An OpenBLAS on OpenMP is looked for first: it shares our thread team.
  set(folders ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp openblas)
  string(TOUPPER ${target} prefix)
  find_library(${prefix}_LIBRARY NAMES ${library} PATH_SUFFIXES ${folders})
  find_path(${prefix}_INCLUDE NAMES ${header} PATH_SUFFIXES ${folders})
  mark_as_advanced(${prefix}_LIBRARY ${prefix}_INCLUDE)
  if(${prefix}_LIBRARY AND ${prefix}_INCLUDE)
    message(STATUS "${title}: ${${prefix}_LIBRARY}")
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE "${${prefix}_LIBRARY}")
    target_include_directories(${target} SYSTEM INTERFACE "${${prefix}_INCLUDE}")
  else()
    message(STATUS "${title}: not found, built without this provider")
  endif()
endfunction()

if(TRAINBENCH_ONEDNN)
  trainbench_provider(trainbench_onednn oneDNN dnnl oneapi/dnnl/dnnl.hpp)
endif()
if(TRAINBENCH_CBLAS)
  trainbench_provider(trainbench_cblas OpenBLAS openblas cblas.h)
endif()
