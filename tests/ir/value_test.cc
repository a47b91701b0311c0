// Use lists.
#include "ir/core/value.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/core/block.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;

TEST(ValueTest, UsesAreLinkedMostRecentFirst) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  EXPECT_FALSE(v.has_uses());
  Operation* a = ir.Add(ir.body, "x.use", {v}, {});
  EXPECT_TRUE(v.has_one_use());
  Operation* b = ir.Add(ir.body, "x.use", {v, v}, {});
  EXPECT_EQ(v.num_uses(), 3u);
  EXPECT_FALSE(v.has_one_use());
  std::vector<std::pair<Operation*, unsigned>> uses;
  for (OpOperand& use : v.uses()) uses.emplace_back(use.owner(), use.index());
  EXPECT_EQ(uses, (std::vector<std::pair<Operation*, unsigned>>{{b, 1}, {b, 0}, {a, 0}}));
}

TEST(ValueTest, ReplaceAllUses) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Value w = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Operation* a = ir.Add(ir.body, "x.use", {v, w, v}, {});
  Operation* b = ir.Add(ir.body, "x.use", {v}, {});
  v.ReplaceAllUsesExcept(w, b);
  EXPECT_EQ(a->operand(0), w);
  EXPECT_EQ(a->operand(2), w);
  EXPECT_EQ(b->operand(0), v);
  EXPECT_EQ(w.num_uses(), 3u);
  v.ReplaceAllUsesWith(w);
  EXPECT_FALSE(v.has_uses());
  EXPECT_EQ(w.num_uses(), 4u);
}

TEST(ValueTest, SetOperandMovesTheUse) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Value w = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Operation* use = ir.Add(ir.body, "x.use", {v}, {});
  use->set_operand(0, w);
  EXPECT_FALSE(v.has_uses());
  EXPECT_TRUE(w.has_one_use());
  use->set_operand(0, Value());
  EXPECT_FALSE(w.has_uses());
  EXPECT_FALSE(use->operand(0));
  use->set_operand(0, v);
  EXPECT_TRUE(v.has_one_use());
}

TEST(ValueTest, BlockArguments) {
  TestIr ir;
  Operation* region = ir.Add(ir.body, "t.region", {}, {}, 1);
  Block* block = region->region().AddBlock();
  Value a = block->AddArgument(ir.f32());
  Value b = block->AddArgument(ir.tensor({2}));
  EXPECT_TRUE(a.is_block_argument());
  EXPECT_EQ(a.defining_op(), nullptr);
  EXPECT_EQ(b.argument_index(), 1u);
  EXPECT_EQ(b.argument_owner(), block);
  Operation* use = ir.Add(block, "x.use", {b}, {});
  block->EraseArgument(0);
  EXPECT_EQ(b.argument_index(), 0u);
  EXPECT_EQ(use->operand(0), b);
  b.set_type(ir.f32());
  EXPECT_EQ(use->operand(0).type(), ir.f32());
  EXPECT_TRUE(b.is_block_argument());
  use->Erase();
}

// Random changes leave every use in exactly the list of its value.
TEST(ValueTest, RandomChangesKeepListsWhole) {
  TestIr ir;
  std::mt19937 random(7);
  std::vector<Value> values;
  for (int i = 0; i < 8; ++i)
    values.push_back(ir.Add(ir.body, "t.source", {}, {ir.f32()})->result());
  std::vector<Operation*> users;
  auto any = [&] { return values[random() % values.size()]; };
  for (int step = 0; step < 2000; ++step) {
    switch (random() % 4) {
      case 0:
        users.push_back(ir.Add(ir.body, "x.use", {any(), any(), any()}, {}));
        break;
      case 1:
        if (!users.empty()) {
          size_t i = random() % users.size();
          users[i]->Erase();
          users.erase(users.begin() + static_cast<std::ptrdiff_t>(i));
        }
        break;
      case 2:
        if (!users.empty()) users[random() % users.size()]->set_operand(random() % 3, any());
        break;
      default: {
        Value from = any(), to = any();
        if (from != to && random() % 8 == 0) from.ReplaceAllUsesWith(to);
      }
    }
  }
  size_t linked = 0;
  for (Value v : values) {
    for (OpOperand& use : v.uses()) {
      EXPECT_EQ(use.get(), v);
      EXPECT_EQ(&use.owner()->operands()[use.index()], &use);
      ++linked;
    }
  }
  EXPECT_EQ(linked, users.size() * 3);
}

// Far beyond what the index in an operand or a result holds, by steps that are counted in time: a
// search from neighbour to neighbour would take minutes.
TEST(ValueTest, IndicesOfManyOperandsAndResults) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Operation* user = ir.Add(ir.body, "x.use", std::vector<Value>(kMaxOperands, v), {});
  unsigned expected = kMaxOperands;
  for (OpOperand& use : v.uses()) {
    ASSERT_EQ(use.index(), --expected);
    ASSERT_EQ(use.owner(), user);
  }
  Operation* many = ir.Add(ir.body, "x.make", {}, std::vector<Type>(kMaxResults, ir.f32()));
  for (unsigned i = 0; i < kMaxResults; ++i) {
    ASSERT_EQ(many->result(i).result_index(), i);
    ASSERT_EQ(many->result(i).defining_op(), many);
  }
}

}  // namespace
}  // namespace tenon
