// Masks whose extents may differ from those of the scores, or be one and broadcast.
#include <gmock/gmock.h>

#include <limits>

#include "tests/transforms/mask_program.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Keys = MaskProgram::Keys;

TEST(ClassifyMasks, LengthsThatMayDiffer) {
  // A mask of length 1 would broadcast: nothing checks that it has the keys' length.
  MaskProgram p(Keys::kAsQueries, {"B", "T"});
  const Value key = p.Reshape(p.Range("0", "T"), {"1", "T"});
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(key, p.Query()), kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("an extent is T and not provably S"));
}

TEST(ClassifyMasks, LengthsThatAreChecked) {
  MaskProgram p(Keys::kWithPast, {"B", "T"});
  const Value key = p.Reshape(p.Range("0", "T"), {"1", "T"});
  const Value causal = p.Make<ten::LessEqualOp>(key, p.Query());
  const Value padding = p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "1", "T"});
  p.Attend(p.Additive(p.And(causal, padding), kLowest));
  EXPECT_EQ(p.Classified(), "causal + padding");
  // A mask of one element is one column of the triangle, which broadcasts, too.
  EXPECT_THAT(p.text(), HasSubstr("repeat_first_key = true"));
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, ColumnsOfTheirOwnLength) {
  for (Keys keys : {Keys::kAsQueries, Keys::kWithPast}) {
    for (bool window : {false, true}) {
      MaskProgram p(keys, {"B", "T"});
      const Value key = p.Reshape(p.Range("0", "T"), {"1", "T"});
      Value visible = p.Make<ten::LessEqualOp>(key, p.Query());
      if (window) {
        // Where the columns are one, it is outside of the window of the last queries.
        const Value distance = p.Make<ten::SubOp>(p.Query(), key);
        visible = p.And(visible, p.Make<ten::LessOp>(distance, p.Number(2, DType::kI64)));
      }
      const Value padding = p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "1", "T"});
      p.Attend(p.Additive(p.And(visible, padding), kLowest));
      EXPECT_EQ(p.Classified(), window ? "window + padding" : "causal + padding");
      EXPECT_THAT(p.text(), HasSubstr("repeat_first_key = true"));
      EXPECT_TRUE(p.accepts_one());
    }
  }
}

TEST(ClassifyMasks, ColumnsOfAnotherLengthThanThePadding) {
  // Of one column of padding all keys have the triangle of their own.
  MaskProgram p(Keys::kAsQueries, {"B", "T"});
  const Value triangle = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  const Value padding = p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "1", "T"});
  p.Attend(p.Additive(p.And(triangle, padding), kLowest));
  EXPECT_EQ(p.Classified(), "causal + padding");
  EXPECT_THAT(p.text(), Not(HasSubstr("repeat_first_key")));
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, TriangleBesideColumnsOfTheirOwnLength) {
  // Of one column the first mask hides later keys still.
  MaskProgram p(Keys::kAsQueries, {"B", "T"});
  const Value triangle = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  const Value key = p.Reshape(p.Range("0", "T"), {"1", "T"});
  const Value padding = p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "1", "T"});
  p.Attend(p.Additive(triangle, -kInfinity),
           p.Additive(p.And(p.Make<ten::LessEqualOp>(key, p.Query()), padding), -kInfinity));
  EXPECT_THAT(p.Classified(), HasSubstr("a mask of length 1 would hide other keys"));
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, ColumnsOfATriangleAlone) {
  // No tensor of keys says how many columns there were.
  MaskProgram p(Keys::kAsQueries, {"B", "T"});
  const Value key = p.Reshape(p.Range("0", "T"), {"1", "T"});
  const Value triangle = p.Additive(p.Make<ten::LessEqualOp>(key, p.Query()), kLowest);
  p.Attend(p.Make<ten::SliceOp>(
      triangle, ten::SliceOp::Attrs{
                    .axes = {1}, .starts = p.Dims({"0"}), .ends = p.Dims({"S"}), .steps = {1}}));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, NumbersOfKeysThatMayBeOne) {
  // Narrowed, and split from a triangle.
  for (bool split : {false, true}) {
    MaskProgram p(Keys::kWithPast, {"B", "T"});
    const Value bias = p.Make<ten::MulOp>(p.Cast(p.am(), DType::kF32), p.Number(-1.5));
    Value mask = p.Reshape(bias, {"B", "1", "1", "T"});
    if (split) {
      const Value triangle = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
      mask = p.Make<ten::AddOp>(mask, p.Additive(triangle, kLowest));
    } else {
      mask = p.Expand(mask, {"B", "1", "S", "T"});
    }
    p.Attend(mask);
    EXPECT_THAT(p.Classified(), HasSubstr("values of keys"));
    EXPECT_THAT(p.text(), Not(HasSubstr("#core.dims<\"B\", 1, \"S\", \"T\">")));
    EXPECT_TRUE(p.accepts_one());
  }
}

// A part of the keys of the attention mask [B, T], as [B, 1, 1, `length`].
Value Window(MaskProgram& p, const std::string& start, const std::string& end,
             const std::string& length) {
  const Value part = p.Make<ten::SliceOp>(
      p.am(), ten::SliceOp::Attrs{
                  .axes = {1}, .starts = p.Dims({start}), .ends = p.Dims({end}), .steps = {1}});
  return p.Reshape(p.Cast(part, DType::kBool), {"B", "1", "1", length});
}

