#pragma once

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "common/report/compare.h"
#include "common/report/result.h"

namespace trainbench {

/// One of two builds of this program that are measured against each other, and what it measured.
struct BlockSide {
  std::string binary;
  Report report;
};

struct BlockRunOptions {
  std::vector<std::string> run_arguments;  ///< of both binaries' `run`: suite, devices, data, ...
  std::string filter;
  double min_time = 0;  ///< 0: the suite's
  int repetitions = 3;  ///< of one process, which gives their median
  double budget = 600;  ///< seconds
  double width = 0.01;  ///< of an interval that needs no more blocks, as a part of the ratio
  double time_limit = 300;
  std::string folder;  ///< for the processes' files
  std::function<void()> on_block;
};

/// Asks both sides for every case once: what each has, what fails or is skipped, and on what
/// machine. Throws InputError with the program's own last line where it ends without a result.
void survey(std::array<BlockSide, 2>& sides, const BlockRunOptions& options);

/// Measures what both sides can in blocks. In each, all open cases come in random order, each by a
/// fresh process of one side and then the other, by lot; their samples have the block's number as
/// their process. A case is closed when its interval is narrow enough, never for what it says. Ends
/// when all are, when the budget does, or when interrupted(). Cases that only one side measured
/// keep what the survey found. Returns how many cases are still open.
std::size_t run_blocks(std::array<BlockSide, 2>& sides, const BlockRunOptions& options,
                       const CompareOptions& compare_options);

}  // namespace trainbench
