// The IDX reader on arbitrary bytes, plain and gzipped: it returns an array that fits its header or
// throws InputError; nothing else.

#include <cstdint>
#include <cstdlib>

#include "common/core/error.h"
#include "common/data/idx.h"
#include "tests/fuzz/one_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  for (const std::size_t rank : {1, 3}) {
    try {
      const trainbench::IdxArray array = trainbench::parse_idx({data, size}, "input", rank);
      std::uint64_t elements = 1;
      for (const std::int64_t extent : array.extents) {
        elements *= static_cast<std::uint64_t>(extent);
      }
      if (array.extents.size() != rank || array.values.size() != elements) std::abort();
    } catch (const trainbench::InputError& error) {
      trainbench::testing::require_one_line(error, "input");
    }
  }
  return 0;
}
