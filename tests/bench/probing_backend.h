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
  std::int64_t line_bytes() const override { return inner_->line_bytes(); }
  void chase(ConstTensor table, std::int64_t loads, Tensor place) override {
    inner_->chase(table, loads, place);
  }
  void chains(std::int64_t steps, Tensor last) override { inner_->chains(steps, last); }
  std::string chain_layout(std::int64_t chains) const override {
    return inner_->chain_layout(chains);
  }
  int units() const override { return inner_->units(); }
  void empty(Tensor counts) override { inner_->empty(counts); }
  void barriers(std::int64_t times, Tensor counts) override { inner_->barriers(times, counts); }
  std::unique_ptr<HostMemory> allocate_host(std::size_t bytes, bool pinned) override {
    return inner_->allocate_host(bytes, pinned);
  }
  void transfer(const Transfer& copies, std::int64_t times) override {
    inner_->transfer(copies, times);
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
