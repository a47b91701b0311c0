#include "ir/core/rewrite/edit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/core/ranges.h"
#include "ir/core/verify/verifier.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

OperandRange OperandsOf(const Operation* op) {
  return {op->operands().data(), op->operands().size()};
}

class EditTest : public ::testing::Test {
 protected:
  EditTest() {
    region_ = ir_.Add(ir_.body, "t.region", {}, {}, 1);
    block_ = region_->region().AddBlock();
  }
  Value Source() { return ir_.Add(block_, "t.source", {}, {ir_.f32()})->result(); }
  Operation* Groups(std::vector<Value> operands, std::vector<int64_t> sizes) {
    Operation* op = ir_.Add(block_, "t.groups", std::move(operands), {});
    op->SetAttr("operandSegmentSizes", Attribute::Ints(ir_.context, DType::kI32, sizes));
    return op;
  }
  std::vector<int64_t> Sizes(const Operation* op) {
    const auto ints = op->attr("operandSegmentSizes").ints();
    return {ints.begin(), ints.end()};
  }

  TestIr ir_;
  Operation* region_;
  Block* block_;
};

TEST_F(EditTest, SetOperandGroupShrinksInPlaceAndGrowsInANewOp) {
  const Value a = Source(), b = Source(), c = Source(), d = Source();
  Operation* op = Groups({a, b, c, d}, {1, 1, 2});
  op->SetAttr("note", Attribute::Unit(ir_.context));
  const std::vector<Value> none, one = {d}, three = {c, b, a};

  EXPECT_EQ(SetOperandGroup(op, 2, one), op);
  EXPECT_THAT(OperandsOf(op).vec(), ElementsAre(a, b, d));
  EXPECT_THAT(Sizes(op), ElementsAre(1, 1, 1));
  EXPECT_FALSE(c.has_uses());
  EXPECT_EQ(SetOperandGroup(op, 1, none), op);
  EXPECT_THAT(OperandsOf(op).vec(), ElementsAre(a, d));

  Operation* grown = SetOperandGroup(op, 2, three);
  EXPECT_THAT(OperandsOf(grown).vec(), ElementsAre(a, c, b, a));
  EXPECT_THAT(Sizes(grown), ElementsAre(1, 0, 3));
  EXPECT_TRUE(grown->attr("note"));
  EXPECT_EQ(block_->back(), grown);
  EXPECT_FALSE(d.has_uses());
}

TEST_F(EditTest, InsertOperandsKeepsResultsRegionsAndPlace) {
  const Value a = Source(), b = Source();
  Operation* op = ir_.Add(block_, "t.tail", {a}, {ir_.f32(), ir_.f32()});
  Operation* user = ir_.Add(block_, "t.end", {op->result(1)}, {});
  const std::vector<Value> more = {b, b};
  EXPECT_EQ(InsertOperands(op, 1, {}), op);
  Operation* grown = InsertOperands(op, 0, more);
  EXPECT_THAT(OperandsOf(grown).vec(), ElementsAre(b, b, a));
  EXPECT_EQ(user->operand(0), grown->result(1));
  EXPECT_EQ(grown->next(), user);

  Operation* outer = ir_.Add(block_, "x.wrap", {}, {}, 1);
  ir_.Add(outer->region().AddBlock(), "t.source", {}, {ir_.f32()});
  Operation* inner = outer->region().front().front();
  outer = InsertOperands(outer, 0, more);
  EXPECT_EQ(inner->parent_op(), outer);
}

TEST_F(EditTest, EraseOperandsRemovesARange) {
  const Value a = Source(), b = Source(), c = Source();
  Operation* op = ir_.Add(block_, "t.end", {a, b, c, a, b}, {});
  EraseOperands(op, 1, 2);
  EXPECT_THAT(OperandsOf(op).vec(), ElementsAre(a, a, b));
  EraseOperands(op, 0, 3);
  EXPECT_THAT(OperandsOf(op).vec(), IsEmpty());
  EXPECT_FALSE(a.has_uses() || b.has_uses() || c.has_uses());
}

TEST_F(EditTest, SplitAndMergeBlocks) {
  const Value a = Source();
  Operation* use = ir_.Add(block_, "t.end", {a}, {});
  Block* tail = SplitBlock(use);
  EXPECT_EQ(block_->next(), tail);
  EXPECT_EQ(block_->back(), a.defining_op());
  EXPECT_EQ(tail->front(), use);
  MergeBlocks(tail, block_, {});
  EXPECT_EQ(block_->back(), use);
  EXPECT_EQ(block_->next(), nullptr);
}

TEST_F(EditTest, InlineBlockReplacesArguments) {
  const Value a = Source();
  Operation* end = ir_.Add(block_, "t.end", {}, {});
  Block* other = region_->region().AddBlock();
  const Value argument = other->AddArgument(ir_.f32());
  Operation* inner = ir_.Add(other, "t.binary", {argument, argument}, {ir_.f32()});
  InlineBlock(other, block_, end, {{a}});
  EXPECT_EQ(inner->next(), end);
  EXPECT_THAT(OperandsOf(inner).vec(), ElementsAre(a, a));
}

TEST_F(EditTest, MisuseEndsTheProgram) {
  const Value a = Source();
  Operation* op = Groups({a}, {1, 0, 0});
  EXPECT_DEATH(SetOperandGroup(op, 3, {}), "group");
  EXPECT_DEATH(SetOperandGroup(op, 0, {}), "cannot have so many");
  EXPECT_DEATH(InsertOperands(op, 2, {{a}}), "num_operands");
  EXPECT_DEATH(EraseOperands(op, 0, 2), "num_operands");
  EXPECT_DEATH(SpliceOps(block_->front(), nullptr, block_, op), "one of themselves");
  EXPECT_DEATH(InlineBlock(block_, block_, nullptr, {}), "into itself");
}

TEST_F(EditTest, RangesShowOperandsResultsAndUsers) {
  const Value a = Source(), b = Source();
  Operation* first = ir_.Add(block_, "t.tail", {a, b}, {ir_.f32(), ir_.f32()});
  Operation* second = ir_.Add(block_, "t.tail", {a, a}, {});
  const ResultRange results(first->result(0), 2);
  EXPECT_EQ(results.size(), 2);
  EXPECT_EQ(results.back(), first->result(1));
  std::vector<Value> seen;
  for (const Value value : OperandsOf(first)) seen.push_back(value);
  EXPECT_THAT(seen, ElementsAre(a, b));
  std::vector<Operation*> users;
  for (Operation* user : UsersOf(a)) users.push_back(user);
  EXPECT_THAT(users, ElementsAre(second, second, first));
  EXPECT_TRUE(UsersOf(results.front()).empty());
  EXPECT_EQ(std::vector<Value>(ResultRange()).size(), 0);
}

}  // namespace
}  // namespace tenon
