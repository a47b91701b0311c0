#include "ir/core/verify/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/block.h"
#include "ir/core/verify/op_checks.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using testing::HasSubstr;

// Golden files (tests/golden/verify) cover what text can say; this is what only a builder can
// break.

TEST(VerifierTest, NullOperandsAndSuccessors) {
  TestIr ir;
  ir.Add(ir.body, "t.binary", {Value(), Value()}, {ir.f32()});
  EXPECT_THAT(std::string(Verify(ir.module.get()).message()),
              HasSubstr("t.binary: operand 'a' is null"));
  TestIr other;
  other.Add(other.body, "x.use", {Value()}, {});
  EXPECT_THAT(std::string(Verify(other.module.get()).message()),
              HasSubstr("x.use: operand 0 is null"));
  TestIr third;
  Block* block = third.Add(third.body, "t.region", {}, {}, 1)->region().AddBlock();
  third.Add(block, "t.branch", {}, {}, 0, {nullptr});
  EXPECT_THAT(std::string(Verify(third.module.get()).message()),
              HasSubstr("successor 'dest' is null"));
}

TEST(VerifierTest, NestingIsBounded) {
  TestIr ir;
  Block* block = ir.body;
  for (int i = 0; i < 100000; ++i) {
    block = ir.Add(block, "x.region", {}, {}, 1)->region().AddBlock();
  }
  EXPECT_THAT(std::string(Verify(ir.module.get()).message()),
              HasSubstr("x.region: is nested deeper than 256 levels"));
  EXPECT_EQ(ir.messages.size(), 1u);
  // What cannot be valid can be printed for a message, and destroyed.
  EXPECT_THAT(ir.module->text(), HasSubstr("// nested deeper than 256 levels"));
}

TEST(VerifierTest, DetachedDefinitions) {
  TestIr ir;
  Operation* detached = ir.Make("t.source", {}, {ir.f32()});
  Operation* use =
      ir.Add(ir.body, "t.binary", {detached->result(), detached->result()}, {ir.f32()});
  EXPECT_THAT(std::string(Verify(ir.module.get()).message()),
              HasSubstr("operand 0 belongs to no region"));
  use->Erase();
  detached->Destroy();
}

TEST(VerifierTest, SuccessorsStayInTheirRegion) {
  TestIr ir;
  Block* a = ir.Add(ir.body, "t.region", {}, {}, 1)->region().AddBlock();
  Block* b = ir.Add(ir.body, "t.region", {}, {}, 1)->region().AddBlock();
  ir.Add(a, "t.branch", {}, {}, 0, {b});
  ir.Add(b, "t.end", {}, {});
  Verify(ir.module.get()).IgnoreError();
  EXPECT_THAT(
      ir.messages,
      testing::Contains(HasSubstr("t.branch: successor 0 is not a block of the same region")));
}

TEST(VerifierTest, CountsOfRegionsAndSuccessors) {
  TestIr ir;
  ir.Add(ir.body, "t.region", {}, {}, 2);
  EXPECT_THAT(std::string(Verify(ir.module.get()).message()),
              HasSubstr("has 2 regions, expects 1"));
}

TEST(VerifierTest, IsolationHoldsForBuiltIr) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Block* block = ir.Add(ir.body, "t.isolated", {}, {}, 1)->region().AddBlock();
  ir.Add(block, "t.end", {v}, {});
  EXPECT_THAT(std::string(Verify(ir.module.get()).message()),
              HasSubstr("t.end: operand 0 is defined outside of t.isolated, which is isolated"));
}

TEST(VerifierTest, ReportsSeveralDefectsAndStops) {
  TestIr ir;
  for (int i = 0; i < 50; ++i) ir.Add(ir.body, "t.tagged", {}, {});
  EXPECT_FALSE(Verify(ir.module.get()).ok());
  EXPECT_EQ(ir.messages.size(), 20u);
}

TEST(VerifierTest, ValidIrIsFine) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Block* block = ir.Add(ir.body, "t.region", {}, {}, 1)->region().AddBlock();
  Operation* inner = ir.Add(block, "t.binary", {v, v}, {ir.f32()});
  ir.Add(block, "t.end", {inner->result()}, {});
  EXPECT_TRUE(Verify(ir.module.get()).ok()) << ir.messages[0];
  EXPECT_TRUE(Verify(inner).ok());
}

TEST(OpChecksTest, EveryKindOfAttribute) {
  TestIr ir;
  Context& c = ir.context;
  int64_t ints[] = {1};
  float floats[] = {1};
  std::byte element[4] = {};
  struct Row {
    AttrType type;
    Attribute good;
  };
  std::vector<Row> rows = {{AttrType::kUnit, Attribute::Unit(c)},
                           {AttrType::kBool, Attribute::Bool(c, true)},
                           {AttrType::kI64, Attribute::I64(c, 1)},
                           {AttrType::kF32, Attribute::F32(c, 1)},
                           {AttrType::kF64, Attribute::F64(c, 1)},
                           {AttrType::kStr, Attribute::Str(c, "s")},
                           {AttrType::kI64s, Attribute::I64s(c, ints)},
                           {AttrType::kF32s, Attribute::F32s(c, floats)},
                           {AttrType::kDims, Attribute::Dims(c, {})},
                           {AttrType::kElements, Attribute::Splat(c, ir.tensor({2}), element)},
                           {AttrType::kType, Attribute::TypeAttr(c, ir.f32())},
                           {AttrType::kSymbol, Attribute::SymbolRef(c, "f")}};
  for (size_t i = 0; i < rows.size(); ++i) {
    for (size_t j = 0; j < rows.size(); ++j) {
      AttrDef def;
      def.name = "a";
      def.type = rows[i].type;
      EXPECT_EQ(CheckAttribute(def, rows[j].good).empty(), i == j) << i << " " << j;
    }
  }
  AttrDef any;
  any.type = AttrType::kAny;
  EXPECT_EQ(CheckAttribute(any, Attribute::Unit(c)), "");
  AttrDef type;
  type.name = "a";
  type.type = AttrType::kType;
  EXPECT_NE(CheckAttribute(type, Attribute::TypeAttr(c, ir.tensor({2}))), "");
  type.type = AttrType::kTypeAttr;
  EXPECT_EQ(CheckAttribute(type, Attribute::TypeAttr(c, ir.tensor({2}))), "");
  AttrDef choice;
  choice.name = "a";
  choice.type = AttrType::kEnum;
  choice.enums = {"x", "y"};
  EXPECT_EQ(CheckAttribute(choice, Attribute::Str(c, "x")), "");
  EXPECT_EQ(CheckAttribute(choice, Attribute::Str(c, "z")),
            "attribute 'a' must be one of \"x\", \"y\", got \"z\"");
}

}  // namespace
}  // namespace tenon
