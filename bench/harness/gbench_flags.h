#pragma once

#include <string>
#include <utility>
#include <vector>

namespace trainbench {

/// Splits a command line at the first "--": ours before it, Google Benchmark's after it.
std::pair<std::vector<std::string>, std::vector<std::string>> split_arguments(int argc,
                                                                              char** argv);

/// Throws InputError for a flag of Google Benchmark that this program does not pass on: the others
/// would change what is measured behind the suite's back.
void require_allowed_flags(const std::vector<std::string>& flags);

}  // namespace trainbench
