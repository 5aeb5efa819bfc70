#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/devices.h"
#include "common/forwarding_backend.h"
#include "common/probes.h"

namespace trainbench {

/// Passes every call on to other probes. One that breaks results derives from it.
class ForwardingProbes : public Probes {
 public:
  explicit ForwardingProbes(std::unique_ptr<Probes> inner) : inner_(std::move(inner)) {}

  std::vector<CacheLevel> caches(bool one_unit) const override { return inner_->caches(one_unit); }
  std::size_t free_bytes() const override { return inner_->free_bytes(); }
  void stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) override {
    inner_->stream(kernel, operands, passes);
  }
  std::string stream_stores(std::size_t bytes) const override {
    return inner_->stream_stores(bytes);
  }

 private:
  std::unique_ptr<Probes> inner_;
};

using WrapProbes = std::function<std::unique_ptr<Probes>(std::unique_ptr<Probes>, Backend&)>;

/// Devices whose backends hand out probes that `wrap` has put something between.
inline Devices probing_devices(WrapProbes wrap) {
  class ProbingBackend : public ForwardingBackend {
   public:
    ProbingBackend(std::unique_ptr<Backend> inner, WrapProbes wrap_probes)
        : ForwardingBackend(*inner), owned_(std::move(inner)), wrap_(std::move(wrap_probes)) {}
    std::unique_ptr<Probes> make_probes() override { return wrap_(inner_.make_probes(), inner_); }

   private:
    std::unique_ptr<Backend> owned_;
    WrapProbes wrap_;
  };
  Devices::Options options;
  options.wrap = [wrap = std::move(wrap)](std::unique_ptr<Backend> inner) {
    return std::unique_ptr<Backend>(std::make_unique<ProbingBackend>(std::move(inner), wrap));
  };
  return Devices(std::move(options));
}

}  // namespace trainbench
