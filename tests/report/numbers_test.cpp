#include "common/report/numbers.h"

#include <gtest/gtest.h>

#include <cmath>

namespace trainbench {
namespace {

TEST(Numbers, ThreeSignificantDigits) {
  EXPECT_EQ(significant(0, 3), "0.00");
  EXPECT_EQ(significant(1234.5, 3), "1230");
  EXPECT_EQ(significant(123.45, 3), "123");
  EXPECT_EQ(significant(12.345, 3), "12.3");
  EXPECT_EQ(significant(1.2345, 3), "1.23");
  EXPECT_EQ(significant(0.0123456, 3), "0.0123");
  EXPECT_EQ(significant(-0.0123456, 3), "-0.0123");
  EXPECT_EQ(significant(9.999, 3), "10.0");
  EXPECT_EQ(significant(99.96, 3), "100");
  EXPECT_EQ(significant(std::nan(""), 3), "nan");
  EXPECT_EQ(significant(-INFINITY, 3), "-inf");
}

TEST(Numbers, SiPrefixes) {
  EXPECT_EQ(si(3.51e11, "FLOP/s"), "351 GFLOP/s");
  EXPECT_EQ(si(989e12, "FLOP/s"), "989 TFLOP/s");
  EXPECT_EQ(si(7090, ""), "7.09 k");
  EXPECT_EQ(si(999.4, "B/s"), "999 B/s");
  // Rounded first: never "1000 B/s".
  EXPECT_EQ(si(999.6, "B/s"), "1.00 kB/s");
  EXPECT_EQ(si(1000, "B/s"), "1.00 kB/s");
  EXPECT_EQ(si(1e6, "B/s"), "1.00 MB/s");
  EXPECT_EQ(si(0, "B/s"), "0.00 B/s");
  EXPECT_EQ(si(-2.5e-5, "s"), "-25.0 us");
  EXPECT_EQ(si(1e25, "FLOP"), "10000000 EFLOP");
}

TEST(Numbers, SecondsAsPeopleReadThem) {
  EXPECT_EQ(seconds_text(0.0361), "36.1 ms");
  EXPECT_EQ(seconds_text(1.25e-6), "1.25 us");
  EXPECT_EQ(seconds_text(3e-9), "3.00 ns");
  EXPECT_EQ(seconds_text(12.34), "12.3 s");
  EXPECT_EQ(seconds_text(4321), "4321 s");
}

TEST(Numbers, MemoryInPowersOf1024) {
  EXPECT_EQ(bytes_text(0), "0 B");
  EXPECT_EQ(bytes_text(1023), "1023 B");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(116.0 * 1024 * 1024), "116 MiB");
  EXPECT_EQ(bytes_text(1.21 * 1024 * 1024 * 1024), "1.21 GiB");
}

TEST(Numbers, PartsAndRatios) {
  EXPECT_EQ(percent_text(0.6456), "64.6%");
  EXPECT_EQ(percent_text(0.00431), "0.431%");
  EXPECT_EQ(ratio_text(100.4), "100x");
  EXPECT_EQ(ratio_text(0.875), "0.875x");
}

}  // namespace
}  // namespace trainbench
