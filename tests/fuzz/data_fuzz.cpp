// The readers of records, tokens and text on arbitrary bytes: each returns what fits the bytes or
// throws InputError; nothing else.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "common/core/error.h"
#include "common/data/image_files.h"
#include "common/data/text.h"
#include "tests/fuzz/one_line.h"

namespace {

using Input = std::span<const std::uint8_t>;

/// Runs a reader; false where it refused the input, in one line.
template <class Reader>
bool reads(const Reader& reader) {
  try {
    reader();
    return true;
  } catch (const trainbench::InputError& error) {
    trainbench::testing::require_one_line(error, "input");
    return false;
  }
}

void require(bool condition) {
  if (!condition) std::abort();
}

void records(Input input, const trainbench::RecordFormat& format) {
  const trainbench::Shape image{2, 3, 3};
  constexpr std::int64_t kClasses = 10;
  trainbench::SampleSet set;
  if (!reads([&] { append_records(input, "input", image, kClasses, format, set); })) return;
  const std::size_t record = format.label_bytes + 18;
  require(input.size() == record * static_cast<std::size_t>(set.count));
  require(set.labels.size() == static_cast<std::size_t>(set.count));
  require(set.samples.size() == 18 * set.labels.size());
  for (const std::int32_t label : set.labels) require(label >= 0 && label < kClasses);
}

void tokens(Input input, std::size_t bytes_each) {
  constexpr std::int64_t kVocabulary = 50257;
  std::vector<std::uint8_t> parsed;
  if (!reads([&] { parsed = trainbench::parse_tokens(input, "input", bytes_each, kVocabulary); })) {
    return;
  }
  require(parsed.size() / sizeof(std::int32_t) * bytes_each == input.size());
  for (std::size_t i = 0; i < parsed.size(); i += sizeof(std::int32_t)) {
    std::int32_t token = 0;
    std::memcpy(&token, parsed.data() + i, sizeof token);
    require(token >= 0 && token < kVocabulary);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Input input(data, size);
  records(input, {.label_bytes = 1, .planar = true});
  records(input, {.label_bytes = 2, .planar = false});
  tokens(input, 2);
  tokens(input, 4);
  const bool ascii = reads([&] { trainbench::require_ascii(input, "input"); });
  require(ascii == std::all_of(input.begin(), input.end(), [](std::uint8_t b) { return b < 128; }));
  return 0;
}
