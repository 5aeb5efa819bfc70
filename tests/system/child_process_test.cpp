#include "common/system/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>

namespace trainbench {
namespace {

ChildResult shell(const std::string& script, double limit_seconds) {
  return run_child({"/bin/sh", "-c", script}, limit_seconds);
}

TEST(ChildProcess, GivesOutputAndExitCode) {
  const ChildResult good = shell("printf 'two\\nlines\\n'", 60);
  EXPECT_TRUE(good.good());
  EXPECT_EQ(good.output, "two\nlines\n");
  EXPECT_EQ(good.failure(60), "");
  const ChildResult failed = shell("echo before; exit 3", 60);
  EXPECT_EQ(failed.exit_code, 3);
  EXPECT_EQ(failed.output, "before\n");
  EXPECT_EQ(failed.failure(60), "ended with exit code 3");
}

TEST(ChildProcess, MoreOutputThanAPipeHoldsArrivesWhole) {
  const ChildResult result = shell("head -c 300000 /dev/zero", 60);
  EXPECT_TRUE(result.good());
  EXPECT_EQ(result.output.size(), 300000u);
}

TEST(ChildProcess, ACrashIsToldBySignal) {
  const ChildResult result = shell("echo before; kill -SEGV $$", 60);
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_EQ(result.output, "before\n");
  EXPECT_EQ(result.failure(60), "was ended by signal 11 (Segmentation fault)");
}

// The sleeps would outlive the test's own limit, so that a child that is not killed shows.
TEST(ChildProcess, AHangEndsAtTheLimitWithWhatWasWritten) {
  const ChildResult result = shell("echo before; sleep 100000", 0.2);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.output, "before\n");
  EXPECT_EQ(result.failure(0.2), "did not end within 0.2 s");
  EXPECT_TRUE(shell("exec 1>&-; sleep 100000", 0.2).timed_out);
}

TEST(ChildProcess, AProgramThatIsNotThere) {
  EXPECT_EQ(run_child({"/no/such/program"}, 60).exit_code, 127);
}

}  // namespace
}  // namespace trainbench
