// Which masks become flags, and which must not: near misses stay masks.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "tests/transforms/mask_program.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Keys = MaskProgram::Keys;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// ---- positions

TEST(ClassifyMasks, Causal) {
  for (Keys keys : {Keys::kAsQueries, Keys::kWithPast}) {
    MaskProgram p(keys);
    p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Key(), p.Query()), kLowest));
    EXPECT_EQ(p.Classified(), "causal");
    EXPECT_THAT(p.text(), HasSubstr("causal = true"));
  }
}

TEST(ClassifyMasks, CausalSpelledWithABoolMask) {
  MaskProgram p;
  p.Attend(p.Make<ten::NotOp>(p.Make<ten::GreaterOp>(p.Key(), p.Query())));
  EXPECT_EQ(p.Classified(), "causal");
}

TEST(ClassifyMasks, CausalByTrilu) {
  MaskProgram p;
  const Value full = p.Expand(p.Number(kLowest), {"S", "S"});
  p.Attend(p.Make<ten::TriluOp>(full, ten::TriluOp::Attrs{.upper = true, .diagonal = 1}));
  EXPECT_EQ(p.Classified(), "causal");
}

TEST(ClassifyMasks, TriluWithTheDiagonalIsNotCausal) {
  MaskProgram p;
  const Value full = p.Expand(p.Number(kLowest), {"S", "S"});
  p.Attend(p.Make<ten::TriluOp>(full, ten::TriluOp::Attrs{.upper = true, .diagonal = 0}));
  EXPECT_THAT(p.Classified(), HasSubstr("keys are visible up to j = i + -1"));
}

// The causal buffer of GPT-2: a table of which a corner is read.
Value TableMask(MaskProgram& p) {
  std::vector<double> values;
  for (int i = 0; i < 16 * 16; ++i) values.push_back(i % 16 <= i / 16 ? 1 : 0);
  const Value table = p.Table(DType::kU8, {1, 1, 16, 16}, values);
  const Value corner =
      p.Make<ten::SliceOp>(table, ten::SliceOp::Attrs{.axes = {2, 3},
                                                      .starts = p.Dims({"P", "0"}),
                                                      .ends = p.Dims({"P + S", "P + S"}),
                                                      .steps = {1, 1}});
  return p.Additive(p.Cast(corner, DType::kBool), -10000);
}

TEST(ClassifyMasks, TableWithPast) {
  MaskProgram p(Keys::kWithPast);
  // A window of the table that leaves it would be one row that broadcasts.
  p.Attend(p.Make<ten::AddOp>(TableMask(p), p.Additive(p.Padding(), -kInfinity)));
  EXPECT_THAT(p.Classified(), StartsWith("padding + general: "));
}

TEST(ClassifyMasks, SquareTable) {
  for (int64_t wrong : {-1, 3, 17, 255}) {
    std::vector<double> values;
    for (int i = 0; i < 16 * 16; ++i) values.push_back(i % 16 <= i / 16 ? 1 : 0);
    if (wrong >= 0) values[wrong] = 1 - values[wrong];
    MaskProgram p;
    const Value corner = p.Make<ten::SliceOp>(p.Table(DType::kU8, {1, 1, 16, 16}, values),
                                              ten::SliceOp::Attrs{.axes = {2, 3},
                                                                  .starts = p.Dims({"0", "0"}),
                                                                  .ends = p.Dims({"S", "S"}),
                                                                  .steps = {1, 1}});
    p.Attend(p.Additive(p.Cast(corner, DType::kBool), kLowest));
    if (wrong < 0) {
      EXPECT_EQ(p.Classified(), "causal");
    } else {
      EXPECT_THAT(p.Classified(), HasSubstr("core.constant is not a function of one key"));
    }
  }
}

TEST(ClassifyMasks, PastBesideATriangle) {
  MaskProgram p(Keys::kWithPast);
  const Value key = p.Reshape(p.Range("0", "S"), {"1", "S"});
  const Value query = p.Reshape(p.Range("0", "S"), {"S", "1"});
  const Value triangle = p.Additive(p.Make<ten::LessEqualOp>(key, query), kLowest);
  const Value parts[] = {p.Expand(p.Number(0), {"S", "P"}), triangle};
  p.Attend(p.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 1}));
  EXPECT_EQ(p.Classified(), "causal");
}

