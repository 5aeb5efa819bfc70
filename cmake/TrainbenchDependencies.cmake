# Libraries from the system where it has them, else fetched at a pinned version. The fetch can be
# tried offline with -DFETCHCONTENT_SOURCE_DIR_<NAME>=..., -DTRAINBENCH_FETCH=ON.

include(FetchContent)
option(TRAINBENCH_FETCH "Ignore the system's libraries and fetch the pinned versions" OFF)

find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)

# trainbench_dependency(NAME PACKAGE TARGET URL SHA256): PACKAGE's TARGET from the system, else NAME from URL.
macro(trainbench_dependency name package target url sha256)
  if(NOT TRAINBENCH_FETCH)
    find_package(${package} QUIET ${ARGN})
  endif()
  if(TARGET ${target})
    message(STATUS "${package}: from the system (${${package}_VERSION})")
  else()
    message(STATUS "${package}: fetched, ${url}")
    FetchContent_Declare(${name} URL ${url} URL_HASH SHA256=${sha256} DOWNLOAD_EXTRACT_TIMESTAMP ON)
    FetchContent_MakeAvailable(${name})
  endif()
endmacro()
