#pragma once

#include "common/backend.h"

namespace trainbench {

/// Each calls operations of the contract on small random problems of odd shapes, in every form they
/// have: transposes, accumulation, epilogues, skipped updates. `via` computes; `memory` owns the
/// tensors. Those that every device has:
void run_operations(Backend& via, Backend& memory, const Precision& precision);
/// Convolutions, pools and batch norms.
void run_convolution_operations(Backend& via, Backend& memory, const Precision& precision);
/// Those of a diffusion model besides.
void run_diffusion_operations(Backend& via, Backend& memory, const Precision& precision);

/// Those of a transformer.
void run_transformer_operations(Backend& via, Backend& memory, const Precision& precision);

/// Those of an LSTM, and the windows of tokens that it reads.
void run_lstm_operations(Backend& via, Backend& memory, const Precision& precision);

}  // namespace trainbench
