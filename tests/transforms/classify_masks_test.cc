// Which masks become flags of positions and windows, and which must not: near misses stay masks.
#include <gmock/gmock.h>

#include <limits>
#include <random>

#include "tests/sanitizers.h"
#include "tests/transforms/mask_program.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using Keys = MaskProgram::Keys;

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
  EXPECT_THAT(p.text(), ::testing::Not(HasSubstr("causal =")));
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

constexpr int kAllMasks = 400;
constexpr int kMasks = kUnderSanitizers ? 20 : kAllMasks;

TEST(ClassifyMasks, AllRandomMasksAreRun) {
  if (kMasks < kAllMasks)
    GTEST_SKIP() << kMasks << " of " << kAllMasks
                 << " random masks: builds without sanitizers run the others, which are like them";
}

TEST(ClassifyMasks, RandomMasksKeepTheirResults) {
  std::mt19937 random(11);
  int flags = 0;
  for (int i = 0; i < kMasks; ++i) {
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
  EXPECT_GT(flags, kMasks / 4);
}

}  // namespace
}  // namespace tenon
