#pragma once

#include "cpu/providers/convolution.h"

namespace trainbench {

/// Convolution with a 3x3 kernel of stride 1 in float by minimal filtering (Winograd, 1980; Lavin
/// and Gray, arXiv 1509.09308): a tile of 4x4 pixels takes 16 products for each pair of channels
/// where the definition takes 36. Results differ from the definition's by rounding alone, in which
/// the whole tile has a part (common/check/minimal_filtering.h). Serves channels and
/// filters that are whole vectors.
const ConvolutionProvider& winograd_provider();

}  // namespace trainbench
