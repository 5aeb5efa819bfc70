#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <string>

#include "common/nn/trainer.h"
#include "gpu/cuda_backend.h"

// How many kernels of ours a training step launches, with fusion and without, at the workloads' own
// sizes, on a device of 132 SMs or more: steps are recorded and none is run. That a step neither
// allocates nor waits is checked on the way. scripts/gpu_launches.sh makes a table of what this
// prints.

namespace trainbench {
namespace {

struct Counted {
  std::string workload;
  std::int64_t most;       ///< launches of a fused step
  std::int64_t batch = 0;  ///< 0: the workload's own
  ModelSizes sizes = {};
};

const Counted kCounted[] = {
    {"mlp", 24},
    {"resnet20", 190},
    {"resnet50", 491},
    {"diffusion", 447},
    {"lstm", 795},
    {"gpt", 253},
    // A vocabulary that fits a small machine's memory.
    {"gpt2", 464, 1, {{"vocabulary", 2048}}},
};

class Launches : public testing::TestWithParam<Counted> {
 protected:
  static std::int64_t launches_of_step(const Precision& precision, bool fused) {
    const Workload& workload = workload_by_name(GetParam().workload);
    const std::int64_t batch = GetParam().batch > 0 ? GetParam().batch : workload.default_batch;
    const auto backend = make_cuda_backend({.provider = "own"});
    Trainer trainer(
        *backend, workload,
        {.precision = precision, .batch = batch, .fused = fused, .sizes = GetParam().sizes});
    ModelSizes sizes = workload.sizes;
    for (const auto& [name, value] : GetParam().sizes) sizes[name] = value;
    const bool tokens = sizes.contains("sequence");
    const Shape shape = tokens                     ? Shape{batch, sizes.at("sequence") + 1}
                        : sizes.contains("inputs") ? Shape{batch, sizes.at("inputs")}
                                                   : Shape{batch, sizes.at("image"),
                                                           sizes.at("image"), sizes.at("channels")};
    const Batch inputs{
        .samples = backend->allocate(shape, DType::u8, MemoryKind::workspace),
        .labels = backend->allocate(Shape{batch}, DType::i32, MemoryKind::workspace)};
    const auto step = [&] { trainer.step(*backend, inputs); };
    const std::int64_t launches = backend->record(step)->launches();
    // A recording refuses what waits. What an operation keeps it has allocated by now.
    const std::int64_t allocations = backend->memory().allocations;
    EXPECT_EQ(backend->record(step)->launches(), launches);
    EXPECT_EQ(backend->memory().allocations, allocations);
    return launches;
  }
};

TEST_P(Launches, AreFewerOfAFusedStep) {
  for (const Precision& precision : {kFp32, kBf16}) {
    const std::int64_t fused = launches_of_step(precision, true);
    const std::int64_t separate = launches_of_step(precision, false);
    EXPECT_LE(fused, GetParam().most) << precision.name;
    EXPECT_LT(fused, separate) << precision.name;
    std::printf("| `%s` | %s | %d | %d | %.2f |\n", GetParam().workload.c_str(),
                std::string(precision.name).c_str(), static_cast<int>(fused),
                static_cast<int>(separate),
                static_cast<double>(fused) / static_cast<double>(separate));
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Launches, testing::ValuesIn(kCounted),
                         [](const auto& test) { return test.param.workload; });

}  // namespace
}  // namespace trainbench
