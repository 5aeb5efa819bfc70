#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// One step of a chain of dependent multiply-adds: x = 3/4 x + 1/4 goes towards 1 from any start,
/// through normal numbers only.
inline constexpr float kChainFactor = 0.75f;
inline constexpr float kChainTerm = 0.25f;
/// Where chain `index` starts.
constexpr float chain_start(std::int64_t index) {
  return 1.0f + static_cast<float>(1 + index % 64) / 64.0f;
}

/// Memory of the host.
class HostMemory {
 public:
  virtual ~HostMemory() = default;
  virtual std::byte* data() = 0;
};

/// Copies of one size between host and device: either half may be left out.
struct Transfer {
  Tensor to_device;
  const std::byte* from_host = nullptr;
  ConstTensor from_device;
  std::byte* to_host = nullptr;
};

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

  /// Bytes that a load of chase() takes from memory.
  virtual std::int64_t line_bytes() const = 0;
  /// One unit's one thread follows `loads` links: place = table[place]. `place` is one i32, where
  /// it starts and where it ends.
  virtual void chase(ConstTensor table, std::int64_t loads, Tensor place) = 0;

  /// `steps` steps of each of the chains, a power of two of them, at once as far as the device can;
  /// last[chains] in f32 is where they end.
  virtual void chains(std::int64_t steps, Tensor last) = 0;
  /// What so many chains occupy, for reports.
  virtual std::string chain_layout(std::int64_t chains) const = 0;

  /// Cores or SMs that empty() and barriers() occupy.
  virtual int units() const = 0;
  /// A kernel, or a parallel region, that does nothing but be there. With `counts` (i32[units])
  /// each unit adds 1 to its own.
  virtual void empty(Tensor counts) = 0;
  /// All units wait for one another so many times; after each, a unit adds 1 to its count, if there
  /// are any.
  virtual void barriers(std::int64_t times, Tensor counts) = 0;

  virtual std::unique_ptr<HostMemory> allocate_host(std::size_t bytes, bool pinned) = 0;
  /// The copies so many times over, both directions at once.
  virtual void transfer(const Transfer& copies, std::int64_t times) = 0;
};

}  // namespace trainbench
