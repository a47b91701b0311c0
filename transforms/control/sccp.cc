// sccp: sparse conditional constant propagation over the blocks of a function. A block argument is
// constant if all jumps that can be taken pass the same constant. Source: Wegman and Zadeck,
// "Constant Propagation with Conditional Branches" (1991).
#include <memory>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/cf_ops.h"
#include "ir/dialect/core_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// Constants of this size are interned, so that equal ones are one attribute.
constexpr int64_t kMaxInternedBytes = 256;

bool IsSmall(Type type) {
  return type.is_tensor() && type.is_static() && type.num_elements() >= 0 &&
         type.num_elements() <= kMaxInternedBytes / static_cast<int64_t>(SizeOf(type.dtype()));
}

class ConstantPropagation {
 public:
  ConstantPropagation(Operation* function, PassContext& context)
      : region_(function->region()), context_(context) {}

  bool Run() {
    for (unsigned i = 0; i < region_.front().num_arguments(); ++i) {
      Set(region_.front().argument(i), std::nullopt);
    }
    Reach(&region_.front());
    while (!blocks_.empty() || !ops_.empty()) {
      if (!ops_.empty()) {
        Operation* const op = ops_.back();
        ops_.pop_back();
        if (reached_.contains(op->block())) Visit(*op);
        continue;
      }
      Block* const block = blocks_.back();
      blocks_.pop_back();
      for (Operation& op : *block) Visit(op);
    }
    return Replace();
  }

 private:
  // No entry: nothing is known yet. nullopt: it is not constant.
  using State = std::optional<Attribute>;

  void Reach(Block* block) {
    if (reached_.insert(block).second) blocks_.push_back(block);
  }

  void Set(Value value, State state) {
    const auto [at, inserted] = states_.emplace(value.impl(), state);
    if (!inserted) {
      if (at->second == state || !at->second) return;
      at->second = std::nullopt;  // two constants, or one that is none any more
    }
    for (OpOperand& use : value.uses()) {
      Operation* user = use.owner();
      while (user != nullptr && user->parent_region() != &region_) user = user->parent_op();
      if (user != nullptr) ops_.push_back(user);
    }
  }

  void Visit(Operation& op) {
    if (IsJump(op)) return VisitJump(op);
    for (unsigned s = 0; s < op.num_successors(); ++s) {
      for (unsigned i = 0; i < op.successor(s)->num_arguments(); ++i) {
        Set(op.successor(s)->argument(i), std::nullopt);
      }
      Reach(op.successor(s));
    }
    if (op.num_results() == 0) return;
    std::vector<Attribute> values;
    switch (Evaluate(op, values)) {
      case Outcome::kUnknown:
        return;
      case Outcome::kConstant:
        for (unsigned i = 0; i < op.num_results(); ++i) Set(op.result(i), values[i]);
        return;
      case Outcome::kVaries:
        for (unsigned i = 0; i < op.num_results(); ++i) Set(op.result(i), std::nullopt);
        return;
    }
  }

  void VisitJump(Operation& jump) {
    std::optional<bool> condition;
    if (Isa<cf::CondBrOp>(jump)) {
      const auto at = states_.find(jump.operand(0).impl());
      if (at == states_.end()) return;
      if (at->second && at->second->type().num_elements() == 1) {
        if (const std::optional<int64_t> known = at->second->ElementAsInt(0)) {
          condition = *known != 0;
        }
      }
    }
    for (unsigned s = 0; s < jump.num_successors(); ++s) {
      if (condition && *condition != (s == 0)) continue;
      Block* const to = jump.successor(s);
      const auto [first, count] = jump.successor_operands(s);
      for (unsigned i = 0; i < count; ++i) {
        const auto passed = states_.find(jump.operand(first + i).impl());
        if (passed != states_.end()) Set(to->argument(i), passed->second);
      }
      Reach(to);
    }
  }

  enum class Outcome : uint8_t { kUnknown, kConstant, kVaries };

  Outcome Evaluate(Operation& op, std::vector<Attribute>& values) {
    if (auto constant = DynCast<core::ConstantOp>(&op)) {
      if (!IsSmall(constant.out().type())) return Outcome::kVaries;
      values = {constant.value()};
      return Outcome::kConstant;
    }
    if (!op.info().is_registered() || op.num_regions() > 0 || !EffectsOf(op).pure() ||
        context_.evaluator == nullptr) {
      return Outcome::kVaries;
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (!IsSmall(op.result(i).type())) return Outcome::kVaries;
    }
    std::vector<Attribute> constants;
    bool unknown = false;
    for (OpOperand& operand : op.operands()) {
      const auto at = states_.find(operand.get().impl());
      unknown |= at == states_.end();
      if (at == states_.end()) continue;
      if (!at->second) return Outcome::kVaries;
      constants.push_back(*at->second);
    }
    if (unknown) return Outcome::kUnknown;
    absl::StatusOr<std::vector<Attribute>> computed = context_.evaluator->Evaluate(op, constants);
    if (!computed.ok() || computed->size() != op.num_results()) return Outcome::kVaries;
    values = *std::move(computed);
    return Outcome::kConstant;
  }

  // Puts constants in the place of values that are known. What computed them is left to dce.
  bool Replace() {
    int64_t replaced = 0;
    for (Block& block : region_) {
      if (!reached_.contains(&block)) continue;
      Operation* first = block.front();
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        replaced += ReplaceValue(block.argument(i), first) ? 1 : 0;
      }
      for (Operation *op = first, *next; op != nullptr; op = next) {
        next = op->next();
        if (op->Has(Trait::kConstantLike)) continue;
        for (unsigned i = 0; i < op->num_results(); ++i) {
          replaced += ReplaceValue(op->result(i), next) ? 1 : 0;
        }
      }
    }
    if (replaced > 0) context_.statistics->Add("values-replaced", replaced);
    return replaced > 0;
  }

  bool ReplaceValue(Value value, Operation* before) {
    const auto at = states_.find(value.impl());
    if (at == states_.end() || !at->second || !value.has_uses() ||
        at->second->type() != value.type()) {
      return false;
    }
    OpBuilder builder = OpBuilder::Before(before);
    const absl::StatusOr<core::ConstantOp> made =
        core::ConstantOp::Create(builder, value.location(), {.value = *at->second});
    if (!made.ok()) return false;
    value.ReplaceAllUsesWith(made->out());
    return true;
  }

  Region& region_;
  PassContext& context_;
  absl::flat_hash_map<ValueImpl*, State> states_;
  absl::flat_hash_set<Block*> reached_;
  std::vector<Block*> blocks_;
  std::vector<Operation*> ops_;
};

class Sccp : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    if (function->region().empty()) return PassResult{};
    return PassResult{ConstantPropagation(function, context).Run()};
  }
};

}  // namespace

PassInfo SccpPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"values-replaced", "values that are constants"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<Sccp>(); };
  return info;
}

}  // namespace tenon
