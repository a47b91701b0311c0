// Masks by their numbers, and of two operands: what hides a key, and what must stay a mask.
#include <gmock/gmock.h>

#include <limits>

#include "tests/transforms/mask_program.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// ---- values

TEST(ClassifyMasks, NothingHidden) {
  {
    MaskProgram p;
    p.Attend(p.Expand(p.Number(0), {"B", "1", "S", "S"}));
    EXPECT_EQ(p.Classified(), "none");
    EXPECT_THAT(p.text(), HasSubstr("fused.attention(%arg0, %arg1, %arg2) "));
  }
  {
    MaskProgram p;
    p.Attend(p.Make<ten::GreaterEqualOp>(p.Query(), p.Number(0, DType::kI64)));
    EXPECT_EQ(p.Classified(), "none");
  }
}

TEST(ClassifyMasks, ProductOfFloats) {
  MaskProgram p;
  const Value causal = p.Cast(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), DType::kF32);
  const Value both = p.Make<ten::MulOp>(causal, p.Cast(p.Padding(), DType::kF32));
  const Value hidden = p.Make<ten::SubOp>(p.Number(1), both);
  p.Attend(p.Make<ten::MulOp>(hidden, p.Number(kLowest)));
  EXPECT_EQ(p.Classified(), "causal + padding");
}

TEST(ClassifyMasks, ZeroTimesInfinityIsNoMask) {
  MaskProgram p;
  const Value hidden = p.Cast(p.Make<ten::GreaterOp>(p.Key(), p.Query()), DType::kF32);
  p.Attend(p.Make<ten::MulOp>(hidden, p.Number(-kInfinity)));
  EXPECT_THAT(p.Classified(), HasSubstr("it adds NaN to scores"));
}

TEST(ClassifyMasks, SumOfInfinities) {
  for (bool guard : {false, true}) {
    MaskProgram p;
    const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), -kInfinity);
    const Value padding = p.Additive(p.Padding(), -kInfinity);
    p.Attend(p.Make<ten::AddOp>(causal, padding), Value(), guard);
    EXPECT_EQ(p.Classified(), "causal + padding");
  }
}

TEST(ClassifyMasks, SumOfLowestNumbersOverflows) {
  // Rows without a visible key weigh those that are hidden once, but not those hidden twice.
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest);
  const Value padding = p.Additive(p.Padding(), kLowest);
  p.Attend(p.Make<ten::AddOp>(causal, padding));
  EXPECT_EQ(p.Classified(), "causal + values of keys");
}

TEST(ClassifyMasks, SumOfFiniteNumbers) {
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), -10000);
  const Value am = p.Cast(p.Reshape(p.am(), {"B", "1", "1", "S"}), DType::kF32);
  const Value padding = p.Make<ten::MulOp>(p.Make<ten::SubOp>(p.Number(1), am), p.Number(-10000));
  p.Attend(p.Make<ten::AddOp>(causal, padding));
  EXPECT_EQ(p.Classified(), "causal + values of keys");
}

TEST(ClassifyMasks, LargerOfTwoMasks) {
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest);
  const Value padding = p.Additive(p.Padding(), kLowest);
  p.Attend(p.Make<ten::MinOp>(causal, padding));
  EXPECT_EQ(p.Classified(), "causal + padding");
}

TEST(ClassifyMasks, SmallerOfTwoMasksShowsMore) {
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest);
  const Value padding = p.Additive(p.Padding(), kLowest);
  p.Attend(p.Make<ten::MaxOp>(causal, padding));
  EXPECT_THAT(p.Classified(), HasSubstr("it is not a conjunction"));
}

TEST(ClassifyMasks, HiddenInTwoWays) {
  MaskProgram p;
  const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  p.Attend(p.Make<ten::WhereOp>(causal, p.Additive(p.Padding(), -1e9), p.Number(-1e4)));
  EXPECT_THAT(p.Classified(), HasSubstr("some hidden keys get"));
}

TEST(ClassifyMasks, PositiveNumbers) {
  MaskProgram p;
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), 1));
  EXPECT_THAT(p.Classified(), HasSubstr("it adds 1 to scores"));
}

TEST(ClassifyMasks, FactorOfHeads) {
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), -1);
  p.Attend(p.Make<ten::MulOp>(causal, p.Table(DType::kF32, {1, 2, 1, 1}, {1, 0.5})));
  EXPECT_THAT(p.Classified(), StartsWith("bias: "));
}

TEST(ClassifyMasks, HeadsThatSeeDifferentKeys) {
  MaskProgram p;
  const Value heads = p.Table(DType::kBool, {1, 2, 1, 1}, {1, 0});
  const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  p.Attend(p.Additive(p.Make<ten::OrOp>(causal, heads), kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("it differs between heads"));
}

// ---- two operands

Value DistanceBias(MaskProgram& p) {
  const Value distance = p.Cast(p.Make<ten::SubOp>(p.Key(), p.Query()), DType::kF32);
  return p.Make<ten::MulOp>(distance, p.Table(DType::kF32, {1, 2, 1, 1}, {0.5, 0.25}));
}

TEST(ClassifyMasks, MaskBesideBias) {
  MaskProgram p;
  const Value mask = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest);
  p.Attend(mask, DistanceBias(p));
  EXPECT_THAT(p.Classified(), StartsWith("causal + bias: "));
}

TEST(ClassifyMasks, MaskAddedToBias) {
  MaskProgram p;
  const Value mask = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest);
  p.Attend(p.Make<ten::AddOp>(DistanceBias(p), mask));
  EXPECT_THAT(p.Classified(), StartsWith("causal + bias: "));
}

TEST(ClassifyMasks, TwoMasksByInfinity) {
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), -kInfinity);
  p.Attend(causal, p.Additive(p.Padding(), -kInfinity));
  EXPECT_EQ(p.Classified(), "causal + padding");
}

TEST(ClassifyMasks, TwoMasksByFiniteNumbers) {
  MaskProgram p;
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest);
  const Value padding = p.Additive(p.Expand(p.Padding(), {"B", "1", "S", "S"}), kLowest);
  p.Attend(padding, causal);
  EXPECT_EQ(
      p.Classified(),
      "causal + values of keys: another mask hides keys with -3.4028235e+38 too, and both add up");
  EXPECT_THAT(p.text(), Not(HasSubstr("[\"B\", \"\", \"S\", \"S\"]")));
}

}  // namespace
}  // namespace tenon
