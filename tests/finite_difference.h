#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <vector>

namespace trainbench {

/// (f(x + h) - f(x - h)) / 2h for every element of x: [f](x) is called with one element changed.
inline std::vector<double> central_differences(
    std::vector<double> x, double h, const std::function<double(const std::vector<double>&)>& f) {
  std::vector<double> slopes;
  for (double& element : x) {
    const double middle = element;
    element = middle + h;
    const double above = f(x);
    element = middle - h;
    const double below = f(x);
    element = middle;
    slopes.push_back((above - below) / (2 * h));
  }
  return slopes;
}

/// Error of a central difference of f, with third derivatives below `third` and values computed to
/// `roundings` u of a magnitude: h^2 / 6 third + roundings u magnitude / h.
inline double difference_tolerance(double h, double third, double roundings, double magnitude) {
  return h * h / 6 * third + roundings * 0x1p-53 * magnitude / h;
}

}  // namespace trainbench
