#pragma once

#include "common/convolution_size.h"
#include "cpu/arena.h"
#include "cpu/matmul_router.h"
#include "cpu/providers/convolution.h"

namespace trainbench {

/// A convolution as the backend is asked for it; the pass decides which tensors are read.
struct ConvolutionCall {
  ConvolutionPass pass = ConvolutionPass::forward;
  Window window;
  Tensor x;
  Tensor weights;
  Tensor y;
  Tensor bias;  ///< [f], or absent; of the forward pass
  bool accumulate = false;

  ConvolutionSize size() const { return convolution_size(window, x, weights, y); }
  /// The tensor that is written.
  Tensor result() const {
    if (pass == ConvolutionPass::forward) return y;
    return pass == ConvolutionPass::data_gradient ? x : weights;
  }
};

/// Convolution by matrix products alone, so that any of their libraries serves it: the patches of a
/// tile of pixels are laid side by side in the cache and multiplied with the weights there. A 1x1
/// kernel of stride 1 needs no patches: it is a product as it stands.
class TiledConvolution {
 public:
  TiledConvolution(int threads, MatmulRouter& matmul, Arena& arena)
      : threads_(threads), matmul_(matmul), arena_(arena) {}

  void run(const ConvolutionCall& call);

 private:
  void forward(const ConvolutionCall& call, const ConvolutionSize& size);
  void data_gradient(const ConvolutionCall& call, const ConvolutionSize& size);
  void weight_gradient(const ConvolutionCall& call, const ConvolutionSize& size);
  ConstTensor patches(const ConvolutionCall& call, const ConvolutionSize& size, std::int64_t first,
                      std::int64_t count);

  int threads_;
  MatmulRouter& matmul_;
  Arena& arena_;
};

}  // namespace trainbench
