#include "bench/harness/case_pool.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainbench {
namespace {

class SizedCase : public PreparedCase {
 public:
  explicit SizedCase(std::size_t bytes) : bytes_(bytes) {}
  void check(CaseResult&) override {}
  Measurement run(std::int64_t) override { return {}; }
  MemoryUse memory() const override {
    MemoryUse use;
    use[MemoryKind::workspace] = bytes_;
    return use;
  }

 private:
  std::size_t bytes_;
};

TEST(CasePool, KeepsTheMostRecentlyUsed) {
  std::vector<std::size_t> prepared;
  CasePool pool(
      [&](std::size_t index) {
        prepared.push_back(index);
        return std::make_unique<SizedCase>(1);
      },
      2, 100);
  EXPECT_TRUE(pool.get(0).fresh);
  EXPECT_TRUE(pool.get(1).fresh);
  EXPECT_FALSE(pool.get(0).fresh);
  EXPECT_TRUE(pool.get(2).fresh);  // 1 was used longest ago and goes
  EXPECT_FALSE(pool.get(0).fresh);
  EXPECT_TRUE(pool.get(1).fresh);
  EXPECT_EQ(prepared, (std::vector<std::size_t>{0, 1, 2, 1}));
}

TEST(CasePool, BoundsBytesButAlwaysHoldsTheOneInUse) {
  CasePool pool([](std::size_t) { return std::make_unique<SizedCase>(60); }, 10, 100);
  EXPECT_TRUE(pool.get(0).fresh);
  EXPECT_TRUE(pool.get(1).fresh);
  EXPECT_FALSE(pool.get(1).fresh);
  EXPECT_TRUE(pool.get(0).fresh);

  CasePool small([](std::size_t) { return std::make_unique<SizedCase>(500); }, 10, 100);
  EXPECT_EQ(small.get(0).prepared.memory().total(), 500u);
  EXPECT_FALSE(small.get(0).fresh);
}

TEST(CasePool, DroppedCasesAreForgotten) {
  CasePool pool([](std::size_t) { return std::make_unique<SizedCase>(1); }, 10, 100);
  pool.get(3);
  pool.drop(3);
  EXPECT_TRUE(pool.get(3).fresh);
}

}  // namespace
}  // namespace trainbench
