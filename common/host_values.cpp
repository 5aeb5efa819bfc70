#include "common/host_values.h"

#include "common/core/dispatch.h"

namespace trainbench {
namespace {

template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    // Through float: double rounding moves a result by at most 2^-24 of a unit in the last place.
    return T(static_cast<float>(value));
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
    return static_cast<double>(static_cast<float>(value));
  } else {
    return static_cast<double>(value);
  }
}

}  // namespace

std::vector<double> read_values(Backend& backend, ConstTensor tensor) {
  return dispatch_any(tensor.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> elements(static_cast<std::size_t>(tensor.elements()));
    backend.copy_to_host(elements.data(), tensor);
    std::vector<double> values(elements.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_double(elements[i]);
    return values;
  });
}

void write_values(Backend& backend, Tensor tensor, const std::vector<double>& values) {
  require(static_cast<std::int64_t>(values.size()) == tensor.elements(),
          "as many values as elements");
  dispatch_any(tensor.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    std::vector<T> elements(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) elements[i] = from_double<T>(values[i]);
    backend.copy_from_host(tensor, elements.data());
  });
}

double rounded_to(DType dtype, double value) {
  return dispatch_any(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return to_double(from_double<T>(value));
  });
}

}  // namespace trainbench
