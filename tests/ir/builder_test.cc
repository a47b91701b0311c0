#include "ir/core/builder.h"

#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
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

std::vector<std::string> Names(const Block& block) {
  std::vector<std::string> names;
  for (const Operation& op : block) names.emplace_back(op.name());
  return names;
}

TEST(BuilderTest, OpsAreInsertedInTheOrderTheyAreMade) {
  test::TestIr ir;
  OpBuilder builder = OpBuilder::AtStart(ir.context, ir.body);
  builder.Insert(ir.Make("x.b", {}, {}));  // the block was empty: this is its end
  builder.SetInsertionPointToStart(ir.body);
  builder.Insert(ir.Make("x.a1", {}, {}));
  builder.Insert(ir.Make("x.a2", {}, {}));
  builder.SetInsertionPointAfter(ir.body->back());
  builder.Insert(ir.Make("x.c1", {}, {}));
  builder.Insert(ir.Make("x.c2", {}, {}));
  EXPECT_THAT(Names(*ir.body), ElementsAre("x.a1", "x.a2", "x.b", "x.c1", "x.c2"));
}

// The point is before an op: it goes where that one goes, and not with the one it was put after.
TEST(BuilderTest, TheInsertionPointFollowsTheOpItIsBefore) {
  test::TestIr ir;
  Operation* a = ir.Add(ir.body, "x.a", {}, {});
  Operation* b = ir.Add(ir.body, "x.b", {}, {});
  Operation* region = ir.Add(ir.body, "t.region", {}, {}, 1);
  Block* inner = region->region().AddBlock();
  ir.Add(inner, "t.end", {}, {});
  OpBuilder builder = OpBuilder::After(a);
  a->MoveAfter(b);
  builder.Insert(ir.Make("x.one", {}, {}));
  EXPECT_THAT(Names(*ir.body), ElementsAre("x.one", "x.b", "x.a", "t.region"));
  b->MoveBefore(inner->front());
  EXPECT_EQ(builder.block(), inner);
  builder.Insert(ir.Make("x.two", {}, {}));
  EXPECT_THAT(Names(*inner), ElementsAre("x.two", "x.b", "t.end"));
  EXPECT_THAT(Names(*ir.body), ElementsAre("x.one", "x.a", "t.region"));
}

TEST(BuilderTest, WithoutAPointOpsAreDetached) {
  test::TestIr ir;
  Operation* detached = ir.Make("x.a", {}, {});
  OpBuilder builder = OpBuilder::Before(detached);
  EXPECT_EQ(builder.block(), nullptr);
  Operation* op = builder.Insert(ir.Make("x.b", {}, {}));
  EXPECT_EQ(op->block(), nullptr);
  op->Destroy();
  detached->Destroy();
}

