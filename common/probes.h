#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/tensor.h"

namespace trainbench {

/// The kernels of STREAM (McCalpin, 1995) and three of their parts.
enum class StreamKernel : std::uint8_t { copy, scale, add, triad, dot, read, write };

/// What a kernel reads of b and c and whether it writes a.
struct StreamForm {
  StreamKernel kernel;
  std::string_view name;
  std::string_view formula;
  bool writes;
  bool reads_b;
  bool reads_c;

  int arrays() const { return int{writes} + int{reads_b} + int{reads_c}; }
};

inline constexpr std::array<StreamForm, 7> kStreamForms{{
    {StreamKernel::copy, "copy", "a = b", true, true, false},
    {StreamKernel::scale, "scale", "a = s b", true, true, false},
    {StreamKernel::add, "add", "a = b + c", true, true, true},
    {StreamKernel::triad, "triad", "a = b + s c", true, true, true},
    {StreamKernel::dot, "dot", "sum of b c", false, true, true},
    {StreamKernel::read, "read", "sum of b", false, true, false},
    {StreamKernel::write, "write", "a = s", true, false, false},
}};

constexpr const StreamForm& form_of(StreamKernel kernel) {
  return kStreamForms[static_cast<std::size_t>(kernel)];
}

inline constexpr std::int64_t kStreamGrain = 128;
/// Arrays of one length, a multiple of kStreamGrain, in f32; those that the kernel does not use may
/// be absent. `sum` is one f64, which dot and read write.
struct StreamOperands {
  Tensor a;
  ConstTensor b;
  ConstTensor c;
  Tensor sum;

  std::int64_t elements() const { return a.absent() ? b.elements() : a.elements(); }
  std::size_t bytes(StreamKernel kernel) const {
    return static_cast<std::size_t>(form_of(kernel).arrays() * elements()) * sizeof(float);
  }
};

inline constexpr float kStreamFactor = 3.0f;  ///< s

/// At most so many roundings in fp32 lie between an element and the double that sums go on in.
inline constexpr int kStreamChain = 160;

/// A level of caches; `bytes` of all of its instances that the asked units use.
struct CacheLevel {
  std::string name;
  std::size_t bytes = 0;
};

/// Kernels that no model needs: they show what a device's memory, caches, arithmetic and queues can
/// do. A device's probes come from its backend (Backend::make_probes), whose memory they work on
/// and in whose order they run; like its operations they are asynchronous.
class Probes {
 public:
  virtual ~Probes() = default;

  /// The caches of data, from the smallest on: those of all units that the probes use, or of one.
  virtual std::vector<CacheLevel> caches(bool one_unit) const = 0;
  /// Bytes of memory that may still be taken.
  virtual std::size_t free_bytes() const = 0;

  /// `passes` passes of a kernel; each unit goes on to its next without waiting for the others.
  virtual void stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) = 0;
  /// How `stream` stores arrays that together take so many bytes, for reports.
  virtual std::string stream_stores(std::size_t bytes) const = 0;
};

}  // namespace trainbench
