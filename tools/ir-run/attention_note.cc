#include "tools/ir-run/attention_note.h"

#include <string_view>

#include "fmt/format.h"
#include "ir/core/context.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::ir_run {
namespace {

// Ops through which probabilities pass on their way to the values.
bool PassesOn(const Operation& op) {
  return op.num_operands() > 0 &&
         (op.Has(Trait::kElementwise) || op.Has(Trait::kView) || Isa<ten::TransposeOp>(op) ||
          Isa<ten::CastOp>(op) || Isa<ten::ExpandOp>(op));
}

// Does the value reach a product within a few steps?
bool FeedsMatmul(Value value, int steps) {
  for (OpOperand& use : value.uses()) {
    Operation* user = use.owner();
    if (Isa<ten::MatmulOp>(user) || Isa<ten::EinsumOp>(user)) return true;
    if (steps > 0 && PassesOn(*user) && FeedsMatmul(user->result(), steps - 1)) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> AttentionNotes(Operation* module) {
  constexpr int kSteps = 4;
  int64_t fused = 0;
  std::vector<Operation*> rest;
  module->Walk([&](Operation* op) {
    if (Isa<fused::AttentionOp>(op) || Isa<nn::AttentionOp>(op)) ++fused;
    if (Isa<nn::SoftmaxOp>(op) && FeedsMatmul(op->result(), kSteps)) rest.push_back(op);
  });
  std::vector<std::string> notes;
  if (rest.empty()) return notes;
  notes.push_back(fmt::format("{} of {} attention blocks are fused", fused,
                              fused + static_cast<int64_t>(rest.size())));
  for (Operation* softmax : rest) {
    const std::string node = DescribeLocation(softmax->context(), softmax->location());
    notes.push_back(
        fmt::format("attention at {} is not fused", node.empty() ? "nn.softmax" : node));
  }
  return notes;
}

}  // namespace tenon::ir_run
