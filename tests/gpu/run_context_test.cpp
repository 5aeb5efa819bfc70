#include "bench/harness/run_context.h"

#include <gtest/gtest.h>

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

Suite suite_of_one_gpu_case() {
  Suite suite;
  suite.cases.resize(1);
  suite.cases.front().id.device = "gpu";
  return suite;
}

TEST(RunContext, AGpuHasItsStateBeforeAndAfterTheRun) {
  Devices devices({.peak_seconds = 0.001});
  Json list = device_context(suite_of_one_gpu_case(), devices);
  ASSERT_EQ(list.size(), 1u);
  EXPECT_TRUE(list[0].at("capability").is_string());
  for (const char* version : {"driver", "runtime", "cublaslt"}) {
    EXPECT_NE(list[0].at("cuda").value(version, ""), "") << version;
  }
  const Json before = list[0].at("state").at("before");
  EXPECT_TRUE(before.contains("sm_clock")) << before;
  EXPECT_FALSE(list[0].at("state").contains("after"));

  list[0]["peaks"]["bandwidth"] = 0;
  finish_device_context(list, devices);
  EXPECT_EQ(list[0].at("state").at("before"), before);
  EXPECT_TRUE(list[0].at("state").at("after").contains("sm_clock")) << list;
  EXPECT_GT(list[0].at("peaks").at("bandwidth"), 0) << "peaks are those known at the end";
}

TEST(RunContext, AMissingGpuStaysMissing) {
  Devices devices({.gpu_index = 99});
  Json list = device_context(suite_of_one_gpu_case(), devices);
  const Json missing = list;
  EXPECT_TRUE(missing[0].contains("missing"));
  finish_device_context(list, devices);
  EXPECT_EQ(list, missing);
}

}  // namespace
}  // namespace trainbench
