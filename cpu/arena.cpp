#include "cpu/arena.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "cpu/parallel.h"

namespace trainbench {
namespace {

constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

std::size_t round_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void CpuBuffer::Free::operator()(std::byte* block) const { std::free(block); }

CpuBuffer::CpuBuffer(std::size_t bytes, int threads, std::size_t stagger) : bytes_(bytes) {
  const bool large = bytes >= kHugePage;
  const std::size_t alignment = large ? kHugePage : kCacheLine;
  const std::size_t total = round_up(bytes + stagger + kCacheLine, alignment);
  block_.reset(static_cast<std::byte*>(std::aligned_alloc(alignment, total)));
  if (!block_) throw std::bad_alloc();
  // Advice: where the kernel has no huge pages the memory is as good, only slower.
  if (large) madvise(block_.get(), total, MADV_HUGEPAGE);
  start_ = block_.get() + stagger;
  parallel_ranges(threads, static_cast<std::int64_t>(bytes), kGrain, [this](Range range) {
    std::memset(start_ + range.first, 0, static_cast<std::size_t>(range.last - range.first));
  });
}

CpuBuffer Arena::make(std::size_t bytes) {
  ++use_.allocations;
  // Equal offsets within a page make streams of one pass collide in the cache and in the store
  // buffer's address check; an odd number of cache lines keeps 16 neighbours apart.
  const auto index = static_cast<std::size_t>(use_.allocations % 16);
  return CpuBuffer(bytes, threads_, index * 5 * kCacheLine);
}

Tensor Arena::allocate(Shape shape, DType dtype, MemoryKind kind) {
  Tensor tensor(nullptr, shape, dtype);
  buffers_.push_back(make(tensor.bytes()));
  tensor.data = buffers_.back().data();
  use_[kind] += tensor.bytes();
  return tensor;
}

void* Arena::scratch(Scratch block, std::size_t bytes) {
  const auto slot = static_cast<std::size_t>(block);
  if (slot >= scratch_.size()) scratch_.resize(slot + 1);
  CpuBuffer& buffer = scratch_[slot];
  if (buffer.bytes() < bytes) {
    if (trial_ != nullptr) trial_->before_.try_emplace(slot, std::move(buffer));
    buffer = make(bytes);
  }
  return buffer.data();
}

ScratchTrial::~ScratchTrial() {
  for (auto& [slot, buffer] : before_) arena_.scratch_[slot] = std::move(buffer);
  arena_.use_.allocations = allocations_;
  arena_.trial_ = outer_;
}

MemoryUse Arena::memory() const {
  MemoryUse use = use_;
  for (const CpuBuffer& buffer : scratch_) use[MemoryKind::workspace] += buffer.bytes();
  return use;
}

}  // namespace trainbench
