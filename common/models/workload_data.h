#pragma once

#include "common/data/dataset.h"
#include "common/models/workload.h"

namespace trainbench {

/// A workload's sizes and its data have to fit each other: a size named "sequence" or "vocabulary"
/// shapes the data, and one named "channels" takes the value that the data has.

/// What a workload with these sizes asks of sequences.
SequenceShape sequence_shape(const Workload& workload, const ModelSizes& asked);

/// `asked` with what follows from the data. Throws InputError for a size that the data contradicts.
ModelSizes sizes_for(const Workload& workload, const ModelSizes& asked, const Dataset& dataset);

}  // namespace trainbench
