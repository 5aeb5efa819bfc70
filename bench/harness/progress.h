#pragma once

#include <chrono>
#include <string>

namespace trainbench {

/// One live line on standard error: what runs, how far the whole is, how long it still takes.
/// Writes nothing unless standard error is a terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A stage of known length; `seconds_each` is what one of its parts is expected to take.
  void begin(const std::string& stage, int parts, double seconds_each);
  void show(const std::string& what);
  void advance() { ++done_; }

 private:
  bool terminal_;
  std::string stage_;
  int parts_ = 0;
  int done_ = 0;
  double seconds_each_ = 0;
  std::chrono::steady_clock::time_point started_;
};

}  // namespace trainbench
