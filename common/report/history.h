#pragma once

#include <string>
#include <vector>

#include "common/report/run_files.h"

namespace trainbench {

/// One case on one machine over the runs there are of it, in the order of their dates.
struct Trend {
  struct Point {
    const RunFile* run;
    double value;  ///< the median of the metric
  };
  std::string machine;  ///< the host's id
  std::string name;     ///< of the case
  std::vector<Point> points;

  double first() const { return points.front().value; }
  double last() const { return points.back().value; }
  double best(bool higher) const;
};

/// The trends of a metric. Times of simulated devices are none.
std::vector<Trend> trends(const std::vector<RunFile>& runs, const std::string& metric);

std::string history_to_table(const std::vector<Trend>& trends, const std::string& metric);
std::string history_to_markdown(const std::vector<Trend>& trends, const std::string& metric);
std::string history_to_csv(const std::vector<Trend>& trends, const std::string& metric);
std::string history_to_json(const std::vector<Trend>& trends, const std::string& metric);

}  // namespace trainbench
