#pragma once

#include "common/backend.h"

namespace trainbench {

/// c[m, n] = epilogue(product), in one pass over memory; all but the bias gradient. `product` is c
/// itself, or numbers in the type that c's are computed in; with `accumulate` c is added to those.
/// The bias may be one for each group of rows, as add_bias takes it.
void apply_epilogue(int threads, const void* product, bool accumulate, Tensor c,
                    const MatmulEpilogue& epilogue);

/// sums[columns] of x[rows, columns], or sums[g, columns] of each rows / g rows.
void column_sums(int threads, ConstTensor x, Tensor sums);
/// sums[rows] of x[rows, columns].
void row_sums(int threads, ConstTensor x, Tensor sums);

}  // namespace trainbench
