#include "ir/core/operation.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/core/block.h"
#include "ir/core/verify/verifier.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;

TEST(OperationTest, OneAllocationOfTheBudgetedSize) {
  EXPECT_EQ(Operation::AllocationSize(2, 1, 0, 0, 0), 112u);
  EXPECT_EQ(Operation::AllocationSize(0, 0, 0, 0, 0), 48u);
  EXPECT_EQ(Operation::AllocationSize(0, 3, 2, 0, 1), 48u + 3 * 16 + 2 * 8 + 24);
}

TEST(OperationTest, MemoryGoesBackToThePool) {
  TestIr ir;
  size_t before = ir.context.op_bytes_in_use();
  Operation* a = ir.Make("t.source", {}, {ir.f32()});
  Operation* b = ir.Make("t.binary", {a->result(), a->result()}, {ir.f32()});
  EXPECT_EQ(ir.context.op_bytes_in_use(), before + 64 + 112);
  b->Destroy();
  a->Destroy();
  EXPECT_EQ(ir.context.op_bytes_in_use(), before);
}

TEST(OperationTest, ResultsKnowTheirOwnerAndIndex) {
  TestIr ir;
  Operation* op = ir.Add(ir.body, "x.many", {}, std::vector<Type>(5, ir.f32()));
  for (unsigned i = 0; i < 5; ++i) {
    EXPECT_EQ(op->result(i).defining_op(), op);
    EXPECT_EQ(op->result(i).result_index(), i);
    EXPECT_EQ(op->result(i).parent_block(), ir.body);
  }
}

// Indices beyond what fits into the packed bits are found by walking.
TEST(OperationTest, ManyResultsAndOperands) {
  TestIr ir;
  Operation* many = ir.Add(ir.body, "x.many", {}, std::vector<Type>(40000, ir.f32()));
  EXPECT_EQ(many->result(39999).result_index(), 39999u);
  EXPECT_EQ(many->result(39999).defining_op(), many);
  EXPECT_EQ(many->result(32767).result_index(), 32767u);
  std::vector<Value> values;
  for (unsigned i = 0; i < 70000; ++i) values.push_back(many->result(i % 40000));
  Operation* user = ir.Add(ir.body, "x.use", values, {});
  EXPECT_EQ(user->operands()[69999].index(), 69999u);
  EXPECT_EQ(user->operands()[69999].owner(), user);
  EXPECT_EQ(user->operands()[65535].index(), 65535u);
  EXPECT_EQ(user->operand(69999), many->result(29999));
}

TEST(OperationTest, SlotsAndDiscardableAttributes) {
  TestIr ir;
  Operation* op = ir.Add(ir.body, "t.tagged", {}, {});
  Context& context = ir.context;
  EXPECT_EQ(op->num_slots(), 4u);
  EXPECT_FALSE(op->attr("axis"));
  EXPECT_EQ(op->attr("scale"), Attribute::F32(context, 1.0f));
  op->SetAttr("axis", Attribute::I64(context, 3));
  EXPECT_EQ(op->slot(0), Attribute::I64(context, 3));
  EXPECT_FALSE(op->discardable_attrs());
  op->SetAttr("x.note", Attribute::Str(context, "n"));
  op->SetAttr("x.also", Attribute::Unit(context));
  EXPECT_EQ(op->attr("x.note"), Attribute::Str(context, "n"));
  EXPECT_EQ(op->discardable_attrs().text(), "{x.also, x.note = \"n\"}");
  op->SetAttr("x.note", Attribute());
  op->SetAttr("x.also", Attribute());
  EXPECT_FALSE(op->discardable_attrs());
}

// What an unregistered op has among its properties is set there, not beside it.
TEST(OperationTest, PropertiesOfUnregisteredOps) {
  TestIr ir;
  Context& context = ir.context;
  Operation* op = ir.Add(ir.body, "x.op", {}, {});
  const NamedAttribute axis{context.Intern("axis"), Attribute::I64(context, 1)};
  op->set_slot(0, Attribute::Dictionary(context, {{axis}}));
  op->SetAttr("axis", Attribute::I64(context, 2));
  EXPECT_EQ(op->attr("axis"), Attribute::I64(context, 2));
  EXPECT_FALSE(op->discardable_attrs());
  op->SetAttr("x.note", Attribute::Unit(context));
  EXPECT_EQ(op->discardable_attrs().text(), "{x.note}");
  op->SetAttr("axis", Attribute());
  EXPECT_FALSE(op->attr("axis"));
}

TEST(OperationTest, OperandGroups) {
  TestIr ir;
  Operation* a = ir.Add(ir.body, "t.source", {}, {ir.f32()});
  Value v = a->result();
  Operation* tail = ir.Add(ir.body, "t.tail", {v, v, v}, {});
  EXPECT_EQ(tail->operand_group(0), std::make_pair(0u, 1u));
  EXPECT_EQ(tail->operand_group(1), std::make_pair(1u, 2u));
  Operation* groups = ir.Add(ir.body, "t.groups", {v, v, v}, {});
  int64_t sizes[] = {1, 0, 2};
  groups->SetAttr("operandSegmentSizes", Attribute::Ints(ir.context, DType::kI32, sizes));
  EXPECT_EQ(groups->operand_group(2), std::make_pair(1u, 2u));
  EXPECT_FALSE(groups->operand_or_null(1));
  EXPECT_EQ(groups->operand_or_null(0), v);
}

