#include "bench/families/transfer.h"

#include <cstring>

#include "bench/families/probe_case.h"
#include "common/core/error.h"
#include "common/core/philox.h"

namespace trainbench {
namespace {

/// Random bytes; `stream` tells the two directions apart.
void fill(std::byte* to, std::size_t bytes, std::uint64_t seed, std::uint64_t stream) {
  const Philox random(seed, stream);
  for (std::size_t i = 0; i < bytes; i += sizeof(PhiloxWords)) {
    const PhiloxWords words = random.block(i / sizeof(PhiloxWords));
    std::memcpy(to + i, &words, std::min(sizeof words, bytes - i));
  }
}

class TransferCase : public ProbeCase {
 public:
  TransferCase(const SuiteCase& wanted, RunEnvironment& environment)
      : ProbeCase(wanted, environment),
        bytes_(static_cast<std::size_t>(working_set(wanted.id, 1, false))) {
    const bool pinned = wanted.id.text("host", "pinned") == "pinned";
    if (wanted.id.name != "d2h") {
      in_ = probes().allocate_host(bytes_, pinned);
      fill(in_->data(), bytes_, seed(), 1);
      copies_.to_device = device_memory();
      copies_.from_host = in_->data();
      backend().fill_zero(copies_.to_device);
    }
    if (wanted.id.name != "h2d") {
      out_ = probes().allocate_host(bytes_, pinned);
      std::vector<std::byte> bytes(bytes_);
      fill(bytes.data(), bytes_, seed(), 2);
      const Tensor from = device_memory();
      backend().copy_from_host(from, bytes.data());
      copies_.from_device = from;
      copies_.to_host = out_->data();
      std::memset(out_->data(), 0, bytes_);
    }
  }

  void check(CaseResult& result) override {
    probes().transfer(copies_, 1);
    backend().synchronize();
    if (in_) {
      std::vector<std::byte> arrived(bytes_);
      backend().copy_to_host(arrived.data(), copies_.to_device);
      require_equal(arrived.data(), 1, "the device");
    }
    if (out_) require_equal(out_->data(), 2, "the host");
    const double bytes = static_cast<double>(bytes_) * (int{in_ != nullptr} + int{out_ != nullptr});
    result.counters["max_relative_error"] = 0;
    result.counters["checked_outputs"] = bytes;
    result.counters["transferred_per_iteration"] = bytes;
    result.details["partner"] = "none: a CPU computes in the host's memory";
  }

 private:
  void enqueue(std::int64_t iterations) override { probes().transfer(copies_, iterations); }

  Tensor device_memory() {
    return backend().allocate(Shape{static_cast<std::int64_t>(bytes_)}, DType::u8,
                              MemoryKind::workspace);
  }

  void require_equal(const std::byte* arrived, std::uint64_t stream, const std::string& where) {
    std::vector<std::byte> sent(bytes_);
    fill(sent.data(), bytes_, seed(), stream);
    if (std::memcmp(arrived, sent.data(), bytes_) != 0) {
      throw DeviceError("output check failed: other bytes arrived at " + where + " than were sent");
    }
  }

  std::size_t bytes_;
  std::unique_ptr<HostMemory> in_;
  std::unique_ptr<HostMemory> out_;
  Transfer copies_;
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_transfer(const SuiteCase& wanted,
                                               RunEnvironment& environment) {
  return std::make_unique<TransferCase>(wanted, environment);
}

}  // namespace trainbench
