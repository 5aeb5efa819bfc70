// A wrong element in any result of a convolution, a pool or a batch norm fails the check, and
// nothing else does.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/check/check_backend.h"
#include "common/check/random_tensor.h"
#include "common/forwarding_backend.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

/// Spoils one element of one result after its operation ran.
class SpoilingBackend : public ForwardingBackend {
 public:
  SpoilingBackend(Backend& inner, std::string target)
      : ForwardingBackend(inner), target_(std::move(target)) {}

  void conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias, Tensor y,
              MathMode math) override {
    inner_.conv2d(window, x, weights, bias, y, math);
    maybe("conv2d y", y);
  }
  void conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights, Tensor dx,
                            bool accumulate, MathMode math) override {
    inner_.conv2d_data_gradient(window, dy, weights, dx, accumulate, math);
    maybe("conv2d_data_gradient dx", dx);
  }
  void conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy, Tensor dw,
                              Tensor db, MathMode math) override {
    inner_.conv2d_weight_gradient(window, x, dy, dw, db, math);
    maybe("conv2d_weight_gradient dw", dw);
    maybe("conv2d_weight_gradient db", db);
  }
  void max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen) override {
    inner_.max_pool(window, x, y, chosen);
    maybe("max_pool y", y);
    maybe("max_pool chosen", chosen);
  }
  void max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                         Tensor dx) override {
    inner_.max_pool_backward(window, chosen, dy, dx);
    maybe("max_pool_backward dx", dx);
  }
  void average_pool(ConstTensor x, Tensor y) override {
    inner_.average_pool(x, y);
    maybe("average_pool y", y);
  }
  void average_pool_backward(ConstTensor dy, Tensor dx) override {
    inner_.average_pool_backward(dy, dx);
    maybe("average_pool_backward dx", dx);
  }
  void batch_norm(const BatchNormOptions& options, ConstTensor x, const NormWeights& weights,
                  ConstTensor residual, const BatchNormState& state, Tensor y) override {
    inner_.batch_norm(options, x, weights, residual, state, y);
    maybe("batch_norm mean", state.mean);
    maybe("batch_norm inverse", state.inverse);
    maybe("batch_norm running_mean", state.running_mean);
    maybe("batch_norm running_variance", state.running_variance);
    maybe("batch_norm y", y);
  }
  void batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                           const NormWeights& weights, ConstTensor residual,
                           const BatchNormState& state, Tensor y) override {
    inner_.batch_norm_evaluate(options, x, weights, residual, state, y);
    maybe("batch_norm_evaluate y", y);
  }
  void batch_norm_backward(const BatchNormOptions& options, ConstTensor x, ConstTensor y,
                           ConstTensor dy, ConstTensor gamma, const BatchNormState& state,
                           Tensor dx, Tensor dresidual, const NormGradients& gradients) override {
    inner_.batch_norm_backward(options, x, y, dy, gamma, state, dx, dresidual, gradients);
    maybe("batch_norm_backward dx", dx);
    maybe("batch_norm_backward dresidual", dresidual);
    maybe("batch_norm_backward dgamma", gradients.gamma);
    maybe("batch_norm_backward dbeta", gradients.beta);
  }

 private:
  void maybe(const std::string& result, Tensor tensor) {
    if (result != target_ || tensor.absent()) return;
    std::vector<double> values = read_values(inner_, tensor);
    double& value = values[values.size() / 2];
    value = tensor.dtype == DType::u8 ? 8 - value : value + 0.1 * (1 + std::abs(value));
    write_values(inner_, tensor, values);
  }

  std::string target_;
};

