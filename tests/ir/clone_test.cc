#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/text/printer.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;

constexpr const char* kProgram = R"(t.isolated() ({
^bb0(%a: f32):
  %0 = t.binary(%a, %a) {x.note} : (f32, f32) -> f32
  t.branch(%0)[^bb2] : (f32) -> ()
^bb1:
  t.region() ({
    %3 = t.binary(%0, %2) : (f32, f32) -> f32
    t.end(%3) : (f32) -> ()
  }) : () -> ()
  t.end() : () -> ()
^bb2(%1: f32):
  %2 = t.binary(%1, %0) : (f32, f32) -> f32
  t.branch()[^bb1] : () -> ()
}) : () -> ()
)";

TEST(CloneTest, DeepCopyPrintsTheSameAndSharesNothing) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, kProgram);
  ASSERT_TRUE(module.ok()) << module.status();
  std::string text = Print(**module);
  OwnedOp copy(Clone(**module));
  EXPECT_EQ(Print(*copy), text);
  module->reset();
  EXPECT_EQ(Print(*copy), text);
}

TEST(CloneTest, OuterValuesStayOrGoThroughTheMapping) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Value w = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Operation* op = ir.Add(ir.body, "t.binary", {v, v}, {ir.f32()});
  Operation* same = Clone(*op);
  EXPECT_EQ(same->operand(0), v);
  EXPECT_EQ(v.num_uses(), 4u);
  IrMapping mapping;
  mapping.Map(v, w);
  Operation* mapped = Clone(*op, mapping);
  EXPECT_EQ(mapped->operand(1), w);
  EXPECT_EQ(mapping.Lookup(op->result()), mapped->result());
  same->Destroy();
  mapped->Destroy();
}

// Several threads may copy one program: not even for a moment do copies use the original's values,
// also where a use comes before the definition.
TEST(CloneTest, ThreadsMayCopyOneProgram) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, kProgram);
  ASSERT_TRUE(module.ok()) << module.status();
  const std::string text = Print(**module);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 200; ++n) {
        OwnedOp copy(Clone(**module));
        wrong += Print(*copy) != text;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(Print(**module), text);
}

TEST(CloneTest, AnOpThatUsesItselfIsCopiedAsOne) {
  TestIr ir;
  Value v = ir.Add(ir.body, "t.source", {}, {ir.f32()})->result();
  Operation* op = ir.Add(ir.body, "t.binary", {v, v}, {ir.f32()});
  op->set_operand(1, op->result());
  Operation* copy = Clone(*op);
  EXPECT_EQ(copy->operand(0), v);
  EXPECT_EQ(copy->operand(1), copy->result());
  EXPECT_TRUE(op->result().has_one_use());
  copy->set_operand(1, v);
  copy->Destroy();
  op->set_operand(1, v);
}

TEST(CloneTest, RegionsAreAppended) {
  TestIr ir;
  absl::StatusOr<OwnedOp> module = ParseModule(ir.context, kProgram);
  ASSERT_TRUE(module.ok());
  Region& from = (*module)->region().front().front()->region();
  Operation* to = ir.Add(ir.body, "t.isolated", {}, {}, 1);
  IrMapping mapping;
  CloneRegion(from, to->region(), mapping);
  EXPECT_EQ(mapping.Lookup(&from.front()), &to->region().front());
  EXPECT_EQ(mapping.Lookup(from.front().argument(0)), to->region().front().argument(0));
}

}  // namespace
}  // namespace tenon
