// Says in one line that the address space allowed is too small, before a library waits for memory
// for ever: OpenBLAS's constructor asks again and again (0.3.21). Run before any constructor.

#include <sys/resource.h>
#include <unistd.h>

namespace trainbench {
namespace {

/// What the libraries take to start on a small machine, and room for a small case.
constexpr rlim_t kLeastBytes = rlim_t{512} << 20;

void guard(int, char**, char**) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kLeastBytes) return;
  constexpr char kLine[] =
      "trainbench: the address space is limited to less than 512 MiB, too little to start; raise "
      "the limit (ulimit -v)\n";
  if (write(STDERR_FILENO, kLine, sizeof kLine - 1) < 0) _exit(2);
  _exit(2);
}

__attribute__((section(".preinit_array"), used)) void (*const kGuard)(int, char**, char**) = guard;

}  // namespace
}  // namespace trainbench
