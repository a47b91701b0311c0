// CapturedValues and CapturedInBlock: what regions read of the values around them.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/dialects.h"

namespace tenon {
namespace {

// %b is read two levels below its block and again beside that, %a in the first branch only, and %d
// nowhere inside.
constexpr std::string_view kProgram = R"(
func.func() <{function_type = (tensor<f32>, tensor<i1>) -> tensor<f32>, sym_name = "f"}> ({
^bb0(%x: tensor<f32>, %c: tensor<i1>):
  %a = ten.exp(%x) : (tensor<f32>) -> tensor<f32>
  %b = ten.tanh(%a) : (tensor<f32>) -> tensor<f32>
  %d = ten.neg(%b) : (tensor<f32>) -> tensor<f32>
  %r = ctl.if(%c) ({
    %e = ten.add(%a, %x) : (tensor<f32>, tensor<f32>) -> tensor<f32>
    %i = ctl.if(%c) ({
      %g = ten.add(%b, %e) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      ctl.yield(%g) : (tensor<f32>) -> ()
    }, {
      ctl.yield(%b) : (tensor<f32>) -> ()
    }) : (tensor<i1>) -> tensor<f32>
    ctl.yield(%i) : (tensor<f32>) -> ()
  }, {
    ctl.yield(%b) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  %s = ctl.if(%c) ({
    ctl.yield(%r) : (tensor<f32>) -> ()
  }, {
    ctl.yield(%d) : (tensor<f32>) -> ()
  }) : (tensor<i1>) -> tensor<f32>
  func.return(%s) : (tensor<f32>) -> ()
}) : () -> ()
)";

TEST(CapturesTest, AreWhatRegionsReadOfTheValuesAround) {
  Context context;
  RegisterAllDialects(context);
  const absl::StatusOr<OwnedOp> module = ParseModule(context, kProgram);
  ASSERT_TRUE(module.ok()) << module.status();
  std::vector<Operation*> branches;
  (*module)->WalkPreOrder([&](Operation* op) {
    if (IsStructuredControl(*op)) branches.push_back(op);
    return true;
  });
  ASSERT_EQ(branches.size(), 3u);
  Operation *outer = branches[0], *inner = branches[1], *last = branches[2];
  Block& block = *outer->block();
  std::vector<Value> ops;
  for (Operation& op : block) {
    if (op.num_results() > 0) ops.push_back(op.result());
  }
  const Value x = block.argument(0), c = block.argument(1);
  const Value a = ops[0], b = ops[1], d = ops[2], r = ops[3];
  const Value e = outer->region(0).front().front()->result();
  // In the order of the first use, and arguments too.
  EXPECT_EQ(CapturedValues(*outer), (std::vector<Value>{a, x, c, b}));
  EXPECT_EQ(CapturedValues(*inner), (std::vector<Value>{b, e}));
  EXPECT_EQ(CapturedValues(*last), (std::vector<Value>{r, d}));

  const CapturesByOp captures = CapturedInBlock(block);
  ASSERT_EQ(captures.size(), 2u);
  EXPECT_EQ(captures.at(outer), (std::vector<Value>{a, b}));
  EXPECT_EQ(captures.at(last), (std::vector<Value>{d, r}));
  const CapturesByOp inside = CapturedInBlock(*inner->block());
  ASSERT_EQ(inside.size(), 1u);
  EXPECT_EQ(inside.at(inner), (std::vector<Value>{e}));
}

}  // namespace
}  // namespace tenon
