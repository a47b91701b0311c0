#include "ir/core/builder.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

TEST(BuilderTest, InfersTheResultType) {
  test::TestIr ir;
  Value x = ir.Add(ir.body, "t.source", {}, {ir.tensor({2, 3})})->result();
  OpBuilder builder = OpBuilder::AtEnd(ir.context, ir.body);
  const Value operands[] = {x, x};
  auto op = builder.CreateInferred(*ir.context.FindOp("t.binary"), Location(), operands, {});
  ASSERT_TRUE(op.ok()) << op.status();
  EXPECT_EQ((*op)->result().type(), x.type());
  EXPECT_EQ(ir.body->back(), *op);
}

TEST(BuilderTest, RefusesMissingOperands) {
  test::TestIr ir;
  Value x = ir.Add(ir.body, "t.source", {}, {ir.tensor({2, 3})})->result();
  OpBuilder builder = OpBuilder::AtEnd(ir.context, ir.body);
  const OpInfo& info = *ir.context.FindOp("t.binary");
  const Value with_null[] = {x, Value()};
  auto op = builder.CreateInferred(info, Location(), with_null, {});
  ASSERT_FALSE(op.ok());
  EXPECT_THAT(std::string(op.status().message()), HasSubstr("t.binary: operand 'b' is null"));
  op = builder.CreateInferred(info, Location(), std::span<const Value>(&x, 1), {});
  ASSERT_FALSE(op.ok());
  EXPECT_THAT(std::string(op.status().message()), HasSubstr("1 operands do not fit"));
  EXPECT_EQ(ir.body->back(), x.defining_op());
}

TEST(BuilderTest, FindsEveryOpOfALargeDialect) {
  Context context;
  Dialect dialect{"many", "", {}};
  for (int i = 0; i < 1000; ++i) {
    OpDef def;
    def.name = "many.op" + std::to_string(i);
    dialect.ops.push_back(std::move(def));
  }
  ASSERT_TRUE(context.RegisterDialect(std::move(dialect)).ok());
  for (int i = 0; i < 1000; ++i) {
    std::string name = "many.op" + std::to_string(i);
    const OpInfo* info = context.FindOp(HashOpName(name));
    ASSERT_NE(info, nullptr) << name;
    EXPECT_EQ(info->name(), name);
  }
  EXPECT_EQ(context.FindOp(HashOpName("many.op1000")), nullptr);
  Dialect again{"many2", "", {}};
  EXPECT_TRUE(context.RegisterDialect(std::move(again)).ok());
}

}  // namespace
}  // namespace tenon
