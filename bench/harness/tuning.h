#pragma once

#include "cpu/fastest.h"

namespace trainbench {

/// The user's file of what `auto` found to be the fastest: trainbench/cpu-choices.json in
/// $XDG_CACHE_HOME or ~/.cache, keyed by CPU, libraries and this program's version. Without such a
/// folder its path is empty and nothing is kept.
ChoiceFile user_choices(bool retune);

}  // namespace trainbench
