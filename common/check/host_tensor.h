#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/backend.h"
#include "common/core/dispatch.h"

namespace trainbench {

/// A copy of a tensor on the host, in its own dtype.
class HostTensor {
 public:
  HostTensor() = default;
  /// Waits for the device. An absent tensor gives an absent copy.
  HostTensor(Backend& backend, ConstTensor tensor)
      : view_(tensor), bytes_(tensor.absent() ? 0 : tensor.bytes()) {
    if (!bytes_.empty()) backend.copy_to_host(bytes_.data(), tensor);
  }

  bool absent() const { return view_.absent(); }
  const Shape& shape() const { return view_.shape; }
  DType dtype() const { return view_.dtype; }
  std::int64_t elements() const { return view_.elements(); }

  template <class T>
  const T* as() const {
    require(dtype_of<T>() == view_.dtype, "a tensor is read as its own dtype");
    return reinterpret_cast<const T*>(bytes_.data());
  }

  /// An element's value; exact for every dtype. References read billions of these: the common types
  /// are told apart where it is called.
  double operator[](std::int64_t index) const {
    if (view_.dtype == DType::f32) return element<float>(index);
    if (view_.dtype == DType::bf16) return element<BFloat16>(index);
    return dispatch_any(view_.dtype,
                        [&](auto tag) { return element<typename decltype(tag)::type>(index); });
  }

  template <class T>
  static double widened(T value) {
    if constexpr (std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  }

 private:
  template <class T>
  double element(std::int64_t index) const {
    return widened(reinterpret_cast<const T*>(bytes_.data())[index]);
  }

  ConstTensor view_;  // shape and dtype alone: its pointer is the device's
  std::vector<std::byte> bytes_;
};

}  // namespace trainbench
