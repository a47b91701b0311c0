#include "kernels/cpu/caches.h"

#include <gtest/gtest.h>

namespace tenon::kernels::cpu {
namespace {

TEST(CachesTest, ParsesSizesAndWays) {
  const Caches expected = {
      .first_bytes = 32 << 10, .first_ways = 8, .second_bytes = int64_t{1} << 20};
  EXPECT_EQ(ParseCaches("32K/8,1M"), expected);
  EXPECT_EQ(ParseCaches("32768/8,1024K"), expected);
}

TEST(CachesTest, RefusesWhatIsNoCache) {
  for (const char* text : {"", "32K", "32K/8", "32K/8,", "32K,8,1M", "32K/8,1M ", "-32K/8,1M",
                           "0/8,1M", "32K/0,1M", "32K/8,1K", "32K/8,99999999999999999999M"}) {
    EXPECT_EQ(ParseCaches(text), std::nullopt) << text;
  }
}

TEST(CachesTest, SaneWhateverTheSystemSays) {
  const Caches& caches = ActiveCaches();
  EXPECT_GE(caches.first_bytes, 8 << 10);
  EXPECT_GE(caches.first_ways, 1);
  EXPECT_GE(caches.second_bytes, 64 << 10);
}

}  // namespace
}  // namespace tenon::kernels::cpu
