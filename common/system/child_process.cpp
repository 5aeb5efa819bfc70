#include "common/system/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <sstream>
#include <system_error>

namespace trainbench {
namespace {

using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// In the child, between fork() and execv(): only what is safe there.
[[noreturn]] void become(char* const* arguments, int output, const char* errors, pid_t parent) {
  setpgid(0, 0);  // so that the limit also ends what the child starts
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it died before it could be watched
  dup2(output, STDOUT_FILENO);
  if (*errors != '\0') dup2(open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0666), STDERR_FILENO);
  execv(arguments[0], arguments);
  _exit(127);
}

/// A child that runs, its limit, and who watches it.
class RunningChild {
 public:
  RunningChild(pid_t child, double limit_seconds, const ChildWatch& watch)
      : child_(child),
        limit_(std::chrono::duration_cast<Clock::duration>(
            std::chrono::duration<double>(limit_seconds))),
        deadline_(Clock::now() + limit_),
        watch_(watch) {}

  /// Reads until the end of the file; false where the deadline came first.
  bool read_all(int input, std::string& output) {
    std::array<char, 4096> buffer;
    while (true) {
      obey();
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now()).count();
      if (left <= 0) return false;
      pollfd waiting{input, POLLIN, 0};
      const int ready = poll(&waiting, 1, static_cast<int>(std::min<long long>(left, kPollMillis)));
      if (ready <= 0) continue;
      const ssize_t count = read(input, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return true;
      output.append(buffer.data(), static_cast<std::size_t>(count));
    }
  }

  /// Waits for the end; false where the deadline came first.
  bool wait_for_end(int& status) { return wait_until(deadline_, status); }

  void kill_all(int& status) {
    kill(-child_, SIGKILL);
    // A process that waits inside a driver does not end even so: it is left behind, not waited for.
    wait_until(Clock::now() + std::chrono::seconds(1), status);
  }

 private:
  /// Seldom enough that a child's measurements do not see it.
  static constexpr long long kPollMillis = 200;

  void obey() {
    if (!watch_) return;
    const ChildOrder order = watch_();
    if (order == ChildOrder::restart_limit) deadline_ = Clock::now() + limit_;
    if (order == ChildOrder::interrupt && !interrupted_) {
      interrupted_ = true;
      kill(-child_, SIGINT);
    }
  }

  bool wait_until(Clock::time_point deadline, int& status) const {
    while (waitpid(child_, &status, WNOHANG) != child_) {
      if (Clock::now() >= deadline) return false;
      usleep(1000);
    }
    return true;
  }

  pid_t child_;
  Clock::duration limit_;
  Clock::time_point deadline_;
  const ChildWatch& watch_;
  bool interrupted_ = false;
};

}  // namespace

std::string ChildResult::failure(double limit_seconds) const {
  std::ostringstream text;
  if (timed_out) {
    text << "did not end within " << limit_seconds << " s";
  } else if (signal == SIGKILL) {
    text << "was killed (SIGKILL), most likely out of memory";  // the kernel's way to end that
  } else if (signal != 0) {
    const char* name = sigabbrev_np(signal);
    text << "was ended by SIG" << (name == nullptr ? std::to_string(signal) : name) << " ("
         << strsignal(signal) << ")";
  } else if (exit_code != 0) {
    text << "ended with exit code " << exit_code;
  }
  return text.str();
}

ChildResult run_child(const std::vector<std::string>& arguments, double limit_seconds,
                      const ChildWatch& watch, const std::string& errors) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execv() does not write to them
  }
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) become(pointers.data(), ends[1], errors.c_str(), parent);
  close(ends[1]);

  ChildResult result;
  int status = 0;
  RunningChild running(child, limit_seconds, watch);
  result.timed_out = !running.read_all(ends[0], result.output) || !running.wait_for_end(status);
  close(ends[0]);
  if (result.timed_out) {
    running.kill_all(status);
  } else if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace trainbench
