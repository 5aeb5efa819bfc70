#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "common/report/compare.h"
#include "common/report/result.h"

namespace trainbench {

/// How `compare` and `baseline check` judge one side by another, as the command line says it.
struct JudgeOptions {
  CompareOptions compare;
  std::string filter;
  std::string per_case;  ///< a file of thresholds
  std::string format = "table";
  std::vector<std::string> fail_on{"slower", "failed"};
  bool cross_host = false;
};

/// The flags that say it.
void add_judge_flags(CLI::App& command, JudgeOptions& options);

/// Result files of either kind, without the cases that `filter` does not find.
struct JudgedSide {
  std::string name;  ///< as people call it
  std::vector<Report> reports;
};
JudgedSide read_side(std::string name, const std::vector<std::string>& paths,
                     const std::string& filter);

/// Reads the thresholds, completes the counters' names, and decides whether times may be compared.
/// Returns what a reader must know of that. Throws as judge() does, which begins with it: for who
/// wants to know before the sides are whole.
std::vector<std::string> settle(const JudgedSide& base, const JudgedSide& fresh,
                                JudgeOptions& options);

/// Prints the comparison and returns the exit code: 0 good, 1 regressed, 3 undecided where asked.
/// Throws InputError where the sides cannot be compared and nobody asked to do it all the same.
int judge(const JudgedSide& base, const JudgedSide& fresh, JudgeOptions options);

}  // namespace trainbench
