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
  require(a.shape.rank() == 2 && b.shape.rank() == 2 && c.shape.rank() == 2,
          "a product is of matrices");
  const std::int64_t k = a.shape[form.transpose_a ? 0 : 1];
  require(a.shape[form.transpose_a ? 1 : 0] == c.shape[0] &&
              b.shape[form.transpose_b ? 0 : 1] == c.shape[1] &&
              b.shape[form.transpose_b ? 1 : 0] == k,
          "a product's shapes agree: [m, k] times [k, n] is [m, n]");
  require(a.dtype == b.dtype, "both operands have the compute dtype");
  require(epilogue.activation == Activation::none || epilogue.gradient_of == Activation::none,
          "an epilogue applies an activation or a derivative, not both");
  const Activation activation =
      epilogue.activation == Activation::none ? epilogue.gradient_of : epilogue.activation;
  const ConstTensor saved = epilogue.saved.absent() ? epilogue.gradient_saved : epilogue.saved;
  const ConstTensor bias = epilogue.bias.absent() ? epilogue.bias_gradient : epilogue.bias;
  require(epilogue.bias.absent() ||
              (epilogue.bias.elements() == c.shape[1] && epilogue.bias.dtype == c.dtype),
          "a product's bias is [n], of the result's dtype");
  require(epilogue.bias_gradient.absent() || (epilogue.bias_gradient.elements() == c.shape[0] &&
                                              epilogue.bias_gradient.dtype == c.dtype),
          "a product's bias gradient is [m], of the result's dtype");
  if (!saved.absent()) require_saved(activation, c, saved);
  return {.m = c.shape[0],
          .n = c.shape[1],
          .k = k,
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

std::string text_of(unsigned parts, Activation activation) {
  const std::string name = activation == Activation::gelu ? "gelu" : "relu";
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
  std::string text = "matmul " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
                     std::to_string(p.k) + (p.transpose_a ? " T" : " N") +
                     (p.transpose_b ? "T " : "N ");
  text += p.math == MathMode::tf32 ? "tf32" : name_of(p.operand);
  if (p.result != p.operand) text += "->" + std::string(name_of(p.result));
  if (p.accumulate) text += " +=";
  if (p.parts == 0) return text;
  text += ' ';
  return text + text_of(p.parts, p.activation);
}

}  // namespace trainbench::gpu