TEST(OperationTest, EraseOperandMovesTheRest) {
  TestIr ir;
  std::vector<Value> v;
  for (int i = 0; i < 4; ++i) v.push_back(ir.Add(ir.body, "t.source", {}, {ir.f32()})->result());
  Operation* use = ir.Add(ir.body, "x.use", v, {});
  use->EraseOperand(1);
  ASSERT_EQ(use->num_operands(), 3u);
  EXPECT_EQ(use->operand(1), v[2]);
  EXPECT_EQ(use->operand(2), v[3]);
  EXPECT_FALSE(v[1].has_uses());
  EXPECT_TRUE(v[3].has_one_use());
  EXPECT_EQ(v[3].uses().begin()->index(), 2u);
  size_t before = ir.context.op_bytes_in_use();
  use->Erase();
  EXPECT_EQ(before - ir.context.op_bytes_in_use(), Operation::AllocationSize(4, 0, 1, 0, 0));
}

// As many as there are, one after the other: slots and regions behind the operands stay where they
// are, and all of the memory goes back.
TEST(OperationTest, EraseOperandAsOftenAsThereAreOperands) {
  TestIr ir;
  const size_t before = ir.context.op_bytes_in_use();
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Operation* use = ir.Add(ir.body, "x.use", std::vector<Value>(20000, v), {}, 1);
  Block* inner = use->region().AddBlock();
  const NamedAttribute axis{ir.context.Intern("axis"), Attribute::I64(ir.context, 1)};
  const Attribute properties = Attribute::Dictionary(ir.context, {{axis}});
  use->set_slot(0, properties);
  for (unsigned n = 20000; n > 0; --n) {
    ASSERT_EQ(use->num_operands(), n);
    use->EraseOperand(n - 1);
    ASSERT_EQ(use->slot(0), properties);
  }
  EXPECT_FALSE(v.has_uses());
  EXPECT_EQ(&use->region().front(), inner);
  use->Erase();
  v.defining_op()->Erase();
  EXPECT_EQ(ir.context.op_bytes_in_use(), before);
}

#ifdef NDEBUG
// An error of the caller's that debug builds find: users see that their operand is gone.
TEST(OperationTest, UsersOfADestroyedOpHaveNullOperands) {
  TestIr ir;
  Operation* used = ir.Add(ir.body, "t.source", {}, {ir.f32()});
  Operation* user = ir.Add(ir.body, "x.use", {used->result()}, {});
  used->Erase();
  EXPECT_FALSE(user->operand(0));
}
#else
TEST(OperationTest, UsersOfADestroyedOpHaveNullOperands) {
  GTEST_SKIP() << "debug builds end a program that destroys an operation in use";
}
#endif

// An attribute with a default is never absent: what the generated classes read is there.
TEST(OperationTest, NullGivesASlotItsDefaultAgain) {
  TestIr ir;
  Operation* op = ir.Add(ir.body, "t.tagged", {}, {});
  op->SetAttr("scale", Attribute::F32(ir.context, 3.0f));
  op->SetAttr("scale", Attribute());
  EXPECT_EQ(op->attr("scale"), Attribute::F32(ir.context, 1.0f));
  op->SetAttr("axis", Attribute::I64(ir.context, 3));
  op->SetAttr("axis", Attribute());
  EXPECT_FALSE(op->attr("axis"));
}

namespace {

// `levels` ops with a region in each other; the innermost one.
Operation* Nest(TestIr& ir, int levels) {
  Block* block = ir.body;
  Operation* op = nullptr;
  for (int i = 0; i < levels; ++i) {
    op = ir.Add(block, "t.region", {}, {}, 1);
    block = op->region().AddBlock();
  }
  return op;
}

}  // namespace

// Nobody has verified such IR yet: it may be nested deeper than valid IR.
TEST(OperationTest, NoNestingIsTooDeepToBeWalked) {
  constexpr int kLevels = 200000;
  TestIr ir;
  Operation* innermost = Nest(ir, kLevels);
  int count = 0;
  ir.module->Walk([&](Operation* op) {
    if (count++ == 0) {
      EXPECT_EQ(op, innermost);
    }
  });
  EXPECT_EQ(count, kLevels + 1);
  count = 0;
  EXPECT_TRUE(ir.module->WalkPreOrder([&](Operation*) { return ++count > 0; }));
  EXPECT_EQ(count, kLevels + 1);
  EXPECT_FALSE(ir.module->WalkPreOrder([&](Operation* op) { return op != innermost; }));
  OwnedOp copy(Clone(*ir.module));
  count = 0;
  copy->Walk([&](Operation*) { ++count; });
  EXPECT_EQ(count, kLevels + 1);
  ir.body->DropAllReferences();
  EXPECT_FALSE(Verify(ir.module.get()).ok());
  EXPECT_NE(ir.module->text().find("nested deeper than"), std::string::npos);
}