/// Every operation once, on odd shapes.
void run_all(Backend& backend, Backend& memory, DType dtype) {
  const DType master = accumulator_of(dtype);
  const Window window{3, 2, 1};
  const Shape input{2, 7, 9, 5};
  const Shape output{2, 4, 5, 6};
  const Shape pooled{2, 4, 5, 5};
  std::uint64_t stream = 0;
  const auto random = [&](const Shape& shape, DType type) {
    return random_tensor(memory, shape, type, ++stream);
  };
  const auto fresh = [&](const Shape& shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  const Tensor x = random(input, dtype);
  const Tensor weights = random({6, 3, 3, 5}, dtype);
  const Tensor dy = random(output, dtype);
  backend.conv2d(window, x, weights, random({6}, dtype), fresh(output, dtype), MathMode::exact);
  backend.conv2d_data_gradient(window, dy, weights, random(input, dtype), true, MathMode::exact);
  backend.conv2d_weight_gradient(window, x, dy, fresh({6, 3, 3, 5}, master), fresh({6}, master),
                                 MathMode::exact);
  const Tensor chosen = fresh(pooled, DType::u8);
  backend.max_pool(window, x, fresh(pooled, dtype), chosen);
  // Places of which the middle one is not its own mirror.
  write_values(memory, chosen, std::vector<double>(2 * 4 * 5 * 5, 5));
  backend.max_pool_backward(window, chosen, random(pooled, dtype), fresh(input, dtype));
  backend.average_pool(x, fresh({2, 5}, dtype));
  backend.average_pool_backward(random({2, 5}, dtype), fresh(input, dtype));

  const Tensor gamma = random({5}, dtype);
  const NormWeights norm{gamma, random({5}, dtype)};
  const BatchNormState state{fresh({5}, master), fresh({5}, master), random({5}, master),
                             random_tensor(memory, {5}, master, 99, 0.5, 2)};
  const BatchNormOptions options{.activation = Activation::relu};
  const Tensor y = fresh(input, dtype);
  const Tensor residual = random_tensor(memory, input, dtype, 98, 2, 3);
  backend.batch_norm(options, x, norm, residual, state, y);
  backend.batch_norm_backward(options, x, y, random(input, dtype), gamma, state,
                              fresh(input, dtype), fresh(input, dtype),
                              {fresh({5}, master), fresh({5}, master)});
  backend.batch_norm_evaluate(options, x, norm, residual, state, y);
}

const char* const kResults[] = {"conv2d y",
                                "conv2d_data_gradient dx",
                                "conv2d_weight_gradient dw",
                                "conv2d_weight_gradient db",
                                "max_pool y",
                                "max_pool chosen",
                                "max_pool_backward dx",
                                "average_pool y",
                                "average_pool_backward dx",
                                "batch_norm mean",
                                "batch_norm inverse",
                                "batch_norm running_mean",
                                "batch_norm running_variance",
                                "batch_norm y",
                                "batch_norm_evaluate y",
                                "batch_norm_backward dx",
                                "batch_norm_backward dresidual",
                                "batch_norm_backward dgamma",
                                "batch_norm_backward dbeta"};

std::vector<OutputCheck> failures(const std::string& target, DType dtype) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  SpoilingBackend spoiling(*cpu, target);
  CheckBackend check(spoiling);
  run_all(check, *cpu, dtype);
  std::vector<OutputCheck> failed;
  for (const OutputCheck& output : check.outputs()) {
    if (!output.passed()) failed.push_back(output);
  }
  return failed;
}

class PlantedConvolution : public testing::TestWithParam<const char*> {};

TEST_P(PlantedConvolution, OneWrongElementFailsItsResult) {
  const std::string target = GetParam();
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const auto failed = failures(target, dtype);
    // Spoilt afterwards, a batch's statistics are not those that y was made with.
    const bool statistic = target == "batch_norm mean" || target == "batch_norm inverse";
    ASSERT_EQ(failed.size(), statistic ? 2u : 1u) << name_of(dtype);
    EXPECT_EQ(failed[0].operation.substr(0, failed[0].operation.find(' ')) + " " + failed[0].output,
              target);
  }
}

INSTANTIATE_TEST_SUITE_P(Results, PlantedConvolution, testing::ValuesIn(kResults));

TEST(PlantedConvolution, NothingFailsUnspoilt) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    for (const OutputCheck& failed : failures("", dtype)) ADD_FAILURE() << failed.describe();
  }
}

/// Says of every convolution that minimal filtering served it.
class FilteringBackend final : public SpoilingBackend {
 public:
  using SpoilingBackend::SpoilingBackend;

  std::vector<Served> served() const override {
    std::vector<Served> list;
    for (const char* pass : {"conv2d ", "conv2d_data_gradient ", "conv2d_weight_gradient "}) {
      for (const char* dtype : {"f32", "f16", "bf16"}) {
        list.push_back({std::string(pass) + "2x7x9x2->3 3x3/1 " + dtype, "winograd"});
      }
    }
    return list;
  }
};

// Its bounds are wider, of operands of any dtype, and still tell a wrong element.
TEST(PlantedConvolution, FilteredResultsAreTold) {
  const Window window{3, 1, 1};
  const Shape input{2, 7, 9, 2};
  const Shape output{2, 7, 9, 3};
  const Shape kernel{3, 3, 3, 2};
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const std::string target :
         {"", "conv2d y", "conv2d_data_gradient dx", "conv2d_weight_gradient dw"}) {
      FilteringBackend filtering(*cpu, target);
      CheckBackend check(filtering);
      const Tensor x = random_tensor(*cpu, input, dtype, 1);
      const Tensor weights = random_tensor(*cpu, kernel, dtype, 2);
      const Tensor dy = random_tensor(*cpu, output, dtype, 3);
      const auto fresh = [&](const Shape& shape, DType type) {
        return cpu->allocate(shape, type, MemoryKind::workspace);
      };
      check.conv2d(window, x, weights, {}, fresh(output, dtype), MathMode::exact);
      check.conv2d_data_gradient(window, dy, weights, fresh(input, dtype), false, MathMode::exact);
      check.conv2d_weight_gradient(window, x, dy, fresh(kernel, DType::f32), {}, MathMode::exact);
      for (const OutputCheck& result : check.outputs()) {
        const std::string name =
            result.operation.substr(0, result.operation.find(' ')) + " " + result.output;
        EXPECT_EQ(result.passed(), name != target) << result.describe();
      }
    }
  }
}

}  // namespace
}  // namespace trainbench
