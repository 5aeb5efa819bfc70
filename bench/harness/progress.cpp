#include "bench/harness/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace trainbench {
namespace {

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

std::string minutes_and_seconds(double seconds) {
  const long whole = std::lround(std::max(seconds, 0.0));
  char text[32];
  std::snprintf(text, sizeof text, "%ld:%02ld", whole / 60, whole % 60);
  return text;
}

}  // namespace

Progress::Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_) std::fputs("\r\033[K", stderr);
}

void Progress::begin(const std::string& stage, int parts, double seconds_each) {
  stage_ = stage;
  parts_ = parts;
  done_ = 0;
  seconds_each_ = seconds_each;
  started_ = std::chrono::steady_clock::now();
}

void Progress::show(const std::string& what) {
  if (!terminal_) return;
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - started_;
  const double each = done_ > 0 ? passed.count() / done_ : seconds_each_;
  const double left = each * (parts_ - done_);
  std::string line = stage_ + " " + std::to_string(std::min(done_ + 1, parts_)) + "/" +
                     std::to_string(parts_) + ", " + minutes_and_seconds(left) + " left: " + what;
  line.resize(std::min(line.size(), terminal_width() - 1));
  std::fprintf(stderr, "\r\033[K%s", line.c_str());
  std::fflush(stderr);
}

}  // namespace trainbench
