#include "common/data/synthetic.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "common/core/philox.h"

namespace trainbench {
namespace {

// Streams of the generator; sample i of a set draws from the set's stream + i.
constexpr std::uint64_t kPrototypeStream = std::uint64_t{0x73796e} << 40;
constexpr std::uint64_t kTrainStream = kPrototypeStream + (std::uint64_t{1} << 36);
constexpr std::uint64_t kTestStream = kPrototypeStream + (std::uint64_t{2} << 36);
constexpr std::uint64_t kTextStream = kPrototypeStream + (std::uint64_t{3} << 36);
constexpr std::uint64_t kTokenStream = kPrototypeStream + (std::uint64_t{4} << 36);

constexpr std::size_t kBlockBytes = sizeof(PhiloxWords);

// The bytes of consecutive words of a stream from block `start`, least significant first.
void random_bytes(const Philox& random, std::uint64_t start, std::span<std::uint8_t> out) {
  for (std::size_t first = 0; first < out.size(); first += kBlockBytes) {
    const PhiloxWords block = random.block(start + first / kBlockBytes);
    const std::size_t count = std::min(kBlockBytes, out.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      out[first + i] = static_cast<std::uint8_t>(block.word[i / 4] >> (8 * (i % 4)));
    }
  }
}

// The prototype of class c is bytes c * image, ... of their stream.
SampleSet make_images(const Dataset& dataset, std::uint64_t seed, std::uint64_t stream,
                      std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(dataset.sample_bytes());
  require(bytes % kBlockBytes == 0, "prototypes start with a block of random words");
  const auto size = static_cast<std::size_t>(count);
  SampleSet set{.samples = std::vector<std::uint8_t>(size * bytes),
                .labels = std::vector<std::int32_t>(size),
                .count = count};
#pragma omp parallel
  {
    std::vector<std::uint8_t> prototype(bytes);
#pragma omp for schedule(static)
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t label = i % static_cast<std::size_t>(dataset.classes);
      set.labels[i] = static_cast<std::int32_t>(label);
      random_bytes(Philox(seed, kPrototypeStream), label * bytes / kBlockBytes, prototype);
      const std::span<std::uint8_t> sample = std::span(set.samples).subspan(i * bytes, bytes);
      random_bytes(Philox(seed, stream + i), 0, sample);
      for (std::size_t p = 0; p < bytes; ++p) {
        sample[p] = static_cast<std::uint8_t>((prototype[p] + 3 * sample[p]) / 4);
      }
    }
  }
  return set;
}

// ---- Text ------------------------------------------------------------------------------------

constexpr std::array<std::string_view, 8> kArticles{"the ", "a ",    "the ",   "this ",
                                                    "the ", "that ", "every ", "no "};
constexpr std::array<std::string_view, 16> kAdjectives{
    "small ", "great ", "old ",   "young ", "quiet ", "bright ", "dark ",  "heavy ",
    "swift ", "slow ",  "green ", "white ", "cold ",  "warm ",   "empty ", "broken "};
constexpr std::array<std::string_view, 32> kNouns{
    "river",  "mountain", "house", "king",   "garden",  "stone", "ship",    "forest",
    "city",   "road",     "bird",  "horse",  "child",   "woman", "man",     "voice",
    "window", "winter",   "storm", "bridge", "harbour", "lamp",  "table",   "letter",
    "field",  "tower",    "cloud", "island", "fire",    "night", "morning", "song"};
constexpr std::array<std::string_view, 16> kVerbs{
    " saw ",     " followed ", " carried ", " found ", " built ",    " kept ",
    " crossed ", " left ",     " watched ", " knew ",  " answered ", " held ",
    " passed ",  " called ",   " covered ", " lost "};

/// Draws from one stream of words, one after the other.
class Draw {
 public:
  Draw(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}

  std::uint32_t word() {
    if (index_ % 4 == 0) block_ = random_.block(index_ / 4);
    return block_.word[index_++ % 4];
  }

  /// Below `bound`, small ones more often: the product of two uniform numbers.
  std::uint32_t skewed(std::uint32_t bound) {
    const std::uint64_t product = std::uint64_t{word()} * word() >> 32;
    return static_cast<std::uint32_t>(product * bound >> 32);
  }

  template <std::size_t N>
  std::string_view of(const std::array<std::string_view, N>& words) {
    return words[skewed(N)];
  }

 private:
  Philox random_;
  std::uint64_t index_ = 0;
  PhiloxWords block_{};
};

void add_noun(Draw& draw, std::string& text) {
  text += draw.of(kArticles);
  if (draw.word() % 2 == 0) text += draw.of(kAdjectives);
  text += draw.of(kNouns);
}

}  // namespace

void fill_synthetic_images(Dataset& dataset, std::uint64_t seed, const SyntheticSize& size) {
  dataset.train = make_images(dataset, seed, kTrainStream, size.train);
  dataset.test = make_images(dataset, seed, kTestStream, size.test);
}

std::vector<std::uint8_t> synthetic_text(std::uint64_t seed, std::int64_t characters) {
  const auto size = static_cast<std::size_t>(characters);
  Draw draw(seed, kTextStream);
  std::string text;
  while (text.size() < size) {
    add_noun(draw, text);
    text += draw.of(kVerbs);
    add_noun(draw, text);
    text += draw.word() % 4 == 0 ? ".\n" : ", and ";
  }
  return {text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size)};
}

std::vector<std::uint8_t> synthetic_tokens(std::uint64_t seed, std::int64_t count,
                                           std::int64_t vocabulary) {
  const auto size = static_cast<std::size_t>(count);
  const auto bound = static_cast<std::uint32_t>(vocabulary);
  Draw draw(seed, kTokenStream);
  std::vector<std::uint8_t> bytes(size * sizeof(std::int32_t));
  std::uint32_t token = 0;
  for (std::size_t i = 0; i < size; ++i) {
    const bool follows = draw.word() % 4 != 0;
    token = follows ? static_cast<std::uint32_t>((std::uint64_t{token} * 31 + 7) % bound)
                    : draw.skewed(bound);
    const auto value = static_cast<std::int32_t>(token);
    std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
  }
  return bytes;
}

}  // namespace trainbench
