// Shape computations of exporters, evaluated symbolically.
#include "ir/dialect/shapes/shape_data.h"

#include <gtest/gtest.h>

#include <string>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/shapes/infer_helpers.h"

namespace tenon {
namespace {

class ShapeDataTest : public ::testing::Test {
 protected:
  ShapeDataTest() { RegisterAllDialects(context_); }

  // Elements of the first operand of the function's return.
  std::string Evaluate(const std::string& body) {
    const std::string generic =
        "\"func.func\"() <{function_type = (tensor<?x?x64xf32, [\"B\", \"S\", \"\"]>, tensor<i64>) "
        "-> (), "
        "sym_name = \"f\"}> ({\n^bb0(%x: tensor<?x?x64xf32, [\"B\", \"S\", \"\"]>, %i: "
        "tensor<i64>):\n" +
        body + "\n}) : () -> ()\n";
    ParseOptions options;
    options.verify = false;
    absl::StatusOr<OwnedOp> module = ParseModule(context_, generic, options);
    if (!module.ok()) return std::string(module.status().message());
    ShapeData data;
    std::string found = "no return";
    (*module)->WalkPreOrder([&](Operation* op) {
      data.Visit(*op);
      if (op->name() == "func.return") {
        const ShapeElements* e = data.Find(op->operand(0));
        found = e == nullptr ? "nothing" : DimsText(*e);
      }
      return true;
    });
    return found;
  }

