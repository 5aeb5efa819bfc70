#include "cpu/fastest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <numeric>
#include <thread>

#include "common/config/json_file.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

const std::vector<std::string> kWays{"first", "second", "third"};

/// Three ways of which the one in the middle takes no time, and how often each ran.
class Ways {
 public:
  std::size_t ask(const std::string& work, int threads = 1) {
    return fastest(threads, work, kWays, [this](std::size_t i) {
      ++runs_[i];
      if (i != 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    });
  }
  int runs() const { return std::accumulate(std::begin(runs_), std::end(runs_), 0); }

 private:
  int runs_[3] = {};
};

class FastestTest : public ::testing::Test {
 protected:
  void TearDown() override { keep_choices({}); }

  ChoiceFile file(const std::string& key, bool retune = false) const {
    return {folder_.path() / "deep" / "choices.json", key, retune};
  }

  testing::TemporaryFolder folder_;
};

TEST_F(FastestTest, RunsEachWayOnceAndRemembers) {
  keep_choices({});
  Ways ways;
  EXPECT_EQ(ways.ask("work"), 1u);
  const int measured = ways.runs();
  EXPECT_GE(measured, 3);
  EXPECT_EQ(ways.ask("work"), 1u);
  EXPECT_EQ(ways.runs(), measured);
  ways.ask("work", 2);
  EXPECT_GT(ways.runs(), measured) << "another number of threads is another question";
}

TEST_F(FastestTest, AnswersOutliveTheProcessUnderTheirKey) {
  keep_choices(file("this machine"));
  Ways before;
  EXPECT_EQ(before.ask("work"), 1u);
  save_choices();

  keep_choices(file("this machine"));
  EXPECT_EQ(choice_counts().kept, 1u);
  Ways after;
  EXPECT_EQ(after.ask("work"), 1u);
  EXPECT_EQ(after.runs(), 0);
  EXPECT_EQ(choice_counts().measured, 0u);

  keep_choices(file("another machine"));
  Ways elsewhere;
  elsewhere.ask("work");
  EXPECT_GT(elsewhere.runs(), 0);
}

TEST_F(FastestTest, RetuningMeasuresAnewAndReplaces) {
  std::filesystem::create_directories(file("").path.parent_path());
  std::ofstream(file("").path)
      << R"({"key": "k", "choices": {"1 threads: work: first second third": "third"}})";
  keep_choices(file("k"));
  Ways kept;
  EXPECT_EQ(kept.ask("work"), 2u) << "what the file says";
  keep_choices(file("k", true));
  Ways anew;
  EXPECT_EQ(anew.ask("work"), 1u);
  save_choices();
  keep_choices(file("k"));
  EXPECT_EQ(Ways().ask("work"), 1u);
}

TEST_F(FastestTest, SavingKeepsWhatOthersSavedMeanwhile) {
  keep_choices(file("k"));
  Ways().ask("mine");
  std::filesystem::create_directories(file("").path.parent_path());
  std::ofstream(file("").path) << R"({"key": "k", "choices": {"theirs": "first"}})";
  save_choices();
  EXPECT_EQ(read_json_file(file("").path)["choices"].size(), 2u);
}

TEST_F(FastestTest, ABrokenFileIsNone) {
  std::filesystem::create_directories(file("").path.parent_path());
  for (const char* text : {"", "{", "[]", R"({"key": 3})", R"({"key": "k", "choices": [1]})",
                           R"({"key": "k", "choices": {"work": 3}})"}) {
    std::ofstream(file("").path) << text;
    keep_choices(file("k"));
    EXPECT_EQ(Ways().ask("work"), 1u) << text;
  }
}

TEST_F(FastestTest, AFolderThatCannotBeWrittenToChangesNothing) {
  keep_choices({"/proc/trainbench/choices.json", "k", false});
  EXPECT_EQ(Ways().ask("work"), 1u);
  save_choices();
}

}  // namespace
}  // namespace trainbench
