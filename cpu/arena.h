#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "common/core/tensor.h"
#include "common/memory.h"

namespace trainbench {

/// Aligned memory, touched first by the threads that will work on it; large blocks ask for huge
/// pages.
class CpuBuffer {
 public:
  CpuBuffer() = default;
  CpuBuffer(std::size_t bytes, int threads, std::size_t stagger);

  std::byte* data() const { return start_; }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* block) const;
  };
  std::unique_ptr<std::byte, Free> block_;
  std::byte* start_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Workspace that operations share, one block each: what is alive at the same time has its own.
enum class Scratch : std::uint8_t {
  matmul_a,  ///< operands and result in another type
  matmul_b,
  matmul_c,
  matmul_library,
  convolution_x,  ///< likewise
  convolution_weights,
  convolution_y,
  convolution_library,
  patches,  ///< of a tile of a convolution
  images,   ///< sums of patches
  cells,    ///< an LSTM's gradient by its cells
  packed,   ///< a matrix that many products share, in a library's layout
  pass,     ///< of a pass that calls no other operation
};

class ScratchTrial;

/// Owns all memory of a backend and knows what it is for.
class Arena {
 public:
  explicit Arena(int threads) : threads_(threads) {}

  Tensor allocate(Shape shape, DType dtype, MemoryKind kind);

  /// At least `bytes`, grown when needed, which loses what the block held.
  void* scratch(Scratch block, std::size_t bytes);

  MemoryUse memory() const;

 private:
  friend ScratchTrial;
  CpuBuffer make(std::size_t bytes);

  int threads_;
  std::vector<CpuBuffer> buffers_;
  std::vector<CpuBuffer> scratch_;
  ScratchTrial* trial_ = nullptr;
  MemoryUse use_;
};

/// While it lives, scratch blocks may grow for work that is only tried out; then they are what they
/// were before, so that a backend's memory does not depend on whether it had to try. Trials nest.
class ScratchTrial {
 public:
  explicit ScratchTrial(Arena& arena)
      : arena_(arena), outer_(arena.trial_), allocations_(arena.use_.allocations) {
    arena.trial_ = this;
  }
  ~ScratchTrial();
  ScratchTrial(const ScratchTrial&) = delete;
  ScratchTrial& operator=(const ScratchTrial&) = delete;

 private:
  friend Arena;

  Arena& arena_;
  ScratchTrial* outer_;
  decltype(MemoryUse::allocations) allocations_;
  std::map<std::size_t, CpuBuffer> before_;  // blocks that grew
};

}  // namespace trainbench