// A wrong definition is an error, and nothing of its dialect is there afterwards.
TEST(BuilderTest, WrongDefinitionsAreErrors) {
  Context context;
  const TypeConstraint any{.any = true, .description = "any type"};
  const auto add = [&](const std::function<void(Dialect&)>& change) {
    OpDef good, second;
    good.name = "w.good";
    second.name = "w.second";
    second.attrs = {{"a", AttrType::kI64, true, "", {}}, {"b", AttrType::kI64, true, "", {}}};
    Dialect dialect{"w", "", {good, second}};
    change(dialect);
    const absl::Status status = context.RegisterDialect(std::move(dialect));
    EXPECT_EQ(status.ok(), context.HasDialect("w"));
    EXPECT_EQ(status.ok(), context.FindOp("w.good") != nullptr);
    return std::string(status.message());
  };
  EXPECT_THAT(add([](Dialect& d) { std::swap(d.ops[1].attrs[0], d.ops[1].attrs[1]); }),
              HasSubstr("attributes 'b' and 'a' of 'w.second' are not sorted by name"));
  EXPECT_THAT(add([](Dialect& d) { d.ops[1].attrs[1].default_text = "1 : i65"; }),
              HasSubstr("the default of attribute 'b' of 'w.second' cannot be read: 1 : i65"));
  EXPECT_THAT(add([](Dialect& d) { d.ops[1].attrs[1].default_text = "true"; }),
              HasSubstr("default of op 'w.second'"));
  EXPECT_THAT(add([](Dialect& d) { d.ops[1].name = "w.good"; }),
              HasSubstr("op 'w.good' has the same name or hash as 'w.good'"));
  EXPECT_THAT(add([&](Dialect& d) {
                d.ops[1].operands = {{"x", Arity::kVariadic, any}, {"y", Arity::kVariadic, any}};
              }),
              HasSubstr("'w.second' has 2 optional or variadic operands"));
  EXPECT_THAT(add([&](Dialect& d) {
                d.ops[1].results = {{"x", Arity::kVariadic, any}, {"y", Arity::kSingle, any}};
              }),
              HasSubstr("result 'x' of 'w.second' is optional or variadic and not the last"));
  EXPECT_THAT(add([](Dialect& d) {
                for (unsigned i = 0; i <= kMaxRegions; ++i)
                  d.ops[1].regions.push_back("r" + std::to_string(i));
              }),
              HasSubstr("'w.second' has 16 regions (expected at most 15)"));
  EXPECT_THAT(add([](Dialect& d) {
                for (unsigned i = 0; i <= kMaxSuccessors; ++i)
                  d.ops[1].successors.push_back({"s" + std::to_string(i), -1});
              }),
              HasSubstr("'w.second' has 8 successors (expected at most 7)"));
  EXPECT_THAT(add([](Dialect& d) {
                d.ops[1].successors = {{"s", 0}};
              }),
              HasSubstr("successor 's' of 'w.second' gets operand group 0 of 0"));
  EXPECT_THAT(
      add([](Dialect& d) {
        d.ops[1].attrs.clear();
        for (int i = 0; i < 256; ++i)
          d.ops[1].attrs.push_back({"a" + std::to_string(1000 + i), AttrType::kI64, true, "", {}});
      }),
      HasSubstr("'w.second' has 256 attributes (expected at most 255)"));
  EXPECT_THAT(add([&](Dialect& d) {
                d.ops[1].operands = {{"x", Arity::kSingle, {}}};
              }),
              HasSubstr("operand 'x' of op 'w.second' accepts no type"));
  EXPECT_THAT(add([&](Dialect& d) {
                d.ops[1].results = {{"", Arity::kSingle, any}};
              }),
              HasSubstr("result '' of op 'w.second' has a name that is no identifier"));
  EXPECT_THAT(add([&](Dialect& d) {
                d.ops[1].operands = {{"x", Arity::kSingle, any}, {"x", Arity::kSingle, any}};
              }),
              HasSubstr("op 'w.second' has two operands 'x'"));
  EXPECT_THAT(add([](Dialect& d) {
                d.ops[1].regions = {"r", "r"};
              }),
              HasSubstr("op 'w.second' has two regions 'r'"));
  EXPECT_THAT(add([](Dialect& d) {
                d.ops[1].successors = {{"s", -2}};
              }),
              HasSubstr("successor 's' of 'w.second' gets operand group -2 of 0"));
  EXPECT_THAT(add([](Dialect& d) { d.ops[1].attrs[0].type = AttrType::kEnum; }),
              HasSubstr("attribute 'a' of op 'w.second' is an enum of no strings"));
  EXPECT_EQ(add([](Dialect&) {}), "");
  EXPECT_NE(context.FindOp("w.good"), nullptr);
}

// Attributes of another kind than the definition says are errors of whoever creates the op.
TEST(BuilderTest, AttributesFitTheDefinition) {
  Context context;
  OpDef def;
  def.name = "w.op";
  def.attrs = {{"a", AttrType::kI64, true, "", {}}};
  ASSERT_TRUE(context.RegisterDialect({"w", "", {def}}).ok());
  OpBuilder builder(context);
  const Attribute text = Attribute::Str(context, "one");
  const absl::StatusOr<Operation*> op =
      builder.CreateInferred(*context.FindOp("w.op"), Location(), {}, std::span(&text, 1));
  EXPECT_THAT(std::string(op.status().message()), HasSubstr("w.op: attribute 'a' must be"));
}

// A shape function that forgets a result, or makes one up, is an error of whoever creates the op.
TEST(BuilderTest, ShapeFunctionsGiveATypeForEachResult) {
  Context context;
  OpDef none;
  none.name = "w.none";
  TypeConstraint any;
  any.any = true;
  none.results = {{"out", Arity::kSingle, any}};
  none.infer = [](const InferContext&, ResultTypes&) { return absl::OkStatus(); };
  ASSERT_TRUE(context.RegisterDialect({"w", "", {none}}).ok());
  OpBuilder builder(context);
  const absl::StatusOr<Operation*> op =
      builder.CreateInferred(*context.FindOp("w.none"), Location(), {}, {});
  EXPECT_THAT(std::string(op.status().message()),
              HasSubstr("w.none: its shape function gives 0 types for 1 results"));
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