TEST(ClassifyMasks, FirstElementsOfAMaskThatMayBeOne) {
  MaskProgram p(Keys::kAsQueries, {"B", "T"});
  p.Attend(Window(p, "0", "S", "min(S, T)"));
  EXPECT_EQ(p.Classified(), "padding");
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, LastElementsOfAMaskThatMayBeOne) {
  MaskProgram p(Keys::kAsQueries, {"B", "T"});
  p.Attend(Window(p, "-S", "T", "min(S, T)"));
  EXPECT_EQ(p.Classified(), "padding");
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, BatchesThatMayBeOneBroadcast) {
  // No reshape counts the batches of the scores.
  MaskProgram p(Keys::kAsQueries, {"A", "T"});
  p.Attend(p.Reshape(p.Cast(p.am(), DType::kBool), {"A", "1", "1", "T"}));
  EXPECT_EQ(p.Classified(), "padding");
  EXPECT_TRUE(p.accepts_one());
  EXPECT_THAT(p.text(), Not(HasSubstr("#core.dims<\"B\", \"S\">")));
}

TEST(ClassifyMasks, BatchesThatDependOnThoseOfTheScoresBroadcast) {
  // One for all batches: of one symbol with those of the scores, and not equal to them.
  MaskProgram p(Keys::kAsQueries, {"(B + 3) floordiv 4", "S"});
  p.Attend(p.Reshape(p.Cast(p.am(), DType::kBool), {"(B + 3) floordiv 4", "1", "1", "S"}));
  EXPECT_EQ(p.Classified(), "padding");
}

TEST(ClassifyMasks, LengthsThatDependOnThoseOfTheScoresBroadcast) {
  // One for all keys.
  MaskProgram p(Keys::kWithPast, {"B", "(P + S + 7) floordiv 8"});
  const std::string own = "(P + S + 7) floordiv 8";
  p.Attend(p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "1", own}));
  EXPECT_EQ(p.Classified(), "padding");
}

TEST(ClassifyMasks, PaddingOfLengthOneBroadcasts) {
  for (Keys keys : {Keys::kAsQueries, Keys::kWithPast}) {
    for (bool causal : {false, true}) {
      MaskProgram p(keys, {"B", "T"});
      // 1 - am, as models write it: an operation on the leaf.
      const Value am = p.Reshape(p.Cast(p.am(), DType::kF32), {"B", "1", "1", "T"});
      const Value hidden = p.Make<ten::SubOp>(p.Number(1), am);
      Value mask = p.Additive(p.Make<ten::NotOp>(p.Cast(hidden, DType::kBool)), kLowest);
      if (causal) {
        const Value triangle = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
        mask = p.Make<ten::WhereOp>(triangle, mask, p.Number(kLowest));
      }
      p.Attend(mask);
      EXPECT_EQ(p.Classified(), causal ? "causal + padding" : "padding");
      EXPECT_TRUE(p.accepts_one());
    }
  }
}

TEST(ClassifyMasks, TermsThatShareTheirArgumentsAreWalkedOnce) {
  // A walk over all paths would take 2^60 steps.
  for (const char* length : {"S", "T"}) {
    MaskProgram p(Keys::kAsQueries, {"B", length});
    Value shared = p.Reshape(p.Cast(p.am(), DType::kF32), {"B", "1", "1", length});
    for (int i = 0; i < 60; ++i) shared = p.Make<ten::MulOp>(shared, shared);
    p.Attend(p.Make<ten::GreaterOp>(shared, p.Number(0.5)));
    EXPECT_EQ(p.Classified(), "padding");
    EXPECT_TRUE(p.accepts_one());
  }
}

TEST(ClassifyMasks, StartsThatMayBeNegativeCountFromTheEnd) {
  MaskProgram p(Keys::kAsQueries, {"B", "S"});
  const Value keys = p.Range("0", "S + 4");
  const Value last = p.Make<ten::SliceOp>(
      keys,
      ten::SliceOp::Attrs{
          .axes = {0}, .starts = p.Dims({"S - 4"}), .ends = p.Dims({"2 * S - 4"}), .steps = {1}});
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(last, p.Query()), kLowest));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
}

TEST(ClassifyMasks, BatchesAndLengthsThatMayDiffer) {
  // Neither axis of the attention mask is provably one of the scores, or both may be 1: attention
  // checks them.
  MaskProgram p(Keys::kWithPast, {"A", "T"});
  const Value causal =
      p.Make<ten::LessEqualOp>(p.Reshape(p.Range("0", "T"), {"1", "T"}), p.Query());
  const Value padding = p.Reshape(p.Cast(p.am(), DType::kBool), {"A", "1", "1", "T"});
  p.Attend(p.Additive(p.And(causal, padding), kLowest));
  EXPECT_EQ(p.Classified(), "causal + padding");
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, PositionsCountedFromTheEndOfTheMask) {
  // Queries are the last positions of an attention mask of length T, which is P + S or 1: then only
  // the last query sees any key.
  MaskProgram p(Keys::kWithPast, {"B", "T"});
  const Value query = p.Reshape(p.Range("T - S", "T"), {"S", "1"});
  const Value causal = p.Make<ten::LessEqualOp>(p.Reshape(p.Range("0", "T"), {"1", "T"}), query);
  const Value padding = p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "1", "T"});
  p.Attend(p.Additive(p.And(causal, padding), kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("keys are visible up to j = i + T - S"));
  EXPECT_TRUE(p.accepts_one());
}

TEST(ClassifyMasks, PositionsFromAnExtentThatNothingChecks) {
  MaskProgram p(Keys::kWithPast, {"B", "T"});
  const Value query = p.Reshape(p.Range("T - S", "T"), {"S", "1"});
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Key(), query), kLowest));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
}

}  // namespace
}  // namespace tenon