TEST(ClassifyMasks, OneKeyTooFewOrTooMany) {
  {
    MaskProgram p;
    p.Attend(p.Additive(p.Make<ten::LessOp>(p.Key(), p.Query()), kLowest));
    EXPECT_THAT(p.Classified(), HasSubstr("keys are visible up to j = i + -1"));
  }
  {
    MaskProgram p;
    const Value next = p.Make<ten::AddOp>(p.Query(), p.Number(1, DType::kI64));
    p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Key(), next), kLowest));
    EXPECT_THAT(p.Classified(), HasSubstr("keys are visible up to j = i + 1"));
  }
}

TEST(ClassifyMasks, PositionsThatForgetThePast) {
  MaskProgram p(Keys::kWithPast);
  const Value query = p.Reshape(p.Range("0", "S"), {"S", "1"});
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Key(), query), kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("up to j = i + 0, not up to i + keys - queries (i + P)"));
}

TEST(ClassifyMasks, Transposed) {
  MaskProgram p;
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Query(), p.Key()), kLowest));
  EXPECT_EQ(p.Classified(), "window without causality");
  EXPECT_THAT(p.text(), HasSubstr("causal = false"));
  EXPECT_THAT(p.text(), HasSubstr("window = 1"));
}

TEST(ClassifyMasks, ScaledPositions) {
  MaskProgram p;
  const Value twice = p.Make<ten::MulOp>(p.Query(), p.Number(2, DType::kI64));
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(p.Key(), twice), kLowest));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
}

// ---- windows

Value InWindow(MaskProgram& p, int64_t size) {
  const Value distance = p.Make<ten::SubOp>(p.Query(), p.Key());
  return p.Make<ten::LessOp>(distance, p.Number(static_cast<double>(size), DType::kI64));
}

TEST(ClassifyMasks, Window) {
  for (Keys keys : {Keys::kAsQueries, Keys::kWithPast}) {
    MaskProgram p(keys);
    const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
    p.Attend(p.Additive(p.And(causal, InWindow(p, 3)), kLowest));
    EXPECT_EQ(p.Classified(), "window");
    EXPECT_THAT(p.text(), HasSubstr("window = 3"));
  }
}

TEST(ClassifyMasks, WindowAndPadding) {
  MaskProgram p(Keys::kWithPast);
  const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  p.Attend(p.Additive(p.And(p.And(causal, InWindow(p, 2)), p.Padding()), -kInfinity), Value(),
           true);
  EXPECT_EQ(p.Classified(), "window + padding");
}

TEST(ClassifyMasks, WindowToTheFuture) {
  MaskProgram p;
  const Value distance = p.Make<ten::SubOp>(p.Key(), p.Query());
  const Value near = p.Make<ten::LessOp>(distance, p.Number(3, DType::kI64));
  const Value ahead = p.Make<ten::GreaterEqualOp>(distance, p.Number(0, DType::kI64));
  p.Attend(p.Additive(p.And(near, ahead), kLowest));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
}

TEST(ClassifyMasks, WindowToBothSides) {
  MaskProgram p;
  const Value distance = p.Make<ten::AbsOp>(p.Make<ten::SubOp>(p.Key(), p.Query()));
  p.Attend(p.Additive(p.Make<ten::LessEqualOp>(distance, p.Number(2, DType::kI64)), kLowest));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
}

TEST(ClassifyMasks, WindowOfNoKeys) {
  MaskProgram p;
  const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  p.Attend(p.Additive(p.And(causal, InWindow(p, 0)), kLowest));
  EXPECT_EQ(p.Classified(), "padding");  // by a key mask that is false
}

