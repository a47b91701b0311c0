#include "ir/core/rewrite/rewriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "tests/ir/test_ir.h"

namespace tenon {
namespace {

using test::TestIr;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Log : public IrListener {
 public:
  void Created(Operation* op) override { Add("created", op); }
  void Erasing(Operation* op) override { Add("erasing", op); }
  void Replaced(Value was, Value now) override {
    lines.push_back(fmt::format("replaced {} {}",
                                was.defining_op() ? was.defining_op()->name() : "argument",
                                now.defining_op() ? now.defining_op()->name() : "argument"));
  }
  void Modified(Operation* op) override { Add("modified", op); }
  void BlockCreated(Block*) override { lines.emplace_back("block created"); }
  void BlockErasing(Block* block) override {
    lines.emplace_back(block->empty() ? "block erasing" : "block erasing with ops");
  }
  std::vector<std::string> Take() { return std::exchange(lines, {}); }

 private:
  void Add(std::string_view what, Operation* op) {
    lines.push_back(fmt::format("{} {}", what, op->name()));
  }
  std::vector<std::string> lines;
};

class RewriterTest : public ::testing::Test {
 protected:
  RewriterTest() : rewriter_(ir_.context, &log_) {
    region_ = ir_.Add(ir_.body, "t.region", {}, {}, 1);
    block_ = region_->region().AddBlock();
    rewriter_.SetInsertionPointToEnd(block_);
  }
  Value Source() { return ir_.Add(block_, "t.source", {}, {ir_.f32()})->result(); }

  TestIr ir_;
  Log log_;
  Rewriter rewriter_;
  Operation* region_;
  Block* block_;
};

TEST_F(RewriterTest, ABuilderTellsItsListener) {
  OpBuilder builder = OpBuilder::AtEnd(ir_.context, block_);
  builder.set_listener(&log_);
  builder.Insert(ir_.Make("t.source", {}, {ir_.f32()}));
  EXPECT_THAT(log_.Take(), ElementsAre("created t.source"));
}

TEST_F(RewriterTest, ReplaceTellsAndErases) {
  const Value a = Source(), b = Source();
  Operation* sum = ir_.Add(block_, "t.binary", {a, b}, {ir_.f32()});
  Operation* end = ir_.Add(block_, "t.end", {sum->result()}, {});
  rewriter_.SetInsertionPointBefore(sum);
  rewriter_.Replace(sum, a);
  EXPECT_EQ(end->operand(0), a);
  EXPECT_THAT(log_.Take(), ElementsAre("replaced t.binary t.source", "erasing t.binary"));
  rewriter_.Insert(ir_.Make("t.source", {}, {ir_.f32()}));  // the point has moved behind the op
  EXPECT_EQ(end->prev()->name(), "t.source");
}

TEST_F(RewriterTest, UsersOfErasedRegionsAreToldBeforeDefinitions) {
  Operation* outer = ir_.Add(block_, "t.region", {}, {}, 1);
  Block* inner = outer->region().AddBlock();
  const Value x = ir_.Add(inner, "t.source", {}, {ir_.f32()})->result();
  ir_.Add(inner, "t.binary", {x, x}, {ir_.f32()});
  rewriter_.Erase(outer);
  EXPECT_THAT(log_.Take(), ElementsAre("erasing t.region", "erasing t.binary", "erasing t.source"));
}

TEST_F(RewriterTest, ChangesInPlaceAreTold) {
  const Value a = Source(), b = Source();
  Operation* sum = ir_.Add(block_, "t.binary", {a, a}, {ir_.f32()});
  rewriter_.SetOperand(sum, 1, b);
  rewriter_.SetAttr(sum, "note", Attribute::Unit(ir_.context));
  rewriter_.Modify(sum, [&] { sum->set_operand(0, b); });
  rewriter_.MoveBefore(b.defining_op(), a.defining_op());
  EXPECT_THAT(log_.Take(), ElementsAre("modified t.binary", "modified t.binary",
                                       "modified t.binary", "modified t.source"));
  rewriter_.ReplaceUsesIf(b, a, [](const OpOperand& use) { return use.index() == 0; });
  EXPECT_EQ(sum->operand(0), a);
  EXPECT_EQ(sum->operand(1), b);
  EXPECT_THAT(log_.Take(), ElementsAre("modified t.binary"));
}

TEST_F(RewriterTest, AnOpWithMoreOperandsIsANewOne) {
  const Value a = Source();
  Operation* op = ir_.Add(block_, "t.tail", {a}, {ir_.f32()});
  ir_.Add(block_, "t.end", {op->result()}, {});
  op = rewriter_.SetOperandGroup(op, 1, {{a}});
  EXPECT_THAT(log_.Take(),
              ElementsAre("created t.tail", "replaced t.tail t.tail", "erasing t.tail"));
  op = rewriter_.SetOperandGroup(op, 1, {});
  EXPECT_THAT(log_.Take(), ElementsAre("modified t.tail"));
}

TEST_F(RewriterTest, BlocksAreTold) {
  const Value a = Source();
  Operation* end = ir_.Add(block_, "t.end", {a}, {});
  Block* tail = rewriter_.SplitBlock(end);
  EXPECT_THAT(log_.Take(), ElementsAre("block created", "modified t.end"));
  rewriter_.MergeBlocks(tail, block_, {});
  EXPECT_THAT(log_.Take(), ElementsAre("modified t.end", "block erasing"));
  Block* dead = rewriter_.AddBlock(region_->region());
  const Value x = ir_.Add(dead, "t.source", {}, {ir_.f32()})->result();
  ir_.Add(dead, "t.end", {x}, {});
  rewriter_.SetInsertionPointToEnd(dead);
  rewriter_.Erase(dead);
  EXPECT_EQ(rewriter_.block(), nullptr);
  EXPECT_THAT(log_.Take(),
              ElementsAre("block created", "erasing t.end", "erasing t.source", "block erasing"));
}

TEST_F(RewriterTest, ACopyIsToldWithWhatIsInside) {
  Operation* outer = ir_.Add(block_, "t.region", {}, {}, 1);
  ir_.Add(outer->region().AddBlock(), "t.source", {}, {ir_.f32()});
  IrMapping mapping;
  Operation* copy = rewriter_.InsertClone(*outer, mapping);
  EXPECT_EQ(copy->block(), block_);
  EXPECT_THAT(log_.Take(), ElementsAre("created t.source", "created t.region"));
}

TEST_F(RewriterTest, MisuseEndsTheProgram) {
  const Value a = Source();
  Operation* use = ir_.Add(block_, "t.end", {a}, {});
  Block* other = region_->region().AddBlock();
  EXPECT_DEATH(rewriter_.Erase(a.defining_op()), "uses cannot be erased");
  EXPECT_DEATH(rewriter_.Replace(a.defining_op(), std::span<const Value>()), "t.source");
  EXPECT_DEATH(rewriter_.Replace(a.defining_op(), Value()), "needs a value");
  EXPECT_DEATH(rewriter_.Replace(a.defining_op(), a), "its own results");
  EXPECT_DEATH(rewriter_.SetOperand(use, 1, a), "t.end");
  use->MoveBefore(ir_.Add(other, "t.end", {}, {}));
  EXPECT_DEATH(rewriter_.Erase(block_), "used outside");
  EXPECT_THAT(log_.Take(), IsEmpty());
}

}  // namespace
}  // namespace tenon
