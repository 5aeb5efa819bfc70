#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/core/philox.h"
#include "common/core/precision.h"
#include "common/core/tensor.h"

namespace trainbench {

/// Elementwise nonlinearities. GELU is the tanh form, SiLU x / (1 + exp(-x)) (both: Hendrycks and
/// Gimpel, arXiv 1606.08415).
enum class Activation : std::uint8_t { none, relu, gelu, silu };

/// Those that there are, `none` aside.
inline constexpr std::array kActivations{Activation::relu, Activation::gelu, Activation::silu};

constexpr std::string_view name_of(Activation activation) {
  constexpr std::array<std::string_view, 4> names{"", "relu", "gelu", "silu"};
  return names[static_cast<std::size_t>(activation)];
}

/// True for those whose derivative needs the x that they were applied to; ReLU's needs its sign.
constexpr bool keeps_input(Activation activation) {
  return activation == Activation::gelu || activation == Activation::silu;
}

/// Scalars that a step reads and writes in device memory, so that a recorded step can be replayed
/// while they change. Lives in a u8 tensor of sizeof(StepState) bytes.
struct StepState {
  float learning_rate = 0;
  float loss_scale = 1;            ///< factor on the loss gradient; the optimizer divides by it
  std::int32_t step = 0;           ///< updates applied so far
  std::int32_t clean_steps = 0;    ///< updates since the loss scale last changed
  std::int32_t nonfinite = 0;      ///< 1: this step's gradients hold an Inf or NaN; no update
  std::int32_t skipped_steps = 0;  ///< updates left out because of that
  float clip_factor = 1;           ///< of this step's gradients; set by clip_gradients
  float gradient_scale = 1;        ///< 1 / the number of batches that gradients are added up over
  std::uint64_t seed = 0;          ///< of this training's random masks and noise

  /// What a gradient in memory is multiplied by before an optimizer uses it.
  TRAINBENCH_HOST_DEVICE float gradient_factor() const {
    return clip_factor * gradient_scale / loss_scale;
  }
};

/// Ends a look at a step's gradients, `norm` being theirs: those that are finite are to be scaled
/// down to a norm of `most`.
TRAINBENCH_HOST_DEVICE inline void set_clip(StepState& state, double norm, double most) {
  if (!(norm <= 1.7976931348623157e308)) {
    state.nonfinite = 1;
    return;
  }
  state.clip_factor = norm > most ? static_cast<float>(most / norm) : 1.0f;
}

/// How the loss scale moves where it is enabled: halved after a non-finite gradient, doubled after
/// `growth_interval` clean steps unless that overflows. Clean steps are counted either way.
/// Micikevicius et al., "Mixed precision training", ICLR 2018; the constants are those of PyTorch's
/// GradScaler.
struct LossScaling {
  bool enabled = false;
  float initial = 65536.0f;
  float growth = 2.0f;
  float backoff = 0.5f;
  std::int32_t growth_interval = 2000;
};

/// The product's form: C = op(A) op(B), or C += op(A) op(B).
struct MatmulForm {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  MathMode math = MathMode::exact;
};

/// What is done to the product on its way to memory; absent tensors and `none` mean "nothing".
struct MatmulEpilogue {
  ConstTensor bias;                           ///< [n], added to every row
  Activation activation = Activation::none;   ///< then applied
  Tensor saved;                               ///< out: what activation_backward needs of it
  Activation gradient_of = Activation::none;  ///< or: multiply by this activation's derivative,
  ConstTensor gradient_saved;                 ///< saved when that activation ran on [m, n]
  Tensor bias_gradient;                       ///< out, [m]: sums of the rows of op(A)
};

/// One range of the flat parameter buffers, as an optimizer sees it. All have the same elements.
struct ParameterUpdate {
  Tensor master;         ///< weights in the master dtype
  Tensor weights;        ///< their copy in the compute dtype; absent where layers read the master
  ConstTensor gradient;  ///< in the master dtype, before StepState::gradient_factor()
};

/// v = momentum v + (g + decay w);  w -= rate v.
struct SgdOptions {
  double momentum = 0.9;
  double weight_decay = 0;
};

/// Decoupled weight decay (Loshchilov and Hutter, ICLR 2019); Adam is its case without decay.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

/// A window that slides over an image's height and width: a convolution's or a pool's. Outputs are
/// (extent + 2 padding - kernel) / stride + 1, rounded down. Pixels of the padding are zero to a
/// convolution and absent to a maximum.
struct Window {
  std::int64_t kernel = 3;
  std::int64_t stride = 1;
  std::int64_t padding = 1;

