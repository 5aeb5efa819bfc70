#include <limits>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

/// Columns that a thread takes at the least: two cache lines, so that threads do not share one.
constexpr std::int64_t kColumns = 32;

bool is_entry(std::int64_t index, std::int64_t entries) { return index >= 0 && index < entries; }

template <class T>
void add_row(const T* from, Wide<T>* to, std::int64_t count) {
  Elements<T> block;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t length = std::min(kBlock, count - i);
    const auto values = block.read(from + i, length);
    Wide<T>* sums = to + i;
#pragma omp simd
    for (std::int64_t j = 0; j < length; ++j) sums[j] += values[j];
  }
}

template <class T>
void embed_row(const T* entry, const T* position, T* y, std::int64_t count) {
  if (position == nullptr) {
    std::copy(entry, entry + count, y);
    return;
  }
  Elements<T> entry_block, position_block, y_block;
  for (std::int64_t i = 0; i < count; i += kBlock) {
    const std::int64_t length = std::min(kBlock, count - i);
    const auto a = entry_block.read(entry + i, length);
    const auto b = position_block.read(position + i, length);
    const auto sum = y_block.target(y + i);
#pragma omp simd
    for (std::int64_t j = 0; j < length; ++j) sum[j] = a[j] + b[j];
    y_block.store(y + i, length);
  }
}

}  // namespace

void CpuBackend::embedding(ConstTensor indices, ConstTensor table, ConstTensor positions,
                           Tensor y) {
  const std::int64_t rows = indices.elements();
  const std::int64_t entries = table.shape[0];
  const std::int64_t columns = table.shape[1];
  require(y.elements() == rows * columns, "an embedding has a row for each index");
  const std::int64_t steps = positions.absent() ? 1 : positions.shape[0];
  const std::int32_t* index = indices.as<std::int32_t>();
  dispatch_float(y.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = table.as<T>();
    const T* position = positions.absent() ? nullptr : positions.as<T>();
    T* to = y.as<T>();
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / columns);
    parallel_ranges(threads_, rows, grain, [=](Range range) {
      for (std::int64_t row = range.first; row < range.last; ++row) {
        if (!is_entry(index[row], entries)) {
          std::fill_n(to + row * columns, columns,
                      narrow<T>(std::numeric_limits<Wide<T>>::quiet_NaN()));
          continue;
        }
        embed_row(from + index[row] * columns,
                  position == nullptr ? nullptr : position + row % steps * columns,
                  to + row * columns, columns);
      }
    });
  });
}

void CpuBackend::embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate,
                                    Tensor dtable, Tensor dpositions) {
  const std::int64_t rows = indices.elements();
  const std::int64_t entries = dtable.shape[0];
  const std::int64_t columns = dtable.shape[1];
  require(dy.elements() == rows * columns, "an embedding has a row for each index");
  const std::int64_t steps = dpositions.absent() ? 1 : dpositions.shape[0];
  const std::int32_t* index = indices.as<std::int32_t>();
  if (!accumulate) fill_zero(dtable);
  if (!dpositions.absent()) fill_zero(dpositions);
  dispatch_float(dy.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* gradient = dy.as<T>();
    Wide<T>* table = dtable.as<Wide<T>>();
    Wide<T>* position = dpositions.absent() ? nullptr : dpositions.as<Wide<T>>();
    // Each thread has its own columns and adds their rows in order, however many threads there are.
    parallel_ranges(threads_, columns, kColumns, [=](Range part) {
      const std::int64_t count = part.last - part.first;
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* from = gradient + row * columns + part.first;
        if (is_entry(index[row], entries)) {
          add_row(from, table + index[row] * columns + part.first, count);
        }
        if (position != nullptr) {
          add_row(from, position + row % steps * columns + part.first, count);
        }
      }
    });
  });
}

}  // namespace trainbench