TEST(ClassifyMasks, Blocks) {
  MaskProgram p;
  const Value four = p.Number(4, DType::kI64);
  p.Attend(p.Additive(
      p.Make<ten::EqualOp>(p.Make<ten::DivOp>(p.Query(), four), p.Make<ten::DivOp>(p.Key(), four)),
      kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("is not a function of one key"));
}

// ---- padding

TEST(ClassifyMasks, Padding) {
  MaskProgram p;
  p.Attend(p.Additive(p.Expand(p.Padding(), {"B", "2", "S", "S"}), kLowest));
  EXPECT_EQ(p.Classified(), "padding");
}

TEST(ClassifyMasks, PaddingByOneMinusMask) {
  // where(1 - mask != 0, lowest, 1 - mask), as attention masks are converted.
  MaskProgram p;
  const Value am = p.Cast(p.Reshape(p.am(), {"B", "1", "1", "S"}), DType::kF32);
  const Value inverted = p.Make<ten::SubOp>(p.Number(1), am);
  p.Attend(p.Make<ten::WhereOp>(p.Cast(inverted, DType::kBool), p.Number(kLowest), inverted));
  EXPECT_EQ(p.Classified(), "padding");
}

TEST(ClassifyMasks, NumbersOfKeysStay) {
  MaskProgram p;
  const Value am = p.Cast(p.Reshape(p.am(), {"B", "1", "1", "S"}), DType::kF32);
  const Value wide = p.Expand(am, {"B", "1", "S", "S"});
  p.Attend(p.Make<ten::MulOp>(p.Make<ten::SubOp>(p.Number(1), wide), p.Number(-10000)));
  EXPECT_EQ(p.Classified(), "values of keys: mask of ten.mul: ten.mul may be any number");
  // … with as few elements as they depend on.
  EXPECT_THAT(p.text(), HasSubstr("-> tensor<?x1x1x?xf32, [\"B\", \"\", \"\", \"S\"]>"));
  EXPECT_THAT(p.text(), Not(HasSubstr("[\"B\", \"\", \"S\", \"S\"]")));
}

TEST(ClassifyMasks, PaddingOfAnotherAxisOrder) {
  MaskProgram p(Keys::kAsQueries, {"S", "B"});
  const Value turned = p.Make<ten::TransposeOp>(p.am(), ten::TransposeOp::Attrs{.perm = {1, 0}});
  p.Attend(p.Additive(p.Reshape(p.Cast(turned, DType::kBool), {"B", "1", "1", "S"}), kLowest));
  EXPECT_EQ(p.Classified(), "padding");
}

TEST(ClassifyMasks, PaddingOfQueries) {
  MaskProgram p;
  p.Attend(p.Additive(p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "S", "1"}), kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("argument 5 is not a function of one key"));
}

TEST(ClassifyMasks, PaddingOfQueriesAndKeys) {
  MaskProgram p;
  const Value queries = p.Reshape(p.Cast(p.am(), DType::kBool), {"B", "1", "S", "1"});
  p.Attend(p.Additive(p.And(p.Padding(), queries), kLowest));
  EXPECT_THAT(p.Classified(), StartsWith("general: "));
}

TEST(ClassifyMasks, Segments) {
  // Packed sequences: a key is visible to queries of its own sequence.
  MaskProgram p;
  const Value sums = p.Make<ten::CumsumOp>(p.am(), ten::CumsumOp::Attrs{.axis = 1});
  p.Attend(p.Additive(p.Make<ten::EqualOp>(p.Reshape(sums, {"B", "1", "1", "S"}),
                                           p.Reshape(sums, {"B", "1", "S", "1"})),
                      kLowest));
  EXPECT_THAT(p.Classified(), HasSubstr("ten.equal is not a function of one key"));
}

TEST(ClassifyMasks, SumsOfKeys) {
  MaskProgram p;
  const Value sums = p.Make<ten::CumsumOp>(p.am(), ten::CumsumOp::Attrs{.axis = 1});
  p.Attend(p.Additive(
      p.Make<ten::GreaterOp>(p.Reshape(sums, {"B", "1", "1", "S"}), p.Number(1, DType::kI64)),
      kLowest));
  EXPECT_EQ(p.Classified(), "padding");
}

