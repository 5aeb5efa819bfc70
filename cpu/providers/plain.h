#pragma once

#include "cpu/providers/provider.h"

namespace trainbench {

/// "naive": the product as a textbook writes it, three loops on one thread, as a first rung to
/// measure the libraries against. No part of "auto".
const MatmulProvider& naive_provider();

/// "openmp": the same loops, with the rows of C shared among the threads.
const MatmulProvider& openmp_provider();

}  // namespace trainbench