TEST(OperationTest, WalksPostOrderAndMayErase) {
  TestIr ir;
  Operation* region = ir.Add(ir.body, "t.region", {}, {}, 1);
  Block* inner = region->region().AddBlock();
  ir.Add(inner, "x.a", {}, {});
  ir.Add(inner, "t.end", {}, {});
  ir.Add(ir.body, "x.b", {}, {});
  std::vector<std::string> names;
  ir.module->Walk([&](Operation* op) { names.emplace_back(op->name()); });
  EXPECT_EQ(names, (std::vector<std::string>{"x.a", "t.end", "t.region", "x.b", "builtin.module"}));
  names.clear();
  bool all = ir.module->WalkPreOrder([&](Operation* op) {
    names.emplace_back(op->name());
    return op->name() != "x.a";
  });
  EXPECT_FALSE(all);
  EXPECT_EQ(names, (std::vector<std::string>{"builtin.module", "t.region", "x.a"}));
  ir.module->Walk([&](Operation* op) {
    if (op->name() == "x.a" || op->name() == "x.b") op->Erase();
  });
  EXPECT_EQ(inner->front()->name(), "t.end");
  EXPECT_EQ(ir.body->front(), ir.body->back());
}

TEST(OperationTest, OrderSurvivesInsertionsAnywhere) {
  TestIr ir;
  Operation* first = ir.Add(ir.body, "x.first", {}, {});
  Operation* last = ir.Add(ir.body, "x.last", {}, {});
  std::vector<Operation*> ops;
  for (int i = 0; i < 100;
       ++i) {  // always right after `first`: leaves no room between order numbers
    Operation* op = ir.Make("x.op", {}, {});
    ir.body->Insert(op, first->next());
    ops.push_back(op);
    EXPECT_TRUE(first->IsBeforeInBlock(op));
    EXPECT_TRUE(op->IsBeforeInBlock(last));
  }
  for (size_t i = 1; i < ops.size(); ++i) EXPECT_TRUE(ops[i]->IsBeforeInBlock(ops[i - 1]));
  ops[0]->MoveBefore(first);
  EXPECT_TRUE(ops[0]->IsBeforeInBlock(first));
  ops[0]->MoveAfter(last);
  EXPECT_TRUE(last->IsBeforeInBlock(ops[0]));
  EXPECT_EQ(ir.body->back(), ops[0]);
}

// A hundred thousand insertions at one place and at many, each asked for at once: numbering the
// block anew for each would take minutes.
TEST(OperationTest, OrderIsKeptInALargeBlock) {
  TestIr ir;
  std::vector<Operation*> ops;
  for (int i = 0; i < 50000; ++i) ops.push_back(ir.Add(ir.body, "x.op", {}, {}));
  Operation* middle = ops[ops.size() / 2];
  for (int i = 0; i < 50000; ++i) {
    Operation* op = ir.Make("x.op", {}, {});
    ir.body->Insert(op, middle);
    ASSERT_TRUE(op->IsBeforeInBlock(middle));
    ASSERT_TRUE(op->prev()->IsBeforeInBlock(op));
  }
  std::mt19937 random(5);
  for (int i = 0; i < 50000; ++i) {
    Operation* before = ops[random() % ops.size()];
    Operation* op = ir.Make("x.op", {}, {});
    ir.body->Insert(op, before);
    ASSERT_TRUE(op->IsBeforeInBlock(before));
  }
  for (Operation* op = ir.body->front(); op->next() != nullptr; op = op->next()) {
    ASSERT_TRUE(op->IsBeforeInBlock(op->next()));
  }
}

TEST(OperationTest, AncestorsAndParents) {
  TestIr ir;
  Operation* region = ir.Add(ir.body, "t.region", {}, {}, 1);
  Operation* inner = ir.Add(region->region().AddBlock(), "x.a", {}, {});
  EXPECT_EQ(inner->parent_op(), region);
  EXPECT_TRUE(ir.module->IsAncestorOf(inner));
  EXPECT_TRUE(inner->IsAncestorOf(inner));
  EXPECT_FALSE(inner->IsAncestorOf(region));
  EXPECT_EQ(ir.module->parent_op(), nullptr);
}

TEST(OperationTest, RegistrationRefusesRepeats) {
  Context context;
  test::RegisterTestDialect(context);
  EXPECT_FALSE(context.RegisterDialect({"t", "", {}}).ok());
  OpDef foreign;
  foreign.name = "other.op";
  EXPECT_FALSE(context.RegisterDialect({"u", "", {foreign}}).ok());
  EXPECT_EQ(context.FindOp("t.source")->id(), HashOpName("t.source"));
  EXPECT_EQ(context.FindOp(HashOpName("t.source")), context.FindOp("t.source"));
  EXPECT_EQ(context.FindOp("t.nothing"), nullptr);
}

}  // namespace
}  // namespace tenon
