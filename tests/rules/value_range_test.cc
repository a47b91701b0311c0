// What is provable of the numbers that a value holds.
#include "patterns/facts/value_range.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/core/block.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"

namespace tenon::pattern {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ValueRangeTest : public ::testing::Test {
 protected:
  ValueRangeTest() { RegisterAllDialects(context_); }

  // Of %r, a tensor<4x16xf32>, in a function of %x of that type.
  ValueRange Of(const std::string& body) {
    const std::string t = "tensor<4x16xf32>";
    auto module =
        ParseModule(context_, "func.func() <{function_type = (" + t + ") -> " + t +
                                  ", sym_name = \"f\"}> ({\n^bb0(%x: " + t + "):\n" + body +
                                  "  func.return(%r) : (" + t + ") -> ()\n}) : () -> ()\n");
    EXPECT_TRUE(module.ok()) << module.status();
    if (!module.ok()) return {};
    ValueRange range;
    (*module)->Walk([&](Operation* op) {
      if (op->name() == "func.return") range = ProvenRange(op->operand(0));
    });
    return range;
  }
  static std::string Unary(const std::string& result, const std::string& op,
                           const std::string& operand) {
    return "  " + result + " = " + op + "(" + operand +
           ") : (tensor<4x16xf32>) -> tensor<4x16xf32>\n";
  }
  static std::string Binary(const std::string& result, const std::string& op, const std::string& a,
                            const std::string& b) {
    return "  " + result + " = " + op + "(" + a + ", " + b +
           ") : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>\n";
  }
  static std::string Number(const std::string& result, const std::string& number) {
    return "  " + result + " = core.constant() <{value = dense<" + number +
           "> : tensor<4x16xf32>}> : () -> tensor<4x16xf32>\n";
  }

