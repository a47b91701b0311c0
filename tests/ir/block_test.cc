#include "ir/core/block.h"

#include <gtest/gtest.h>

#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;

TEST(BlockTest, PredecessorsFollowSuccessors) {
  TestIr ir;
  Region& region = ir.Add(ir.body, "t.region", {}, {}, 1)->region();
  Block* a = region.AddBlock();
  Block* b = region.AddBlock();
  Block* c = region.AddBlock();
  Operation* fork = ir.Add(a, "t.fork", {}, {}, 0, {b, c});
  EXPECT_TRUE(b->has_predecessors());
  EXPECT_EQ(b->first_predecessor()->owner(), fork);
  fork->set_successor(0, c);
  EXPECT_FALSE(b->has_predecessors());
  EXPECT_EQ(c->first_predecessor()->get(), c);
  ASSERT_NE(c->first_predecessor()->next_use(), nullptr);
  EXPECT_EQ(c->first_predecessor()->next_use()->next_use(), nullptr);
  fork->Erase();
  EXPECT_FALSE(c->has_predecessors());
}

TEST(BlockTest, InsertAndRemove) {
  TestIr ir;
  Operation* a = ir.Add(ir.body, "x.a", {}, {});
  Operation* c = ir.Add(ir.body, "x.c", {}, {});
  Operation* b = ir.Make("x.b", {}, {});
  ir.body->Insert(b, c);
  std::vector<Operation*> ops;
  for (Operation& op : *ir.body) ops.push_back(&op);
  EXPECT_EQ(ops, (std::vector<Operation*>{a, b, c}));
  b->RemoveFromBlock();
  EXPECT_EQ(b->block(), nullptr);
  EXPECT_EQ(a->next(), c);
  EXPECT_EQ(c->prev(), a);
  b->Destroy();
}

TEST(BlockTest, Terminator) {
  TestIr ir;
  Region& region = ir.Add(ir.body, "t.region", {}, {}, 1)->region();
  Block* block = region.AddBlock();
  EXPECT_EQ(block->terminator(), nullptr);
  ir.Add(block, "t.source", {}, {ir.f32()});
  EXPECT_EQ(block->terminator(), nullptr);
  Operation* end = ir.Add(block, "t.end", {}, {});
  EXPECT_EQ(block->terminator(), end);
  end->Erase();
  Operation* unknown = ir.Add(block, "x.unknown", {}, {});
  EXPECT_EQ(block->terminator(), unknown);
}

TEST(RegionTest, TakesBodies) {
  TestIr ir;
  Operation* from = ir.Add(ir.body, "t.region", {}, {}, 1);
  Operation* to = ir.Add(ir.body, "t.region", {}, {}, 1);
  Block* a = from->region().AddBlock();
  Block* b = from->region().AddBlock();
  Operation* op = ir.Add(b, "t.end", {}, {});
  to->region().TakeBody(from->region());
  EXPECT_TRUE(from->region().empty());
  EXPECT_EQ(&to->region().front(), a);
  EXPECT_EQ(&to->region().back(), b);
  EXPECT_EQ(op->parent_op(), to);
  std::unique_ptr<Block> removed = to->region().Remove(a);
  EXPECT_EQ(removed->parent(), nullptr);
  EXPECT_EQ(&to->region().front(), b);
}

// Values used across blocks and before their definition do not stand in the way of destruction.
TEST(RegionTest, DestroysCyclicUses) {
  TestIr ir;
  size_t before = ir.context.op_bytes_in_use();
  Operation* op = ir.Add(ir.body, "t.region", {}, {}, 1);
  Block* a = op->region().AddBlock();
  Block* b = op->region().AddBlock();
  Operation* x = ir.Add(a, "x.a", {Value()}, {ir.f32()});
  Operation* y = ir.Add(b, "x.a", {x->result()}, {ir.f32()});
  x->set_operand(0, y->result());
  ir.Add(a, "t.branch", {}, {}, 0, {b});
  ir.Add(b, "t.branch", {}, {}, 0, {a});
  op->Erase();
  EXPECT_EQ(ir.context.op_bytes_in_use(), before);
}

}  // namespace
}  // namespace tenon
