#include "common/system/child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/system/host_files.h"
#include "tests/temporary_folder.h"

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
  EXPECT_EQ(result.failure(60), "was ended by SIGSEGV (Segmentation fault)");
  EXPECT_EQ(shell("kill -KILL $$", 60).failure(60),
            "was killed (SIGKILL), most likely out of memory");
}

// The sleeps would outlive the test's own limit, so that a child that is not killed shows.
TEST(ChildProcess, AHangEndsAtTheLimitWithWhatWasWritten) {
  const ChildResult result = shell("echo before; sleep 100000", 0.2);
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.output, "before\n");
  EXPECT_EQ(result.failure(0.2), "did not end within 0.2 s");
  EXPECT_TRUE(shell("exec 1>&-; sleep 100000", 0.2).timed_out);
}

TEST(ChildProcess, StandardErrorGoesWhereItIsSent) {
  const testing::TemporaryFolder folder;
  const std::string errors = folder.file("errors");
  EXPECT_EQ(run_child({"/bin/sh", "-c", "echo out; echo err >&2"}, 60, {}, errors).output, "out\n");
  EXPECT_EQ(read_host_file(errors), "err");
}

TEST(ChildProcess, AWatcherCanGiveItMoreTime) {
  const ChildResult result = run_child({"/bin/sh", "-c", "sleep 1; echo done"}, 0.6,
                                       [] { return ChildOrder::restart_limit; });
  EXPECT_TRUE(result.good()) << result.failure(0.6);
  EXPECT_EQ(result.output, "done\n");
}

TEST(ChildProcess, AWatcherCanInterruptIt) {
  int asked = 0;
  const ChildResult result = run_child(
      {"/bin/sh", "-c", "trap 'echo caught; exit 130' INT; while :; do sleep 0.05; done"}, 60, [&] {
        // The first time the shell may not have set its trap yet.
        return ++asked < 3 ? ChildOrder::go_on : ChildOrder::interrupt;
      });
  EXPECT_EQ(result.output, "caught\n");
  EXPECT_EQ(result.exit_code, 130);
}

TEST(ChildProcess, AChildDoesNotOutliveItsParent) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t parent = fork();
  ASSERT_GE(parent, 0);
  if (parent == 0) {
    // The grandchild holds the pipe's writing end: it closes when both have ended.
    run_child({"/bin/sh", "-c", "printf x >&" + std::to_string(ends[1]) + "; exec sleep 100000"},
              100000);
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  ASSERT_EQ(read(ends[0], &byte, 1), 1) << "the grandchild runs";
  kill(parent, SIGKILL);
  EXPECT_EQ(waitpid(parent, nullptr, 0), parent);
  EXPECT_EQ(read(ends[0], &byte, 1), 0) << "it ended too";
  close(ends[0]);
}

TEST(ChildProcess, AProgramThatIsNotThere) {
  EXPECT_EQ(run_child({"/no/such/program"}, 60).exit_code, 127);
}

}  // namespace
}  // namespace trainbench
