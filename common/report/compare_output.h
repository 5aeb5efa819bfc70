#pragma once

#include <string>

#include "common/report/compare.h"

namespace trainbench {

/// What a gate needs beside the comparison itself.
struct CompareHeading {
  std::string base;  ///< the sides as they were named
  std::string fresh;
  CompareOptions options;
  std::vector<std::string> remarks;  ///< on the comparison as a whole, in words
};

/// A comparison for a terminal, for a pull request's comment, for a program, for a CI's test view
/// (JUnit XML) and for GitHub's annotations.
std::string compare_to_table(const Comparison& comparison, const CompareHeading& heading);
std::string compare_to_markdown(const Comparison& comparison, const CompareHeading& heading);
std::string compare_to_json(const Comparison& comparison, const CompareHeading& heading);
std::string compare_to_junit(const Comparison& comparison, const CompareHeading& heading);
std::string compare_to_github(const Comparison& comparison, const CompareHeading& heading);

}  // namespace trainbench
