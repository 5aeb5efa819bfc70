#include "gpu/matmul_problem.h"

#include <algorithm>
#include <bit>

#include "gpu/kernels.h"

namespace trainbench::gpu {
namespace {

unsigned parts_of(const MatmulEpilogue& epilogue) {
  return (epilogue.bias.absent() ? 0u : kBias) |
         (epilogue.activation == Activation::none ? 0u : kActivation) |
         (epilogue.gradient_of == Activation::none ? 0u : kGradient) |
         (epilogue.bias_gradient.absent() ? 0u : kBiasGradient);
}

/// Largest power of two, at most 256, that divides the address; 256 for none.
int alignment_of(const void* pointer) {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  return 1 << std::min(8, std::countr_zero(address));
}

}  // namespace

MatmulProblem problem_of(const MatmulCall& call) {
  const auto& [form, a, b, c, epilogue] = call;
  const MatmulSize size = matmul_size(form, a, b, c, epilogue);
  require(epilogue.activation == Activation::none || epilogue.gradient_of == Activation::none,
          "an epilogue applies an activation or a derivative, not both");
  const Activation activation =
      epilogue.activation == Activation::none ? epilogue.gradient_of : epilogue.activation;
  const ConstTensor saved = epilogue.saved.absent() ? epilogue.gradient_saved : epilogue.saved;
  const ConstTensor bias = epilogue.bias.absent() ? epilogue.bias_gradient : epilogue.bias;
  if (!saved.absent()) require_saved(activation, c, saved);
  const auto whole = [](const ConstTensor& matrix) { return MatrixLayout{matrix.shape[1], 0}; };
  return {.m = size.m,
          .n = size.n,
          .k = size.k,
          .batch = 1,
          .a = whole(a),
          .b = whole(b),
          .c = whole(c),
          .operand = a.dtype,
          .result = c.dtype,
          .math = form.math,
          .transpose_a = form.transpose_a,
          .transpose_b = form.transpose_b,
          .accumulate = form.accumulate,
          .parts = parts_of(epilogue),
          .activation = activation,
          .saves = !epilogue.saved.absent(),
          .alignment = {alignment_of(a.data), alignment_of(b.data), alignment_of(c.data),
                        alignment_of(bias.data), alignment_of(saved.data)}};
}

MatmulProblem problem_of(const MatmulCall& call, const MatmulSize& size, std::int64_t batch,
                         const std::array<MatrixLayout, 3>& layouts) {
  const MatmulForm& form = call.form;
  require(call.a.dtype == call.b.dtype, "A and B have one dtype");
  require(call.c.dtype == call.a.dtype || call.c.dtype == accumulator_of(call.a.dtype),
          "C has its operands' dtype or that of the sums");
  return {.m = size.m,
          .n = size.n,
          .k = size.k,
          .batch = batch,
          .a = layouts[0],
          .b = layouts[1],
          .c = layouts[2],
          .operand = call.a.dtype,
          .result = call.c.dtype,
          .math = form.math,
          .transpose_a = form.transpose_a,
          .transpose_b = form.transpose_b,
          .accumulate = form.accumulate,
          .parts = 0,
          .activation = Activation::none,
          .saves = false,
          .alignment = {alignment_of(call.a.data), alignment_of(call.b.data),
                        alignment_of(call.c.data), alignment_of(nullptr), alignment_of(nullptr)}};
}

std::string text_of(unsigned parts, Activation activation) {
  const std::string name(name_of(activation));
  std::string text;
  const auto add = [&](Part part, const std::string& word) {
    if ((parts & part) != 0) text += (text.empty() ? "" : "+") + word;
  };
  add(kBias, "bias");
  add(kActivation, name);
  add(kGradient, "d" + name);
  add(kBiasGradient, "dbias");
  return text;
}

std::string text_of(const MatmulProblem& p) {
  const MatmulForm form{p.transpose_a, p.transpose_b, p.accumulate, p.math};
  std::string name = matmul_name(form, {p.m, p.n, p.k}, p.operand, p.result);
  if (p.batch > 1) name += " batch " + std::to_string(p.batch);
  return p.parts == 0 ? name : name + ' ' + text_of(p.parts, p.activation);
}

}  // namespace trainbench::gpu
