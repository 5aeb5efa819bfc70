#pragma once

#include "gpu/own_matmul.h"

namespace trainbench::gpu {

// One source file for each operand type and unit defines these.
void own_matmul_fp16(const Queue&, const MatmulProblem&, const MatmulCall&, const OwnBatch&);
void own_matmul_bf16(const Queue&, const MatmulProblem&, const MatmulCall&, const OwnBatch&);
void own_matmul_tf32(const Queue&, const MatmulProblem&, const MatmulCall&, const OwnBatch&);
void own_matmul_fp32(const Queue&, const MatmulProblem&, const MatmulCall&, const OwnBatch&);
void own_matmul_fp64(const Queue&, const MatmulProblem&, const MatmulCall&, const OwnBatch&);

}  // namespace trainbench::gpu
