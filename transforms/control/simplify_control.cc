// simplify-control: branches that are known, loops that run once or never, and values that control
// flow only passes on.
#include <memory>
#include <optional>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "transforms/general/visit_order.h"
#include "transforms/passes.h"
#include "transforms/shapes/dim_facts.h"

namespace tenon {
namespace {

std::optional<int64_t> KnownInt(Value value) {
  const core::ConstantOp constant = DefinedBy<core::ConstantOp>(value);
  if (!constant || constant.value().type().num_elements() != 1) return std::nullopt;
  return constant.value().ElementAsInt(0);
}

bool DefinedWithin(Value value, const Operation& op) {
  return op.IsAncestorOf(value.parent_block()->parent_op());
}

// Users that a value of another type suits.
bool SuitsUsers(Value was, Value by) { return was.type() == by.type() || !IsTypePinned(was); }

// The verifier wants users to see no less than they saw; an existing value keeps its type.
bool CanReplace(Value was, Value by) {
  if (was.type() == by.type()) return true;
  if (!SuitsUsers(was, by)) return false;
  if (!was.type().is_tensor() || !by.type().is_tensor()) return false;
  return was.type().dtype() == by.type().dtype() && was.type().rank() == by.type().rank();
}

class Simplifier {
 public:
  explicit Simplifier(PassContext& context) : context_(context) {}

  absl::StatusOr<bool> Run(Operation* function) {
    KeepInputs(function->region());
    // What one op becomes may change those around it and before it.
    bool changed = false;
    do {
      changed_ = false;
      // What is inside changes before what is around it; what is inlined is visited before.
      for (Operation* op : ControlIn(*function)) TENON_RETURN_IF_ERROR(Visit(op));
      const std::vector<Operation*> ops = ControlIn(*function);
      for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
        if (Isa<ctl::IfOp>(*it)) TENON_RETURN_IF_ERROR(DropResults(*it));
      }
      changed |= changed_;
    } while (changed_);
    if (changed) ResolveExtents(function);
    return changed;
  }

 private:
  static std::vector<Operation*> ControlIn(Operation& function) {
    std::vector<Operation*> ops = OpsToVisit(function, VisitOrder::kInnerFirst);
    std::erase_if(ops, [](const Operation* op) { return !IsStructuredControl(*op); });
    return ops;
  }

  void Changed(std::string_view statistic) {
    changed_ = true;
    context_.statistics->Add(statistic);
  }

  void KeepInputs(Region& region) {
    if (region.empty()) return;
    std::vector<std::string_view> symbols;
    for (unsigned i = 0; i < region.front().num_arguments(); ++i) {
      const Type type = region.front().argument(i).type();
      if (!type.is_tensor()) continue;
      for (DimExpr d : type.dims()) d.CollectSymbols(symbols);
    }
    for (std::string_view symbol : symbols) facts_.Keep(symbol);
  }