  Context context_;
};

TEST_F(ValueRangeTest, InputsHoldAnything) {
  const ValueRange x = Of(Unary("%r", "ten.neg", "%x"));
  EXPECT_EQ(x.low, -kInfinity);
  EXPECT_EQ(x.high, kInfinity);
  EXPECT_FALSE(Of(Binary("%r", "ten.add", "%x", "%x")).is_finite());
}

TEST_F(ValueRangeTest, BoundedFunctions) {
  const ValueRange tanh =
      Of(Unary("%t", "ten.tanh", "%x") + Number("%c", "3.0") + Binary("%r", "ten.mul", "%t", "%c"));
  EXPECT_EQ(tanh.low, -3);
  EXPECT_EQ(tanh.high, 3);
  const ValueRange relu = Of(Unary("%r", "ten.relu", "%x"));
  EXPECT_EQ(relu.low, 0);
  EXPECT_EQ(relu.high, kInfinity);
}

TEST_F(ValueRangeTest, OneEndIsKnownWhereTheOtherIsNot) {
  const ValueRange above = Of(Number("%c", "-0.5") + Binary("%r", "ten.max", "%x", "%c"));
  EXPECT_EQ(above.low, -0.5);
  EXPECT_EQ(above.high, kInfinity);
  const ValueRange between = Of(Number("%c", "-0.5") + Binary("%m", "ten.max", "%x", "%c") +
                                Number("%d", "0.25") + Binary("%r", "ten.min", "%m", "%d"));
  EXPECT_EQ(between.low, -0.5);
  EXPECT_EQ(between.high, 0.25);
  // A sum that overflows does so on the side that is not bounded.
  const ValueRange sum = Of(Number("%c", "-3.0e+38") + Binary("%m", "ten.max", "%x", "%c") +
                            Binary("%r", "ten.add", "%m", "%m"));
  EXPECT_EQ(sum.low, -kInfinity);
}

TEST_F(ValueRangeTest, SquaresAndTheirMeansAreNotNegative) {
  const ValueRange square = Of(Binary("%r", "ten.mul", "%x", "%x"));
  EXPECT_EQ(square.low, 0);
  // Two values may have two signs.
  EXPECT_EQ(Of(Unary("%n", "ten.neg", "%x") + Binary("%r", "ten.mul", "%x", "%n")).low, -kInfinity);
  const ValueRange positive = Of(Binary("%s", "ten.mul", "%x", "%x") + Number("%e", "1.0e-05") +
                                 Binary("%r", "ten.add", "%s", "%e"));
  EXPECT_GT(positive.low, 0);
}

TEST_F(ValueRangeTest, NormsAreBoundedWhateverTheyAreOf) {
  const ValueRange norm = Of(
      "  %r = nn.layer_norm(%x) <{axis = 1 : i64, epsilon = 1.0e-05 : f32, operandSegmentSizes = "
      "array<i32: 1, 0, 0>}> : (tensor<4x16xf32>) -> tensor<4x16xf32>\n");
  EXPECT_NEAR(norm.high, 4, 1e-3);
  EXPECT_NEAR(norm.low, -4, 1e-3);
}

// What is divided by its own length is at most 1, however the length is kept from zero.
TEST_F(ValueRangeTest, UnitVectorsAreBoundedWhateverTheyAreOf) {
  const std::string column = "tensor<4x1xf32>";
  const auto reduced = [&](const std::string& op, const std::string& of) {
    return "  %n = " + op + "(" + of +
           ") <{axes = array<i64: 1>, keepdims = true}> : " + "(tensor<4x16xf32>) -> " + column +
           "\n";
  };
  const auto column_op = [&](const std::string& result, const std::string& op,
                             const std::string& attrs = "") {
    return "  " + result + " = " + op + attrs + " : (" + column + ") -> " + column + "\n";
  };
  const std::string quotient =
      "  %r = ten.div(%x, %d) : (tensor<4x16xf32>, " + column + ") -> tensor<4x16xf32>\n";
  const std::string clip = column_op("%d", "ten.clip(%n)", " <{min = 1.0e-12 : f64}>");
  EXPECT_NEAR(Of(reduced("ten.reduce_l2", "%x") + clip + quotient).high, 1, 0.02);
  EXPECT_NEAR(Of(reduced("ten.reduce_l2", "%x") + clip +
                 "  %e = ten.expand(%d) <{shape = #core.dims<4, 16>}> : (" + column +
                 ") -> tensor<4x16xf32>\n" + Binary("%r", "ten.div", "%x", "%e"))
                  .low,
              -1, 0.02);
  const std::string root = Binary("%s", "ten.mul", "%x", "%x") + reduced("ten.reduce_sum", "%s") +
                           column_op("%d", "ten.sqrt(%n)");
  EXPECT_NEAR(Of(root + quotient).high, 1, 0.02);
  EXPECT_NEAR(
      Of(root + column_op("%i", "ten.reciprocal(%d)") +
         "  %r = ten.mul(%x, %i) : (tensor<4x16xf32>, " + column + ") -> tensor<4x16xf32>\n")
          .high,
      1, 0.02);
  // A length that is bounded above is not the length, and neither is that of something else.
  EXPECT_FALSE(Of(reduced("ten.reduce_l2", "%x") +
                  column_op("%d", "ten.clip(%n)", " <{min = 1.0e-12 : f64, max = 1.0 : f64}>") +
                  quotient)
                   .is_finite());
  EXPECT_FALSE(Of(Unary("%y", "ten.exp", "%x") + reduced("ten.reduce_l2", "%y") + clip + quotient)
                   .is_finite());
}

TEST_F(ValueRangeTest, ProductsAreBoundedByTheirFactors) {
  const std::string product =
      "  %r = ten.matmul(%t, %w) <{transpose_a = false, transpose_b = false}> : "
      "(tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>\n";
  const auto weights = [](const std::string& number) {
    return "  %w = core.constant() <{value = dense<" + number +
           "> : tensor<16x16xf32>}> : () -> tensor<16x16xf32>\n";
  };
  const ValueRange bounded = Of(Unary("%t", "ten.tanh", "%x") + weights("0.5") + product);
  EXPECT_EQ(bounded.high, 8);
  EXPECT_EQ(bounded.low, -8);
  // Not within the type.
  EXPECT_FALSE(Of(Unary("%t", "ten.tanh", "%x") + weights("1.0e+38") + product).is_finite());
  EXPECT_FALSE(Of(Unary("%t", "ten.neg", "%x") + weights("0.5") + product).is_finite());
}

TEST_F(ValueRangeTest, ConstantsWithInfinitiesAreUnbounded) {
  EXPECT_FALSE(Of(Number("%r", "0x7F800000")).is_finite());
  EXPECT_EQ(Of(Number("%r", "-2.5")).low, -2.5);
}

TEST_F(ValueRangeTest, DivisorsThatMayBeZero) {
  EXPECT_FALSE(
      Of(Number("%c", "1.0") + Unary("%t", "ten.relu", "%x") + Binary("%r", "ten.div", "%c", "%t"))
          .is_finite());
  const ValueRange quotient =
      Of(Unary("%t", "ten.tanh", "%x") + Number("%c", "4.0") + Binary("%r", "ten.div", "%t", "%c"));
  EXPECT_EQ(quotient.high, 0.25);
}

}  // namespace
}  // namespace tenon::pattern