TEST(ClassifyMasks, PaddingWithPastThatIsVisible) {
  MaskProgram p(Keys::kWithPast, {"B", "S"});
  const Value past = p.Expand(p.Number(1, DType::kBool), {"B", "P"});
  const Value parts[] = {past, p.Cast(p.am(), DType::kBool)};
  const Value all = p.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 1});
  p.Attend(p.Additive(p.Reshape(all, {"B", "1", "1", "P + S"}), kLowest));
  EXPECT_EQ(p.Classified(), "padding");
}

// ---- gathers and scatters of whole slices

Value GatheredPadding(MaskProgram& p) {
  // am[b, j] with index tensors, as functions over b and j become.
  const std::vector<std::string> dims = {"B", "1", "1", p.keys(), "1"};
  const auto index = [&](Value range, const std::vector<std::string>& shape) {
    return p.Reshape(p.Expand(p.Reshape(range, shape), {"B", "1", "1", p.keys()}), dims);
  };
  const Value parts[] = {index(p.Range("0", "B"), {"B", "1", "1", "1"}),
                         index(p.Range("0", p.keys()), {"1", "1", "1", p.keys()})};
  const Value tuples = p.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 4});
  return p.Make<ten::GatherNdOp>(p.Cast(p.am(), DType::kBool), tuples);
}

TEST(ClassifyMasks, GatheredPadding) {
  for (Keys keys : {Keys::kAsQueries, Keys::kWithPast}) {
    MaskProgram p(keys);
    const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
    p.Attend(p.Additive(p.And(causal, GatheredPadding(p)), kLowest));
    EXPECT_EQ(p.Classified(), "causal + padding");
    EXPECT_THAT(p.text(), Not(HasSubstr("gather")));
  }
}

Value FlatPadding(MaskProgram& p, const std::string& row) {
  const Value flat = p.Reshape(p.Cast(p.am(), DType::kBool), {"B * S", "1"});
  const Value rows =
      p.Make<ten::MulOp>(p.Reshape(p.Range("0", "B"), {"B", "1", "1", "1"}), p.Extent(row));
  const Value at = p.Make<ten::AddOp>(p.Reshape(p.Range("0", "S"), {"1", "1", "1", "S"}), rows);
  return p.Reshape(p.Make<ten::GatherOp>(flat, at, ten::GatherOp::Attrs{.axis = 0}),
                   {"B", "1", "1", "S"});
}

TEST(ClassifyMasks, PaddingGatheredFromFlatMask) {
  MaskProgram p;
  p.Attend(p.Additive(FlatPadding(p, "S"), kLowest));
  EXPECT_EQ(p.Classified(), "padding");
  EXPECT_THAT(p.text(), Not(HasSubstr("gather")));
}

TEST(ClassifyMasks, RowsOfAnotherLengthAreGathered) {
  MaskProgram p;
  p.Attend(p.Additive(FlatPadding(p, "1"), kLowest));
  EXPECT_EQ(p.Classified(), "padding");  // of one key, but not of am[b, j]
  EXPECT_THAT(p.text(), HasSubstr("gather"));
}

// mask[:, :, :, start:start + count] = causal, written by index tuples; the rest is visible.
Value ScatteredCausal(MaskProgram& p, const std::string& start, const std::string& count) {
  const Value zeros = p.Expand(p.Number(0), {"1", "1", "S", "S"});
  const std::string end = count == "S" ? "S" : start + " + " + count;
  const Value columns = p.Reshape(p.Range(start, end), {"1", count});
  const Value causal = p.Additive(p.Make<ten::LessEqualOp>(columns, p.Query()), kLowest);
  const std::vector<std::string> dims = {"1", "1", "S", count, "1"};
  const auto index = [&](Value range, const std::vector<std::string>& shape) {
    return p.Reshape(p.Expand(p.Reshape(range, shape), {"1", "1", "S", count}), dims);
  };
  const Value zero = p.Table(DType::kI64, {1}, {0});
  const Value parts[] = {index(zero, {"1"}), index(zero, {"1"}),
                         index(p.Range("0", "S"), {"S", "1"}),
                         index(p.Range(start, end), {"1", count})};
  const Value tuples = p.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 4});
  return p.Make<ten::ScatterNdOp>(zeros, tuples, p.Reshape(causal, {"1", "1", "S", count}));
}