  // Extents of values that are gone are those of what took their place.
  void ResolveExtents(Operation* function) {
    function->WalkPreOrder([&](Operation* op) {
      if (op != function) facts_.Resolve(*op);
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r)) facts_.Resolve(block);
      }
      return true;
    });
    const Type old = function->attr("function_type").type();
    std::vector<Type> results;
    for (Type type : old.results()) results.push_back(facts_.Resolve(type));
    const Type now = Type::Function(function->context(), old.inputs(), results);
    if (now != old) {
      function->SetAttr("function_type", Attribute::TypeAttr(function->context(), now));
    }
  }

  void Replace(Value was, Value by) {
    facts_.Define(was.type(), by.type());
    was.ReplaceAllUsesWith(by);
  }

  absl::Status Visit(Operation* op) {
    if (Isa<ctl::IfOp>(op)) {
      if (const std::optional<int64_t> condition = KnownInt(op->operand(0))) {
        Block& taken = op->region(*condition != 0 ? 0 : 1).front();
        if (!YieldSuitsUsers(*op, taken)) return absl::OkStatus();
        Inline(op, taken);
        Changed("branches-inlined");
        return absl::OkStatus();
      }
      ReplacePassedByBranches(*op);
      return absl::OkStatus();
    }
    if (Isa<ctl::ForOp>(op) && TakeSingleRun(op)) return absl::OkStatus();
    ReplaceInvariants(*op);
    return absl::OkStatus();
  }

  static bool YieldSuitsUsers(const Operation& op, const Block& block) {
    for (unsigned i = 0; i < op.num_results(); ++i)
      if (!SuitsUsers(op.result(i), block.back()->operand(i))) return false;
    return true;
  }

  // Moves a block's ops before `op`, which takes what the block yields for its results.
  void Inline(Operation* op, Block& block) {
    Operation* yield = block.back();
    std::vector<Value> values;
    for (OpOperand& operand : yield->operands()) values.push_back(operand.get());
    yield->Erase();
    while (!block.empty()) block.front()->MoveBefore(op);
    for (unsigned i = 0; i < values.size(); ++i) Replace(op->result(i), values[i]);
    op->Erase();
  }

  // A result for which both branches pass on one value from around them is that value.
  void ReplacePassedByBranches(Operation& op) {
    const Operation *a = op.region(0).front().back(), *b = op.region(1).front().back();
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const Value value = a->operand(i);
      if (value != b->operand(i) || DefinedWithin(value, op) || !op.result(i).has_uses() ||
          !CanReplace(op.result(i), value)) {
        continue;
      }
      Replace(op.result(i), value);
      Changed("values-passed-on");
    }
  }

  // A ctl.if with those results only that are used. Users come before: they may drop what they
  // read.
  absl::Status DropResults(Operation* op) {
    std::vector<unsigned> kept;
    for (unsigned i = 0; i < op->num_results(); ++i) {
      const Value result = op->result(i);
      if (result.has_uses() || !DefinedDims(result).empty()) kept.push_back(i);
    }
    // One without any is dead.
    if (kept.empty() || kept.size() == op->num_results()) return absl::OkStatus();
    std::vector<Type> types;
    for (unsigned i : kept) types.push_back(op->result(i).type());
    OpBuilder builder = OpBuilder::Before(op);
    TENON_ASSIGN_OR_RETURN(
        ctl::IfOp made,
        ctl::IfOp::Create(builder, op->location(), op->operand(0), std::span<const Type>(types)));
    if (const Attribute attrs = op->discardable_attrs()) made->SetDiscardableAttrs(attrs);
    for (unsigned r = 0; r < 2; ++r) {
      Operation* yield = op->region(r).front().back();
      std::vector<Value> yielded;
      for (unsigned i : kept) yielded.push_back(yield->operand(i));
      Operation* fewer = Operation::Create(yield->info(), yield->location(), {}, yielded, {});
      yield->block()->Insert(fewer, yield);
      if (const Attribute attrs = yield->discardable_attrs()) fewer->SetDiscardableAttrs(attrs);
      yield->Erase();
      made->region(r).TakeBody(op->region(r));
    }
    for (unsigned i = 0; i < kept.size(); ++i) {
      op->result(kept[i]).ReplaceAllUsesWith(made->result(i));
    }
    op->Erase();
    Changed("results-dropped");
    return absl::OkStatus();
  }

  // A ctl.for that stacks nothing and runs once, or never, is its body, or its initial values.
  bool TakeSingleRun(Operation* op) {
    const std::optional<int64_t> lower = KnownInt(op->operand(0)), upper = KnownInt(op->operand(1)),
                                 step = KnownInt(op->operand(2));
    const LoopParts parts = PartsOfLoop(*op);
    if (!lower || !upper || !step || *step == 0 || !parts.scans.empty()) return false;
    const bool runs = *step > 0 ? *lower < *upper : *lower > *upper;
    int64_t second = 0;
    const bool once = runs && (__builtin_add_overflow(*lower, *step, &second) ||
                               (*step > 0 ? second >= *upper : second <= *upper));
    if (runs && !once) return false;
    Block& body = op->region().front();
    if (once && !YieldSuitsUsers(*op, body)) return false;
    for (unsigned i = 0; i < parts.num_carried; ++i) {
      const Value init = op->operand(parts.first_init + i);
      if (!SuitsUsers(op->result(i), init) || !SuitsUsers(body.argument(1 + i), init)) return false;
    }
    for (unsigned i = 0; i < parts.num_carried; ++i) {
      const Value init = op->operand(parts.first_init + i);
      Replace(once ? body.argument(1 + i) : op->result(i), init);
    }
    if (once) {
      body.argument(0).ReplaceAllUsesWith(op->operand(0));
      Inline(op, body);
    } else {
      op->Erase();
    }
    Changed("loops-inlined");
    return true;
  }

  // A carried value that the body passes on is its initial value: in the body and behind the loop.
  void ReplaceInvariants(Operation& op) {
    const LoopParts parts = PartsOfLoop(op);
    const bool is_for = Isa<ctl::ForOp>(op);
    Block& first = op.region(0).front();
    Block& last = op.region(op.num_regions() - 1).front();
    for (unsigned i = 0; i < parts.num_carried; ++i) {
      const Value init = op.operand(parts.first_init + i);
      const Value argument = last.argument(is_for ? 1 + i : i);
      const Value next = last.back()->operand(i);
      bool kept = next == argument || next == init;
      if (!is_for) {
        const Value passed = first.back()->operand(1 + i);
        kept = kept && (passed == first.argument(i) || passed == init);
      }
      if (!kept) continue;
      std::vector<Value> same = {argument, op.result(i)};
      if (!is_for) same.push_back(first.argument(i));
      for (Value value : same) {
        if (!value.has_uses() || value.type() != init.type()) continue;
        value.ReplaceAllUsesWith(init);
        Changed("values-passed-on");
      }
    }
  }

  PassContext& context_;
  DimFacts facts_;
  bool changed_ = false;
};

class SimplifyControl : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    TENON_ASSIGN_OR_RETURN(const bool changed, Simplifier(context).Run(op));
    return PassResult{changed};
  }
};

}  // namespace

PassInfo SimplifyControlPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"branches-inlined", "branches whose condition is known"},
                     {"loops-inlined", "loops whose trip count is known"},
                     {"results-dropped", "results that nothing reads"},
                     {"values-passed-on", "values that a branch or a loop only passes on"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<SimplifyControl>(); };
  return info;
}

}  // namespace tenon
