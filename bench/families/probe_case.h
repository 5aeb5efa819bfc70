#pragma once

#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"
#include "bench/harness/timed.h"
#include "common/backend.h"
#include "common/probes.h"

namespace trainbench {

/// A case of the probes (common/probes.h): what those families share.
class ProbeCase : public PreparedCase {
 public:
  ProbeCase(const SuiteCase& wanted, RunEnvironment& environment);

  Measurement run(std::int64_t iterations) override;
  MemoryUse memory() const override { return backend_->memory(); }

 protected:
  /// Enqueues that many iterations.
  virtual void enqueue(std::int64_t iterations) = 0;

  Backend& backend() { return *backend_; }
  Probes& probes() { return *probes_; }
  std::uint64_t seed() const { return seed_; }

  /// Bytes of `arrays` arrays together: what the case's key "kib" asks for, else arrays of four
  /// times the last cache level each, all of them at most a quarter of the free memory. Throws
  /// Unsupported where a key asks for more than that.
  std::int64_t working_set(const CaseId& id, int arrays, bool one_unit) const;

  /// Says which memory holds so many bytes: the counters working_set_bytes and cache_level (0: no
  /// cache holds a part that matters), and its name in the details.
  void label_working_set(CaseResult& result, std::int64_t bytes, bool one_unit) const;

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<Probes> probes_;
  WorkTimer timer_;
  std::uint64_t seed_;
};

}  // namespace trainbench