TEST(ClassifyMasks, ScatteredCausal) {
  MaskProgram p;
  p.Attend(ScatteredCausal(p, "0", "S"));
  EXPECT_EQ(p.Classified(), "causal");
}

TEST(ClassifyMasks, ScatteredToSomeColumns) {
  MaskProgram p;
  p.Attend(ScatteredCausal(p, "0", "1"));
  EXPECT_EQ(p.Classified(), "none");  // column 0 is visible to every query
}

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
  EXPECT_THAT(p.Classified(), HasSubstr("no conjunction"));
}

TEST(ClassifyMasks, HiddenInTwoWays) {
  MaskProgram p;
  const Value causal = p.Make<ten::LessEqualOp>(p.Key(), p.Query());
  p.Attend(p.Make<ten::WhereOp>(causal, p.Additive(p.Padding(), -1e9), p.Number(-1e4)));
  EXPECT_THAT(p.Classified(), HasSubstr("by the way they are hidden"));
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
  EXPECT_EQ(p.Classified(),
            "causal + values of keys: keys are hidden by -3.4028235e+38 otherwise, too");
  EXPECT_THAT(p.text(), Not(HasSubstr("[\"B\", \"\", \"S\", \"S\"]")));
}

// ---- extents

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
  EXPECT_THAT(p.text(), HasSubstr("repeat_first_key = false"));
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
  EXPECT_THAT(p.Classified(), HasSubstr("other keys than those that are hidden by position"));
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

// ---- anything

// A boolean function of positions and keys, put together at random.
Value RandomMask(MaskProgram& p, std::mt19937& random, int depth) {
  const auto below = [&](uint32_t n) { return static_cast<int>(random() % n); };
  if (depth > 0) {
    switch (below(4)) {
      case 0:
      case 1:
        return p.And(RandomMask(p, random, depth - 1), RandomMask(p, random, depth - 1));
      case 2:
        return p.Make<ten::OrOp>(RandomMask(p, random, depth - 1),
                                 RandomMask(p, random, depth - 1));
      default:
        return p.Make<ten::NotOp>(RandomMask(p, random, depth - 1));
    }
  }
  if (below(3) == 0) return p.Padding();
  if (below(8) == 0) return p.Reshape(p.Padding(), {"B", "1", "S", "1"});
  const Value key = p.Make<ten::AddOp>(p.Key(), p.Number(below(5) - 2, DType::kI64));
  const Value other = below(4) == 0 ? p.Number(below(4), DType::kI64) : p.Query();
  switch (below(5)) {
    case 0:
      return p.Make<ten::LessOp>(key, other);
    case 1:
      return p.Make<ten::GreaterOp>(key, other);
    case 2:
      return p.Make<ten::GreaterEqualOp>(key, other);
    case 3:
      return p.Make<ten::EqualOp>(key, other);
    default:
      return p.Make<ten::LessEqualOp>(key, other);
  }
}

TEST(ClassifyMasks, RandomMasksKeepTheirResults) {
  std::mt19937 random(11);
  int flags = 0;
  for (int i = 0; i < 400; ++i) {
    MaskProgram p;
    const double values[] = {kLowest, -10000, -kInfinity, -2};
    Value mask = RandomMask(p, random, static_cast<int>(random() % 4));
    if (random() % 4 != 0) mask = p.Additive(mask, values[random() % 4]);
    if (random() % 3 == 0 && mask.type().dtype() == DType::kF32) {
      const Value more = p.Additive(RandomMask(p, random, 1), values[random() % 4]);
      mask = random() % 2 == 0 ? p.Make<ten::AddOp>(mask, more) : p.Make<ten::MinOp>(mask, more);
    }
    p.Attend(mask, Value(), random() % 2 == 0);
    const std::string found = p.Classified();
    if (HasFailure()) FAIL() << "mask " << i << ": " << found;
    flags += found.find("general") == std::string::npos;
  }
  EXPECT_GT(flags, 100);
}

}  // namespace
}  // namespace tenon
