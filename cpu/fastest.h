#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace trainbench {

/// Which of several ways to do `work` is the fastest here, as an index into their names, the one
/// that usually is first. The first question runs each way a few times; the process remembers the
/// answer by the three arguments before `run`.
std::size_t fastest(int threads, const std::string& work, const std::vector<std::string>& names,
                    const std::function<void(std::size_t)>& run);

}  // namespace trainbench
