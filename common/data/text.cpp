#include "common/data/text.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "common/core/error.h"
#include "common/data/file_bytes.h"
#include "common/system/child_process.h"

namespace trainbench {
namespace {

constexpr const char* kBibleProgram = "/usr/bin/bible";
constexpr double kBibleSeconds = 60;  // it takes a fifth of one

std::vector<std::uint8_t> run_bible() {
  const ChildResult result = run_child({kBibleProgram, "-f", "gen1:1-rev22:21"}, kBibleSeconds);
  if (!result.good() || result.output.empty()) {
    const std::string reason = result.good() ? "printed nothing" : result.failure(kBibleSeconds);
    throw InputError(std::string(kBibleProgram) + ": " + reason +
                     "; install Debian's bible-kjv anew, or name another text by --data");
  }
  return {result.output.begin(), result.output.end()};
}

/// The text that the program prints; it is run once.
const std::vector<std::uint8_t>& bible() {
  static const std::vector<std::uint8_t> text = run_bible();
  return text;
}

/// `source`, or the one *.txt in it.
std::filesystem::path text_file(const std::filesystem::path& source) {
  std::error_code error;
  if (!std::filesystem::is_directory(source, error)) return source;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(source, error)) {
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  }
  if (files.size() == 1) return files.front();
  throw InputError(source.string() + ": a folder with " + std::to_string(files.size()) +
                   " files *.txt; it must hold one, or --data name the file");
}

}  // namespace

bool has_bible() { return access(kBibleProgram, X_OK) == 0; }

void require_ascii(std::span<const std::uint8_t> text, const std::string& name) {
  const auto wrong = std::find_if(text.begin(), text.end(),
                                  [](std::uint8_t byte) { return byte >= kAsciiCharacters; });
  if (wrong == text.end()) return;
  char byte[8];
  std::snprintf(byte, sizeof byte, "0x%02x", *wrong);
  throw InputError(name + ": byte " + byte + " at offset " + std::to_string(wrong - text.begin()) +
                   "; text must be ASCII, bytes below 0x80");
}

std::vector<std::uint8_t> parse_tokens(std::span<const std::uint8_t> file, const std::string& name,
                                       std::size_t bytes_each, std::int64_t vocabulary) {
  if (file.size() % bytes_each != 0) {
    throw InputError(name + ": " + std::to_string(file.size()) + " bytes are no whole number of " +
                     std::to_string(8 * bytes_each) + "-bit tokens");
  }
  const std::size_t count = file.size() / bytes_each;
  std::vector<std::uint8_t> tokens(count * sizeof(std::int32_t));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t word = 0;
    for (std::size_t j = bytes_each; j-- > 0;) word = word << 8 | file[i * bytes_each + j];
    const auto token = static_cast<std::int32_t>(word);
    if (token < 0 || token >= vocabulary) {
      throw InputError(name + ": token " + std::to_string(i) + " is " + std::to_string(token) +
                       "; tokens must be from 0 to " + std::to_string(vocabulary - 1) +
                       "; a file of 32-bit tokens has a name that ends in .i32");
    }
    std::memcpy(tokens.data() + i * sizeof token, &token, sizeof token);
  }
  return tokens;
}

Dataset read_text(const DataKind& kind, const std::string& source, const SequenceShape& shape) {
  Dataset dataset = empty_dataset(kind, source, shape);
  if (source == kBible) {
    if (!has_bible()) {
      throw InputError(std::string(kBible) + ": there is no " + kBibleProgram +
                       "; install Debian's package bible-kjv, or name another text by --data");
    }
    require_ascii(bible(), kBibleProgram);
    split_sequence(dataset, kBibleProgram, bible());
    return dataset;
  }
  const std::filesystem::path file = text_file(source);
  std::vector<std::uint8_t> text =
      read_file_bytes(file, "a file of ASCII text, or a folder with one *.txt");
  require_ascii(text, file.string());
  split_sequence(dataset, file.string(), std::move(text));
  return dataset;
}

Dataset read_tokens(const DataKind& kind, const std::string& source, const SequenceShape& shape) {
  Dataset dataset = empty_dataset(kind, source, shape);
  const std::vector<std::uint8_t> file =
      read_file_bytes(source, "a file of little-endian tokens, of 16 bits or, named *.i32, of 32");
  split_sequence(dataset, source,
                 parse_tokens(file, source, source.ends_with(".i32") ? 4 : 2, shape.vocabulary));
  return dataset;
}

}  // namespace trainbench
