// How cpu.conv.tiled cuts results by the padding that their windows meet.
#include "kernels/cpu/conv/tiled_plan.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace tenon::kernels::cpu {
namespace {

using Part = std::array<int64_t, 4>;

std::vector<Part> Parts(const WindowAxis& axis, int64_t out, int64_t least) {
  std::vector<Part> parts;
  for (const TiledPart& part : PartsOf(axis, out, least)) {
    parts.push_back({part.first, part.end, part.tap, part.tap_end});
  }
  return parts;
}

WindowAxis Axis(int64_t kernel, int64_t stride, int64_t dilation, int64_t pad, int64_t in) {
  return {.kernel = kernel,
          .stride = stride,
          .dilation = dilation,
          .pad_begin = pad,
          .pad_end = pad,
          .in = in};
}

// Of one square image.
void Plan(const TileKernels& kernels, const WindowAxis& axis, int64_t channels, int64_t filters,
          TiledPlan& plan) {
  plan.image = {.batch = 1,
                .channels = channels,
                .filters = filters,
                .height = axis.in,
                .width = axis.in,
                .rows = axis,
                .columns = axis};
  plan.depth = axis.kernel * axis.kernel * channels;
  plan.Choose(kernels, 1, 1e9);
}

TEST(TiledPlan, PartsFindTheSameElements) {
  EXPECT_EQ(Parts(Axis(3, 1, 12, 12, 20), 20, 4),
            (std::vector<Part>{{0, 8, 1, 3}, {8, 12, 1, 2}, {12, 20, 0, 2}}));
  EXPECT_EQ(Parts(Axis(3, 1, 24, 24, 20), 20, 4), (std::vector<Part>{{0, 20, 1, 2}}));
  EXPECT_EQ(Parts(Axis(3, 2, 1, 1, 7), 4, 1),
            (std::vector<Part>{{0, 1, 1, 3}, {1, 3, 0, 3}, {3, 4, 0, 2}}));
  EXPECT_EQ(Parts(Axis(3, 1, 1, 0, 9), 7, 1), (std::vector<Part>{{0, 7, 0, 3}}));
}

TEST(TiledPlan, SmallPartsAndLittlePaddingStayWithTheirNeighbours) {
  EXPECT_EQ(Parts(Axis(3, 1, 2, 2, 12), 12, 4), (std::vector<Part>{{0, 12, 0, 3}}));
  EXPECT_EQ(Parts(Axis(3, 1, 8, 8, 19), 19, 4), (std::vector<Part>{{0, 11, 0, 3}, {11, 19, 0, 2}}));
  EXPECT_EQ(Parts(Axis(3, 1, 1, 1, 112), 112, 1), (std::vector<Part>{{0, 112, 0, 3}}));
}

TEST(TiledPlan, WideGapsAreReadFromTheImage) {
  TiledPlan plan = {};
  Plan(Tiles(), Axis(3, 1, 12, 12, 20), 960, 256, plan);
  EXPECT_EQ(plan.source, TileSource::kImage);
  ASSERT_EQ(plan.regions.size(), 9);
  EXPECT_EQ(plan.regions[0].call.num_runs, 4);
  EXPECT_EQ(plan.regions[4].call.num_runs, 1);
  EXPECT_EQ(plan.regions[4].weight_rows, std::vector<int64_t>{4 * 960});
  EXPECT_EQ(plan.slot_bytes, 0);
}

// Each region would say of 3721 elements of its window where they lie.
TEST(TiledPlan, LargeWindowsHaveOneRegion) {
  TileKernels kernels = Tiles();
  kernels.min_group = 1;
  TiledPlan plan = {};
  Plan(kernels, Axis(61, 1, 2, 60, 96), 1, 16, plan);
  EXPECT_EQ(plan.source, TileSource::kPadded);
  EXPECT_EQ(plan.regions.size(), 1);
}

}  // namespace
}  // namespace tenon::kernels::cpu
