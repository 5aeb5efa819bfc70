#pragma once

#include "gpu/gemm/tile.cuh"

// Where a product's operands come from. A source of elements T has:
//   kContiguous        which direction lies together in memory
//   select(batch)      moves it to that product of a batch
//   depth()            extent of k
//   Line line(row)     what is worth computing once for a row of op(A), a column of op(B)
//   Piece at(line, k)  the elements from there on in the contiguous direction

namespace trainbench::gpu {

/// Up to 16 bytes of neighbours; those that lie outside the operand are zero.
template <class T>
struct Piece {
  const T* from;
  int count;
};

/// Division by a number that is known when a kernel is launched, of integers below 2^31 (Granlund
/// and Montgomery, "Division by invariant integers using multiplication", 1994).
class Divider {
 public:
  Divider() = default;
  TRAINBENCH_HOST_DEVICE explicit Divider(std::int64_t divisor)
      : divisor_(static_cast<std::uint32_t>(divisor)) {
    if (divisor == 1) return;
    int bits = 1;
    while ((std::int64_t{1} << bits) < divisor) ++bits;
    const auto wide = static_cast<std::uint64_t>(divisor);
    factor_ = static_cast<std::uint32_t>(((std::uint64_t{1} << (31 + bits)) + wide - 1) / wide);
    shift_ = bits - 1;
  }

  __device__ int quotient(int number) const {
    if (divisor_ == 1) return number;
    return static_cast<int>(__umulhi(static_cast<std::uint32_t>(number), factor_) >> shift_);
  }
  /// Quotient, and `number` becomes the remainder.
  __device__ int divide(int& number) const {
    const int result = quotient(number);
    number -= result * static_cast<int>(divisor_);
    return result;
  }

 private:
  std::uint32_t divisor_ = 1;
  std::uint32_t factor_ = 0;
  int shift_ = 0;
};

/// Division of numbers below 2^22 that takes two registers: a number and a half is at least
/// 1 / (2 divisor) from a multiple, in quotients, which is more than both roundings.
class SmallDivider {
 public:
  SmallDivider() = default;
  TRAINBENCH_HOST_DEVICE explicit SmallDivider(std::int64_t divisor)
      : divisor_(static_cast<int>(divisor)), reciprocal_(1.0f / static_cast<float>(divisor)) {}

  /// Quotient, and `number` becomes the remainder.
  __device__ int divide(int& number) const {
    const int result = static_cast<int>((static_cast<float>(number) + 0.5f) * reciprocal_);
    number -= result * divisor_;
    return result;
  }

 private:
  int divisor_ = 1;
  float reciprocal_ = 1;
};

/// Distances between the matrices of a batch in two directions.
struct BatchSteps {
  std::int64_t outer = 0;
  std::int64_t inner = 0;
  Divider inners{};

  __device__ std::int64_t offset(int batch) const {
    const int i = inners.divide(batch);
    return i * outer + batch * inner;
  }
};

/// op(A) or op(B)^T as a matrix in memory: `lines` are apart, what is in one lies together.
template <class T, Contiguous kContiguousOf>
struct MatrixSource {
  static constexpr Contiguous kContiguous = kContiguousOf;
  const T* data;
  std::int64_t line_step;
  int rows;
  int k;
  BatchSteps batches{};

  using Line = int;  ///< little to compute again, against two registers to keep

  __device__ void select(int batch) { data += batches.offset(batch); }
  __device__ int depth() const { return k; }

  __device__ Line line(int row) const { return row; }
  __device__ Piece<T> at(int row, int depth) const {
    if constexpr (kContiguous == Contiguous::k) {
      return {data + row * line_step + depth, row < rows ? k - depth : 0};
    } else {
      return {data + depth * line_step + row, depth < k ? rows - row : 0};
    }
  }
};

}  // namespace trainbench::gpu
