#pragma once

#include <cmath>

#include "common/operations.h"

namespace trainbench::gpu {

// ---- GELU: 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
// ---------------------------------------

template <class Acc>
__device__ Acc gelu(Acc x) {
  constexpr Acc kScale = static_cast<Acc>(0.79788456080286535588);
  constexpr Acc kCubic = static_cast<Acc>(0.044715);
  return Acc{0.5} * x * (Acc{1} + tanh(kScale * (x + kCubic * x * x * x)));
}

template <class Acc>
__device__ Acc gelu_derivative(Acc x) {
  constexpr Acc kScale = static_cast<Acc>(0.79788456080286535588);
  constexpr Acc kCubic = static_cast<Acc>(0.044715);
  const Acc t = tanh(kScale * (x + kCubic * x * x * x));
  return Acc{0.5} * (Acc{1} + t) +
         Acc{0.5} * x * (Acc{1} - t * t) * kScale * (Acc{1} + Acc{3} * kCubic * x * x);
}

// ---- SiLU: x / (1 + exp(-x)) -------------------------------------------------------------------

template <class Acc>
__device__ Acc logistic(Acc x) {
  return Acc{1} / (Acc{1} + exp(-x));
}

// ---- Activations that keep their input
// ----------------------------------------------------------

template <Activation kActivation, class Acc>
__device__ Acc activated(Acc x) {
  if constexpr (kActivation == Activation::gelu) {
    return gelu(x);
  } else {
    return x * logistic(x);
  }
}

template <Activation kActivation, class Acc>
__device__ Acc derivative(Acc x) {
  if constexpr (kActivation == Activation::gelu) {
    return gelu_derivative(x);
  } else {
    const Acc s = logistic(x);
    return s + x * s * (Acc{1} - s);
  }
}

}  // namespace trainbench::gpu
