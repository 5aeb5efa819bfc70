// The rank statistics of what stands on standard input, for scipy_test.py: a sample of differences
// a line, answered by a line of p-value, estimate, low and high at 95 %.

#include <cstdio>
#include <iostream>
#include <sstream>
#include <string>

#include "common/report/signed_rank.h"

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream stream(line);
    std::vector<double> values;
    for (double value = 0; stream >> value;) values.push_back(value);
    const trainbench::Shift shift = trainbench::pseudo_median(values, 0.95);
    std::printf("%.17g %.17g %.17g %.17g\n", trainbench::signed_rank_p(values), shift.estimate,
                shift.low, shift.high);
  }
}
