// Which masks become conditions on keys, and which must not.
#include <gmock/gmock.h>

#include "tests/transforms/mask_program.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Keys = MaskProgram::Keys;

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

}  // namespace
}  // namespace tenon