  Context context_;
};

constexpr char kX[] = "(tensor<?x?x64xf32, [\"B\", \"S\", \"\"]>)";

// Shape(x) -> Gather(i), twice, -> Unsqueeze -> Concat with constants.
TEST_F(ShapeDataTest, GatheredDimensionsConcatenated) {
  EXPECT_EQ(Evaluate(std::string(R"(
    %s = "ten.shape"(%x) <{start = 0 : i64, end = 3 : i64}> : )") +
                     kX + R"( -> tensor<3xi64>
    %c0 = "core.constant"() <{value = dense<0> : tensor<i64>}> : () -> tensor<i64>
    %c1 = "core.constant"() <{value = dense<-2> : tensor<i64>}> : () -> tensor<i64>
    %d0 = "ten.gather"(%s, %c0) <{axis = 0 : i64}> : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %d1 = "ten.gather"(%s, %c1) <{axis = 0 : i64}> : (tensor<3xi64>, tensor<i64>) -> tensor<i64>
    %u0 = "ten.reshape"(%d0) <{shape = #core.dims<1>}> : (tensor<i64>) -> tensor<1xi64>
    %u1 = "ten.reshape"(%d1) <{shape = #core.dims<1>}> : (tensor<i64>) -> tensor<1xi64>
    %hd = "core.constant"() <{value = dense<[4, -1]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %r = "ten.concat"(%u0, %u1, %hd) <{axis = 0 : i64}> : (tensor<1xi64>, tensor<1xi64>, tensor<2xi64>) -> tensor<4xi64>
    "func.return"(%r) : (tensor<4xi64>) -> ()
  )"),
            "[B, S, 4, -1]");
}

// Expand with -1: Where(Equal(shape, -1), ones, shape), and the dynamo exporter's Abs.
TEST_F(ShapeDataTest, MinusOneIsNoExtent) {
  EXPECT_EQ(Evaluate(std::string(R"(
    %s = "ten.shape"(%x) <{start = 0 : i64, end = 2 : i64}> : )") +
                     kX + R"( -> tensor<2xi64>
    %m = "core.constant"() <{value = dense<-1> : tensor<1xi64>}> : () -> tensor<1xi64>
    %all = "ten.concat"(%s, %m) <{axis = 0 : i64}> : (tensor<2xi64>, tensor<1xi64>) -> tensor<3xi64>
    %n = "core.constant"() <{value = dense<3> : tensor<1xi64>}> : () -> tensor<1xi64>
    %one = "core.constant"() <{value = dense<1> : tensor<i64>}> : () -> tensor<i64>
    %ones = "ten.dynamic_expand"(%one, %n) : (tensor<i64>, tensor<1xi64>) -> tensor<3xi64>
    %neg = "core.constant"() <{value = dense<-1> : tensor<i64>}> : () -> tensor<i64>
    %minus = "ten.mul"(%ones, %neg) : (tensor<3xi64>, tensor<i64>) -> tensor<3xi64>
    %eq = "ten.equal"(%all, %minus) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    %w = "ten.where"(%eq, %ones, %all) : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %r = "ten.abs"(%w) : (tensor<3xi64>) -> tensor<3xi64>
    "func.return"(%r) : (tensor<3xi64>) -> ()
  )"),
            "[B, S, 1]");
}

TEST_F(ShapeDataTest, Arithmetic) {
  const std::string dims = R"(
    %d = "core.dims"() <{dims = #core.dims<"B", "S", 7>}> : () -> tensor<3xi64>
    %c = "core.constant"() <{value = dense<[2, 3, 2]> : tensor<3xi64>}> : () -> tensor<3xi64>
  )";
  const auto binary = [&](const std::string& op) {
    return Evaluate(dims + "%r = \"" + op +
                    "\"(%d, %c) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>\n" +
                    "\"func.return\"(%r) : (tensor<3xi64>) -> ()");
  };
  EXPECT_EQ(binary("ten.add"), "[B + 2, S + 3, 9]");
  EXPECT_EQ(binary("ten.sub"), "[B - 2, S - 3, 5]");
  EXPECT_EQ(binary("ten.mul"), "[2 * B, 3 * S, 14]");
  EXPECT_EQ(binary("ten.div"), "[B floordiv 2, S floordiv 3, 3]");
  EXPECT_EQ(binary("ten.mod"), "[B - 2 * (B floordiv 2), S - 3 * (S floordiv 3), 1]");
  EXPECT_EQ(binary("ten.max"), "[B - min(2, B) + 2, S - min(3, S) + 3, 7]");
  EXPECT_EQ(Evaluate(dims + R"(
    %n = "ten.neg"(%c) : (tensor<3xi64>) -> tensor<3xi64>
    %r = "ten.div"(%n, %c) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    "func.return"(%r) : (tensor<3xi64>) -> ())"),
            "[-1, -1, -1]");
  // A division of something that may be negative truncates, which floordiv does not.
  EXPECT_EQ(Evaluate(dims + R"(
    %n = "ten.sub"(%d, %c) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    %r = "ten.div"(%n, %c) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi64>
    "func.return"(%r) : (tensor<3xi64>) -> ())"),
            "[?, ?, 2]");
  EXPECT_EQ(Evaluate(dims + R"(
    %r = "ten.reduce_prod"(%d) <{axes = array<i64: 0>, keepdims = false}> : (tensor<3xi64>) -> tensor<i64>
    "func.return"(%r) : (tensor<i64>) -> ())"),
            "[7 * B * S]");
}

TEST_F(ShapeDataTest, ComparisonsAreDecidedOnlyWithProof) {
  EXPECT_EQ(Evaluate(R"(
    %d = "core.dims"() <{dims = #core.dims<"B", "S", 7>}> : () -> tensor<3xi64>
    %c = "core.constant"() <{value = dense<[-1, 3, 7]> : tensor<3xi64>}> : () -> tensor<3xi64>
    %r = "ten.greater"(%d, %c) : (tensor<3xi64>, tensor<3xi64>) -> tensor<3xi1>
    "func.return"(%r) : (tensor<3xi1>) -> ())"),
            "[1, ?, 0]");
}

TEST_F(ShapeDataTest, DataMovementOfAnyRank) {
  // Pads as PyTorch writes them: reshape to pairs, reverse, transpose, flatten.
  EXPECT_EQ(Evaluate(R"(
    %c = "core.constant"() <{value = dense<[1, 2, 3, 4, 0, 0]> : tensor<6xi64>}> : () -> tensor<6xi64>
    %p = "ten.reshape"(%c) <{shape = #core.dims<3, 2>}> : (tensor<6xi64>) -> tensor<3x2xi64>
    %v = "ten.slice"(%p) <{axes = array<i64: 0>, ends = #core.dims<-9223372036854775807>, starts = #core.dims<-1>, steps = array<i64: -1>}> : (tensor<3x2xi64>) -> tensor<3x2xi64>
    %t = "ten.transpose"(%v) <{perm = array<i64: 1, 0>}> : (tensor<3x2xi64>) -> tensor<2x3xi64>
    %r = "ten.reshape"(%t) <{shape = #core.dims<6>}> : (tensor<2x3xi64>) -> tensor<6xi64>
    "func.return"(%r) : (tensor<6xi64>) -> ())"),
            "[0, 3, 1, 0, 4, 2]");
}

TEST_F(ShapeDataTest, UnknownElementsStayApart) {
  EXPECT_EQ(Evaluate(R"(
    %d = "core.dims"() <{dims = #core.dims<"B">}> : () -> tensor<1xi64>
    %u = "ten.reshape"(%i) <{shape = #core.dims<1>}> : (tensor<i64>) -> tensor<1xi64>
    %r = "ten.concat"(%d, %u) <{axis = 0 : i64}> : (tensor<1xi64>, tensor<1xi64>) -> tensor<2xi64>
    "func.return"(%r) : (tensor<2xi64>) -> ())"),
            "[B, ?]");
  EXPECT_EQ(Evaluate("\"func.return\"(%i) : (tensor<i64>) -> ()"), "nothing");
}

TEST_F(ShapeDataTest, ZeroDivisorIsNoCrash) {
  EXPECT_EQ(Evaluate(R"(
    %d = "core.constant"() <{value = dense<[4, -9223372036854775808]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %c = "core.constant"() <{value = dense<[0, -1]> : tensor<2xi64>}> : () -> tensor<2xi64>
    %r = "ten.div"(%d, %c) : (tensor<2xi64>, tensor<2xi64>) -> tensor<2xi64>
    "func.return"(%r) : (tensor<2xi64>) -> ())"),
            "nothing");
}

TEST_F(ShapeDataTest, RangeExtents) {
  const auto extent = [&](const char* start, const char* limit, const char* delta) {
    return RangeExtent(*DimExpr::Parse(context_, start), *DimExpr::Parse(context_, limit),
                       *DimExpr::Parse(context_, delta))
        .text();
  };
  EXPECT_EQ(extent("0", "S", "1"), "S");
  EXPECT_EQ(extent("P", "P + S", "1"), "S");
  EXPECT_EQ(extent("0", "10", "3"), "4");
  EXPECT_EQ(extent("10", "0", "-3"), "4");
  EXPECT_EQ(extent("5", "0", "1"), "0");
  EXPECT_EQ(extent("1", "S", "1"), "S - min(1, S)");
  EXPECT_EQ(extent("0", "S", "D"), "?");
}

TEST_F(ShapeDataTest, NamesFollowTheModel) {
  const OpInfo* range = context_.FindOp("ten.range");
  ASSERT_NE(range, nullptr);
  OwnedOp module = CreateModule(context_);
  const Type i64 = Type::Tensor(context_, DType::kI64, std::span<const int64_t>());
  const Type inputs[] = {i64};
  Operation* f = CreateFunction(module.get(), "f", Type::Function(context_, inputs, {}));
  OpBuilder builder = OpBuilder::AtEnd(context_, &f->region().front());
  const Value x = f->region().front().argument(0);
  const Value operands[] = {x, x, x};
  const Location names[] = {Location::Name(context_, "/model/Range"),
                            Location::Name(context_, "/model/Add")};
  const auto make = [&](Location location) {
    return builder.CreateInferred(*range, location, operands, {}).value();
  };
  Operation* named = make(Location::Fused(context_, names));
  Operation* again = make(names[0]);
  Operation* nameless = make(Location());
  DimNamer namer(f);
  EXPECT_TRUE(namer.NameUnknownDims(named));
  EXPECT_TRUE(namer.NameUnknownDims(again));
  EXPECT_TRUE(namer.NameUnknownDims(nameless));
  EXPECT_FALSE(namer.NameUnknownDims(nameless));
  EXPECT_EQ(named->result().type().dim(0).symbol(), "/model/Range.d0");
  EXPECT_EQ(again->result().type().dim(0).symbol(), "/model/Range.d0_2");
  EXPECT_EQ(nameless->result().type().dim(0).symbol(), "ten.range_0.d0");
}

}  // namespace
}  // namespace tenon
