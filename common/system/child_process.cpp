#include "common/system/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
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
[[noreturn]] void become(char* const* arguments, int output) {
  setpgid(0, 0);  // so that the limit also ends what the child starts
  dup2(output, STDOUT_FILENO);
  execv(arguments[0], arguments);
  _exit(127);
}

/// Reads until the end of the file; false where the deadline came first.
bool read_until(int input, Clock::time_point deadline, std::string& output) {
  std::array<char, 4096> buffer;
  while (true) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{input, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<long long>(left, 1000)));
    if (ready <= 0) continue;
    const ssize_t count = read(input, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    output.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

/// Waits for the end; false where the deadline came first.
bool wait_until(pid_t child, Clock::time_point deadline, int& status) {
  while (waitpid(child, &status, WNOHANG) != child) {
    if (Clock::now() >= deadline) return false;
    usleep(1000);
  }
  return true;
}

}  // namespace

std::string ChildResult::failure(double limit_seconds) const {
  std::ostringstream text;
  if (timed_out) {
    text << "did not end within " << limit_seconds << " s";
  } else if (signal != 0) {
    text << "was ended by signal " << signal << " (" << strsignal(signal) << ")";
  } else if (exit_code != 0) {
    text << "ended with exit code " << exit_code;
  }
  return text.str();
}

ChildResult run_child(const std::vector<std::string>& arguments, double limit_seconds) {
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) {
    pointers.push_back(const_cast<char*>(argument.c_str()));  // execv() does not write to them
  }
  pointers.push_back(nullptr);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) fail("pipe2");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) become(pointers.data(), ends[1]);
  close(ends[1]);

  ChildResult result;
  int status = 0;
  const Clock::time_point deadline =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_seconds));
  result.timed_out =
      !read_until(ends[0], deadline, result.output) || !wait_until(child, deadline, status);
  close(ends[0]);
  if (result.timed_out) {
    kill(-child, SIGKILL);
    // A process that waits inside a driver does not end even so: it is left behind, not waited for.
    wait_until(child, Clock::now() + std::chrono::seconds(1), status);
  } else if (WIFSIGNALED(status)) {
    result.signal = WTERMSIG(status);
  } else {
    result.exit_code = WEXITSTATUS(status);
  }
  return result;
}

}  // namespace trainbench
