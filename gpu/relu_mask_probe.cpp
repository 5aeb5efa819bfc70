#include "gpu/relu_mask_probe.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "gpu/runtime/buffer.h"

namespace trainbench::gpu {
namespace {

/// A product whose ReLU mask is known beforehand. The sign of C[row][column] is
/// that of A's first column times B's.
class MaskProbe {
 public:
  MaskProbe(const Queue& queue, DType dtype)
      : stream_(queue.stream),
        dtype_(dtype),
        a_(kRows * kDepth * size_of(dtype)),
        b_(kColumns * kDepth * size_of(dtype)),
        c_(kRows * kColumns * size_of(dtype)),
        mask_(static_cast<std::size_t>(mask_shape().elements())) {
    upload(a_, kRows, [](std::int64_t row) { return row % 2 == 0; });
    upload(b_, kColumns, positive_column);
  }

  ConstTensor a() const { return {a_.data(), Shape{kRows, kDepth}, dtype_}; }
  ConstTensor b() const { return {b_.data(), Shape{kColumns, kDepth}, dtype_}; }
  Tensor c() const { return {c_.data(), Shape{kRows, kColumns}, dtype_}; }
  Tensor mask() const { return {mask_.data(), mask_shape(), DType::u8}; }

  /// True if the mask, as the library wrote it, is the one we expect; waits.
  bool matches() const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(mask_shape().elements()));
    TRAINBENCH_CUDA(
        cudaMemcpyAsync(bytes.data(), mask_.data(), bytes.size(), cudaMemcpyDeviceToHost, stream_));
    TRAINBENCH_CUDA(cudaStreamSynchronize(stream_));
    const std::int64_t pitch = mask_shape()[1];
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t column = 0; column < kColumns; ++column) {
        const std::uint8_t byte = bytes[static_cast<std::size_t>(row * pitch + column / 8)];
        const bool expected = (row % 2 == 0) == positive_column(column);
        if ((byte >> (column % 8) & 1) != static_cast<int>(expected)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::int64_t kRows = 16;
  static constexpr std::int64_t kColumns = 136;  // two units of padding, one of them part filled
  static constexpr std::int64_t kDepth = 16;

  static Shape mask_shape() { return saved_shape(Activation::relu, kRows, kColumns); }
  /// A pattern that no shift or reversal of bits, bytes or words maps to itself.
  static bool positive_column(std::int64_t column) {
    return (static_cast<std::uint64_t>(column + 1) * 0x9e3779b97f4a7c15u >> 63) != 0;
  }

  /// Rows of which the first element is 1 or -1, the others zero.
  template <class F>
  void upload(const DeviceBuffer& to, std::int64_t rows, F positive) const {
    std::vector<std::byte> bytes(to.bytes(), std::byte{0});
    for (std::int64_t row = 0; row < rows; ++row) {
      const float value = positive(row) ? 1.0f : -1.0f;
      const Float16 half(value);
      const BFloat16 brain(value);
      const void* const from = dtype_ == DType::f16    ? static_cast<const void*>(&half)
                               : dtype_ == DType::bf16 ? static_cast<const void*>(&brain)
                                                       : &value;
      const std::size_t size = size_of(dtype_);
      std::copy_n(static_cast<const std::byte*>(from), size,
                  bytes.begin() + row * kDepth * static_cast<std::int64_t>(size));
    }
    TRAINBENCH_CUDA(
        cudaMemcpyAsync(to.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_));
    TRAINBENCH_CUDA(cudaStreamSynchronize(stream_));
  }

  cudaStream_t stream_;
  DType dtype_;
  DeviceBuffer a_;
  DeviceBuffer b_;
  DeviceBuffer c_;
  DeviceBuffer mask_;
};

}  // namespace

bool library_mask_is_ours(cublasLtHandle_t handle, const Queue& queue, DType dtype) {
  const MaskProbe probe(queue, dtype);
  const MatmulForm form{.transpose_b = true};
  const MatmulEpilogue epilogue{.activation = Activation::relu, .saved = probe.mask()};
  const MatmulCall call{form, probe.a(), probe.b(), probe.c(), epilogue};
  const MatmulProblem problem = problem_of(call);
  const MatmulPlan plan = make_plan(handle, queue, problem, call, true);
  if ((plan.fused & kActivation) == 0) return false;
  run_product(handle, queue, problem, plan, call);
  return probe.matches();
}

}  // namespace trainbench::gpu