  std::int64_t outputs(std::int64_t extent) const {
    return (extent + 2 * padding - kernel) / stride + 1;
  }
};

/// y = activation((x - mean) / sqrt(variance + epsilon) gamma + beta + residual).
struct BatchNormOptions {
  double epsilon = 1e-5;
  double momentum = 0.1;  ///< running = (1 - momentum) running + momentum batch's
  Activation activation = Activation::none;  ///< none or relu
};

/// A batch norm's tensors of [c], all in the master dtype but gamma and beta. The batch's variance
/// is the biased one; the running variance takes the unbiased one, as PyTorch's does.
struct BatchNormState {
  Tensor mean;              ///< of the batch; kept for the backward pass
  Tensor inverse;           ///< 1 / sqrt(the batch's variance + epsilon); likewise
  Tensor running_mean;      ///< for evaluation
  Tensor running_variance;  ///< likewise
};

/// Weights and biases of a norm, [c] each, in the compute dtype, and their gradients in the master.
struct NormWeights {
  ConstTensor gamma;
  ConstTensor beta;
};
struct NormGradients {
  Tensor gamma;
  Tensor beta;
};

/// y = activation((x - mean) / sqrt(variance + epsilon) gamma + beta), over the channels of a group
/// and all pixels of an image (Wu and He, ECCV 2018).
struct GroupNormOptions {
  std::int64_t groups = 8;
  double epsilon = 1e-5;
  Activation activation = Activation::none;  ///< none or silu
};

/// softmax(scale Q K^T) V in each head; with `causal`, position t sees positions 0..t.
struct AttentionOptions {
  std::int64_t heads = 1;
  bool causal = false;
  double scale = 1;
};

/// A batch of matrices inside a tensor: matrix (i, j) of outer x inner starts at element offset +
/// i outer_stride + j inner_stride, and its rows are row_stride apart.
template <class View>
struct BasicMatrices {
  View tensor;
  std::int64_t offset = 0;
  std::int64_t row_stride = 0;
  std::int64_t outer_stride = 0;
  std::int64_t inner_stride = 0;
};
using Matrices = BasicMatrices<Tensor>;
using ConstMatrices = BasicMatrices<ConstTensor>;

/// C(i, j) = op(A(i, j)) op(B(i, j)) for i < outer, j < inner; C is [m, n], k is summed over.
struct MatmulBatch {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t outer = 1;
  std::int64_t inner = 1;
};

/// What an LSTM keeps from its forward for its backward pass. Gates lie in the order input, forget,
/// cell, output (i, f, g, o), h of each.
struct LstmTrace {
  Tensor gates;   ///< [t, b, 4h], after their nonlinearities; compute dtype
  Tensor cells;   ///< [t, b, h]; master dtype
  Tensor hidden;  ///< [t, b, h], the output; compute dtype
};

/// What draws random numbers in a training step; each has a Philox stream of its own in each step:
/// (state.seed, source + step 2^32). Initial weights take the streams below 2^31 of step 0.
enum class RandomSource : std::uint32_t {
  dropout = 0x80000000u,          ///< and on: one for each layer
  diffusion_noise = 0xfffffffeu,  ///< element i takes half word i, the lower half of a word first
  diffusion_times = 0xffffffffu,  ///< image b takes word b
};

TRAINBENCH_HOST_DEVICE inline Philox random_stream(RandomSource source, std::uint32_t index,
                                                   const StepState& state) {
  const std::uint64_t number = static_cast<std::uint32_t>(source) + std::uint64_t{index};
  return Philox(state.seed, number + (static_cast<std::uint64_t>(state.step) << 32));
}

/// Zero with probability `rate`, else divided by 1 - rate. Element i falls if word i of the layer's
/// stream is below rate 2^32.
struct DropoutOptions {
  double rate = 0.1;        ///< in [0, 1)
  std::uint32_t layer = 0;  ///< below 2^30
};

/// Constants of a diffusion model's training batches (Ho, Jain and Abbeel, NeurIPS 2020), computed
/// once on the host so that every device has the same bits. An image's time is its word times the
/// number of steps, divided by 2^32 and rounded down.
struct DiffusionTables {
  ConstTensor signal;  ///< f32 [steps]: sqrt(alpha bar)
  ConstTensor noise;   ///< f32 [steps]: sqrt(1 - alpha bar)
  ConstTensor normal;  ///< f32 [65536]: quantiles of the standard normal at (i + 1/2) / 65536
};

}  // namespace trainbench
