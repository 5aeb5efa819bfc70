// Scratch memory grows with use; what was only tried out leaves no trace in it.

#include "cpu/arena.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

std::size_t workspace(const Arena& arena) { return arena.memory()[MemoryKind::workspace]; }

TEST(ScratchTrial, LeavesBlocksAndTheirContentsAsTheyWere) {
  Arena arena(1);
  auto* const kept = static_cast<char*>(arena.scratch(Scratch::patches, 6));
  std::memcpy(kept, "before", 6);
  const MemoryUse before = arena.memory();
  {
    const ScratchTrial trial(arena);
    std::memset(arena.scratch(Scratch::patches, 1000), 1, 1000);
    {
      const ScratchTrial inner(arena);
      arena.scratch(Scratch::patches, 2000);
      arena.scratch(Scratch::images, 500);
      EXPECT_EQ(workspace(arena), 2500U);
    }
    EXPECT_EQ(workspace(arena), 1000U);
  }
  EXPECT_EQ(workspace(arena), 6U);
  EXPECT_EQ(arena.memory().allocations, before.allocations);
  EXPECT_EQ(arena.scratch(Scratch::patches, 6), kept);
  EXPECT_EQ(std::memcmp(kept, "before", 6), 0);
}

// The first backend of a process measures which library is the fastest, the second one knows.
TEST(ScratchTrial, MemoryIsTheSameWhetherLibrariesWereTriedOrKnown) {
  MemoryUse uses[2];
  for (MemoryUse& use : uses) {
    const auto backend = make_cpu_backend({.threads = 1});
    const auto make = [&](const Shape& shape, DType dtype) {
      const Tensor tensor = backend->allocate(shape, dtype, MemoryKind::activations);
      backend->fill_zero(tensor);
      return tensor;
    };
    const Tensor x = make(Shape{2, 9, 9, 16}, DType::bf16);
    const Tensor weights = make(Shape{32, 3, 3, 16}, DType::bf16);
    const Tensor y = make(Shape{2, 9, 9, 32}, DType::bf16);
    backend->conv2d({3, 1, 1}, x, weights, {}, y, MathMode::exact);
    const Tensor a = make(Shape{24, 40}, DType::bf16);
    const Tensor b = make(Shape{56, 40}, DType::bf16);
    const Tensor c = make(Shape{24, 56}, DType::bf16);
    backend->matmul({.transpose_b = true}, a, b, c);
    use = backend->memory();
  }
  EXPECT_EQ(uses[0].allocations, uses[1].allocations);
  EXPECT_EQ(uses[0][MemoryKind::workspace], uses[1][MemoryKind::workspace]);
}

}  // namespace
}  // namespace trainbench
