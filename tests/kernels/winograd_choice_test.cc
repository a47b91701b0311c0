// Which convolutions of 3 x 3 take Winograd's method, and in which tiles.
#include "kernels/cpu/conv/winograd/winograd_choice.h"

#include <gtest/gtest.h>

namespace tenon::kernels::cpu {
namespace {

int TileSizeOf(int64_t batch, int64_t size, int64_t channels, int64_t filters) {
  const WindowAxis axis = {
      .kernel = 3, .stride = 1, .dilation = 1, .pad_begin = 1, .pad_end = 1, .in = size};
  return WinogradTileSize({.batch = batch,
                           .channels = channels,
                           .filters = filters,
                           .height = size,
                           .width = size,
                           .rows = axis,
                           .columns = axis});
}

TEST(WinogradChoice, LargeMapsTakeLargeTiles) {
  EXPECT_EQ(TileSizeOf(1, 56, 64, 64), 4);
  EXPECT_EQ(TileSizeOf(1, 28, 128, 128), 4);
  EXPECT_EQ(TileSizeOf(1, 14, 256, 256), 4);
}

TEST(WinogradChoice, FewPixelsDoNotPayForReadingMoreWeights) {
  EXPECT_EQ(TileSizeOf(1, 7, 512, 512), 2);
  EXPECT_EQ(TileSizeOf(1, 5, 512, 512), 0);
  EXPECT_EQ(TileSizeOf(1, 3, 512, 512), 0);
  EXPECT_EQ(TileSizeOf(8, 7, 512, 512), 4) << "all images share the weights";
}

TEST(WinogradChoice, FewChannelsDoNotPayForTheTransforms) {
  EXPECT_EQ(TileSizeOf(1, 224, 3, 64), 0);
  EXPECT_EQ(TileSizeOf(1, 112, 16, 16), 0);
}

}  // namespace
}  // namespace tenon::kernels::cpu
