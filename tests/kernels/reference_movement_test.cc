// Reference kernels that move elements against values written by hand.
#include <gtest/gtest.h>

#include <numeric>

#include "kernels/op_attrs.h"
#include "tests/kernels/reference_test_util.h"

namespace tenon::kernels::testing {
namespace {

using Ints = std::vector<int64_t>;

// 0, 1, 2, … in a shape.
Tensor Iota(Shape shape) {
  Tensor t(DType::kI64, std::move(shape));
  std::iota(t.data<int64_t>(), t.data<int64_t>() + t.numel(), 0);
  return t;
}

Tensor Vector(Ints values) {
  const auto n = static_cast<int64_t>(values.size());
  return Tensor::Of({n}, values);
}

TEST(ReferenceMovement, Copies) {
  EXPECT_EQ(Eval<int64_t>("ref.copy", {Iota({2, 2})}, {4}, ten::ReshapeAttrs()),
            (Ints{0, 1, 2, 3}));
  EXPECT_EQ(Eval<int64_t>("ref.dynamic_reshape", {Iota({2, 2}), Vector({4})}, {4},
                          ten::DynamicReshapeAttrs()),
            (Ints{0, 1, 2, 3}));
  EXPECT_EQ(
      Eval<int64_t>("ref.transpose", {Iota({2, 3})}, {3, 2}, ten::TransposeAttrs{.perm = {1, 0}}),
      (Ints{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(Eval<int64_t>("ref.transpose", {Iota({1, 2, 2})}, {2, 1, 2},
                          ten::TransposeAttrs{.perm = {2, 0, 1}}),
            (Ints{0, 2, 1, 3}));
  EXPECT_EQ(Eval<int64_t>("ref.expand", {Iota({2, 1})}, {2, 2}, ten::ExpandAttrs()),
            (Ints{0, 0, 1, 1}));
  EXPECT_EQ(Eval<int64_t>("ref.dynamic_expand", {Iota({2}), Vector({2, 2})}, {2, 2},
                          ten::DynamicExpandAttrs()),
            (Ints{0, 1, 0, 1}));
  EXPECT_EQ(Eval<int64_t>("ref.tile", {Iota({1, 2})}, {2, 4}, ten::TileAttrs{.repeats = {2, 2}}),
            (Ints{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(
      Eval<int64_t>("ref.dynamic_tile", {Iota({2}), Vector({2})}, {4}, ten::DynamicTileAttrs()),
      (Ints{0, 1, 0, 1}));
  EXPECT_EQ(Eval<int64_t>("ref.concat", {Iota({2, 1}), Iota({2, 2})}, {2, 3},
                          ten::ConcatAttrs{.axis = 1}),
            (Ints{0, 0, 1, 1, 2, 3}));
}

TEST(ReferenceMovement, Slices) {
  ten::SliceAttrs attrs;
  attrs.axes = {1};
  attrs.starts = {-1};
  attrs.ends = {-100};
  attrs.steps = {-2};
  EXPECT_EQ(Eval<int64_t>("ref.slice", {Iota({2, 4})}, {2, 2}, attrs), (Ints{3, 1, 7, 5}));
  attrs.starts = {1};
  attrs.ends = {INT64_MAX};
  attrs.steps = {INT64_MAX};
  EXPECT_EQ(Eval<int64_t>("ref.slice", {Iota({2, 4})}, {2, 1}, attrs), (Ints{1, 5}));
  EXPECT_EQ(
      Eval<int64_t>("ref.dynamic_slice", {Iota({4}), Vector({1}), Vector({3}), Tensor(), Tensor()},
                    {2}, ten::DynamicSliceAttrs()),
      (Ints{1, 2}));
  Refusal("ref.dynamic_slice", {Iota({4}), Vector({1}), Vector({3}), Vector({1}), Tensor()},
          Tensor(DType::kI64, {2}), MakeAttrs(ten::DynamicSliceAttrs()));
}

TEST(ReferenceMovement, Split) {
  ten::SplitAttrs attrs;
  attrs.axis = 1;
  attrs.sizes = {1, 2};
  Case c = {{Iota({2, 3})},
            {Tensor(DType::kI64, {2, 1}), Tensor(DType::kI64, {2, 2})},
            MakeAttrs(attrs),
            {}};
  ASSERT_TRUE(RunCase(*Registry().FindByName("ref.split"), c).ok());
  EXPECT_EQ(c.outputs[0].values<int64_t>(), (Ints{0, 3}));
  EXPECT_EQ(c.outputs[1].values<int64_t>(), (Ints{1, 2, 4, 5}));
}

TEST(ReferenceMovement, Pads) {
  auto pad = [](ten::PadMode mode, int64_t before, int64_t after) {
    ten::PadAttrs attrs;
    attrs.pads = {before, after};
    attrs.mode = mode;
    return Eval<int64_t>("ref.pad", {Iota({3}), Tensor::Of<int64_t>({}, {9})}, {3 + before + after},
                         attrs);
  };
  EXPECT_EQ(pad(ten::PadMode::kConstant, 2, 1), (Ints{9, 9, 0, 1, 2, 9}));
  EXPECT_EQ(pad(ten::PadMode::kConstant, -1, 1), (Ints{1, 2, 9}));
  EXPECT_EQ(pad(ten::PadMode::kEdge, 2, 1), (Ints{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(pad(ten::PadMode::kReflect, 2, 2), (Ints{2, 1, 0, 1, 2, 1, 0}));
  EXPECT_EQ(pad(ten::PadMode::kWrap, 2, 1), (Ints{1, 2, 0, 1, 2, 0}));
  // What is cut off is not repeated.
  EXPECT_EQ(pad(ten::PadMode::kWrap, -1, 1), (Ints{1, 2, 1}));
  EXPECT_EQ(pad(ten::PadMode::kWrap, 1, -1), (Ints{1, 0, 1}));
  EXPECT_EQ(pad(ten::PadMode::kReflect, -1, 2), (Ints{1, 2, 1, 2}));
  EXPECT_EQ(pad(ten::PadMode::kEdge, 1, -1), (Ints{0, 0, 1}));
}

TEST(ReferenceMovement, Triangles) {
  EXPECT_EQ(Eval<int64_t>("ref.trilu", {Iota({2, 3})}, {2, 3},
                          ten::TriluAttrs{.upper = true, .diagonal = 1}),
            (Ints{0, 1, 2, 0, 0, 5}));
  EXPECT_EQ(Eval<int64_t>("ref.trilu", {Iota({2, 3})}, {2, 3},
                          ten::TriluAttrs{.upper = false, .diagonal = 0}),
            (Ints{0, 0, 0, 3, 4, 0}));
}

TEST(ReferenceMovement, Range) {
  EXPECT_EQ(Eval<int64_t>("ref.range", {Iota({}), Iota({}), Tensor::Of<int64_t>({}, {-2})}, {3},
                          ten::RangeAttrs()),
            (Ints{0, -2, -4}));
  EXPECT_EQ(Evaluate<float>("ref.range",
                            {Tensor::Of<float>({}, {1}), Tensor::Of<float>({}, {2}),
                             Tensor::Of<float>({}, {0.5f})},
                            {2}),
            (std::vector<float>{1, 1.5f}));
}

TEST(ReferenceGather, PicksAndRefuses) {
  EXPECT_EQ(Eval<int64_t>("ref.gather", {Iota({2, 3}), Vector({2, -3})}, {2, 2},
                          ten::GatherAttrs{.axis = 1}),
            (Ints{2, 0, 5, 3}));
  EXPECT_EQ(Eval<int64_t>("ref.gather", {Iota({2, 3}), Tensor::Of<int32_t>({}, {1})}, {3},
                          ten::GatherAttrs()),
            (Ints{3, 4, 5}));
  for (const char* name : {"ref.gather", "cpu.gather"}) {
    const std::string message = Refusal(name, {Iota({2, 3}), Vector({5})},
                                        Tensor(DType::kI64, {1, 3}), MakeAttrs(ten::GatherAttrs()));
    EXPECT_NE(message.find("index 5"), std::string::npos) << message;
    EXPECT_NE(message.find("2 elements"), std::string::npos) << message;
  }
  EXPECT_EQ(Eval<int64_t>("ref.gather_elements",
                          {Iota({2, 2}), Tensor::Of<int64_t>({2, 2}, {1, 0, -1, 0})}, {2, 2},
                          ten::GatherElementsAttrs{.axis = 1}),
            (Ints{1, 0, 3, 2}));
  for (const char* name : {"ref.gather_elements", "cpu.gather_elements"}) {
    const std::string message =
        Refusal(name, {Iota({2, 2}), Tensor::Of<int64_t>({1, 2}, {-2, -3})},
                Tensor(DType::kI64, {1, 2}), MakeAttrs(ten::GatherElementsAttrs()));
    EXPECT_NE(message.find("index -3"), std::string::npos) << message;
  }
}

TEST(ReferenceGather, TuplesOfIndices) {
  EXPECT_EQ(
      Eval<int64_t>("ref.gather_nd", {Iota({2, 3}), Tensor::Of<int64_t>({2, 2}, {0, 2, 1, -3})},
                    {2}, ten::GatherNdAttrs()),
      (Ints{2, 3}));
  EXPECT_EQ(Eval<int64_t>("ref.gather_nd", {Iota({2, 3}), Tensor::Of<int64_t>({2, 1}, {0, 2})}, {2},
                          ten::GatherNdAttrs{.batch_dims = 1}),
            (Ints{0, 5}));
  Refusal("ref.gather_nd", {Iota({2, 3}), Tensor::Of<int64_t>({1, 1}, {2})},
          Tensor(DType::kI64, {1, 3}), MakeAttrs(ten::GatherNdAttrs()));
}

TEST(ReferenceScatter, ReplacesOrReduces) {
  auto scatter = [](ten::ScatterNdReduction reduction) {
    return Eval<int64_t>("ref.scatter_nd",
                         {Iota({3}), Tensor::Of<int64_t>({2, 1}, {1, -1}), Vector({5, -5})}, {3},
                         ten::ScatterNdAttrs{.reduction = reduction});
  };
  EXPECT_EQ(scatter(ten::ScatterNdReduction::kNone), (Ints{0, 5, -5}));
  EXPECT_EQ(scatter(ten::ScatterNdReduction::kAdd), (Ints{0, 6, -3}));
  EXPECT_EQ(scatter(ten::ScatterNdReduction::kMul), (Ints{0, 5, -10}));
  EXPECT_EQ(scatter(ten::ScatterNdReduction::kMax), (Ints{0, 5, 2}));
  EXPECT_EQ(scatter(ten::ScatterNdReduction::kMin), (Ints{0, 1, -5}));
  Refusal("ref.scatter_nd", {Iota({3}), Tensor::Of<int64_t>({1, 1}, {3}), Vector({5})},
          Tensor(DType::kI64, {3}), MakeAttrs(ten::ScatterNdAttrs()));
}

TEST(ReferenceMovement, EmptyTensors) {
  EXPECT_TRUE(
      Eval<int64_t>("ref.transpose", {Iota({0, 3})}, {3, 0}, ten::TransposeAttrs{.perm = {1, 0}})
          .empty());
  EXPECT_TRUE(
      Eval<int64_t>("ref.gather", {Iota({2, 3}), Vector({})}, {0, 3}, ten::GatherAttrs()).empty());
  EXPECT_EQ(Eval<int64_t>("ref.concat", {Iota({0}), Iota({2})}, {2}, ten::ConcatAttrs{.axis = 0}),
            (Ints{0, 1}));
  EXPECT_TRUE(Eval<int64_t>("ref.trilu", {Iota({0, 2, 2})}, {0, 2, 2}, ten::TriluAttrs()).empty());
}

}  // namespace
}  // namespace tenon::kernels::testing
