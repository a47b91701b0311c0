#include "ir/core/type.h"

#include <gtest/gtest.h>

#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"

namespace tenon {
namespace {

TEST(TypeTest, EqualTypesAreOne) {
  Context context;
  int64_t dims[] = {2, 3};
  EXPECT_EQ(Type::Tensor(context, DType::kF32, std::span<const int64_t>(dims)),
            Type::Tensor(context, DType::kF32, std::span<const int64_t>(dims)));
  EXPECT_NE(Type::Tensor(context, DType::kF32, std::span<const int64_t>(dims)),
            Type::Tensor(context, DType::kF16, std::span<const int64_t>(dims)));
  EXPECT_NE(Type::Index(context), Type::None(context));
  DimExpr symbolic[] = {DimExpr::Symbol(context, "B"), DimExpr::Constant(context, 3)};
  DimExpr other[] = {DimExpr::Symbol(context, "N"), DimExpr::Constant(context, 3)};
  EXPECT_NE(Type::Tensor(context, DType::kF32, symbolic),
            Type::Tensor(context, DType::kF32, other));
  EXPECT_EQ(Type::Tensor(context, DType::kF32, symbolic),
            Type::Tensor(context, DType::kF32, symbolic));
  Context elsewhere;
  EXPECT_NE(Type::Index(context), Type::Index(elsewhere));
}

TEST(TypeTest, FunctionsAreToldApartByTheArrow) {
  Context context;
  Type f32 = Type::Scalar(context, DType::kF32);
  Type one[] = {f32};
  Type two[] = {f32, f32};
  EXPECT_NE(Type::Function(context, one, two), Type::Function(context, two, one));
  EXPECT_NE(Type::Tuple(context, one), Type::Tuple(context, two));
  EXPECT_EQ(Type::Function(context, {}, {}).text(), "() -> ()");
}

TEST(TypeTest, CountsElements) {
  Context context;
  auto count = [&](std::vector<int64_t> dims) {
    return Type::Tensor(context, DType::kI8, std::span<const int64_t>(dims)).num_elements();
  };
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({2, 3}), 6);
  EXPECT_EQ(count({2, 0, 3}), 0);
  EXPECT_EQ(count({int64_t{1} << 40, int64_t{1} << 40}), -1);
  EXPECT_EQ(count({int64_t{1} << 40, int64_t{1} << 40, 0}), 0);
  DimExpr dims[] = {DimExpr::Symbol(context, "B")};
  Type symbolic = Type::Tensor(context, DType::kI8, dims);
  EXPECT_FALSE(symbolic.is_static());
  EXPECT_EQ(symbolic.num_elements(), -1);
}

TEST(TypeTest, DimCountsFromBothEnds) {
  Context context;
  int64_t dims[] = {2, 3};
  Type type = Type::Tensor(context, DType::kF32, std::span<const int64_t>(dims));
  EXPECT_TRUE(type.dim(-1).is_constant(3));
  EXPECT_TRUE(type.dim(0).is_constant(2));
  EXPECT_EQ(type.rank(), 2);
}

TEST(TypeTest, TextReadsBack) {
  Context context;
  context.set_allow_unregistered_dialects(true);
  for (const char* text :
       {"f32", "bf16", "i1", "ui64", "index", "none", "tensor<f32>", "tensor<2x0xi1>",
        "tensor<?x?xf16>", "tensor<*xf64>", "tensor<?x4xf32, [\"B\", \"\"]>",
        "tensor<?x?xf32, [\"?\", \"2 * S + 1\"]>", "tensor<?xi64, [\"`a b`\"]>",
        "(f32, i1) -> (f32, index)", "() -> (() -> ())", "tuple<f32, tuple<>>", "!onnx.any",
        "!onnx.seq<\"a>b\", (i32) -> i32>"}) {
    absl::StatusOr<Type> type = ParseType(context, text);
    ASSERT_TRUE(type.ok()) << text << ": " << type.status();
    EXPECT_EQ(type->text(), text);
  }
}

TEST(TypeTest, WithDimsAndDtype) {
  Context context;
  Type type = *ParseType(context, "tensor<?x4xf32, [\"B\", \"\"]>");
  EXPECT_EQ(WithDType(type, DType::kBool).text(), "tensor<?x4xi1, [\"B\", \"\"]>");
  DimExpr dims[] = {DimExpr::Constant(context, 5)};
  EXPECT_EQ(WithDims(type, dims).text(), "tensor<5xf32>");
  EXPECT_EQ(WithDType(Type::Unranked(context, DType::kF32), DType::kF16).text(), "tensor<*xf16>");
}

}  // namespace
}  // namespace tenon
