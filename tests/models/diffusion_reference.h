#pragma once

#include <vector>

#include "common/models/diffusion.h"

namespace trainbench {

/// What the model predicts for the batch that it has just seen, by plain loops in double over the
/// weights, which it finds by their names.
std::vector<double> diffusion_by_definition(const Diffusion& model, const Parameters& parameters,
                                            Backend& backend);

}  // namespace trainbench
