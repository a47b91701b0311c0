// hoist-slices: where all that is read of a value are the same few slices along an axis (the class
// token, the last position), what computes every slice by itself computes these alone:
//   slice(layer_norm(x)) -> layer_norm(slice(x))
// The last layer of a classifier then makes queries, feed-forward and norms for one row.
#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"
#include "transforms/slices/sliced_form.h"
#include "transforms/slices/taken_slices.h"

namespace tenon {
namespace {

// Is what a pick leaves at most half, or one of an extent that only a run knows?
bool Pays(DimExpr count, DimExpr extent) {
  const DimExpr one = DimExpr::Constant(count.context(), 1);
  if (DimExpr::ProvablyLessEqual(count * 2, extent)) return true;
  return !extent.is_constant() && DimExpr::ProvablyLessEqual(count, one) &&
         !DimExpr::ProvablyLessEqual(extent, one);
}

bool IsKnown(Type type) {
  return type.is_tensor() && std::none_of(type.dims().begin(), type.dims().end(),
                                          [](DimExpr d) { return d.is_unknown(); });
}

// May a value of type `made` stand for one of type `old`?
bool Agrees(Type made, Type old) {
  if (made == old) return true;
  if (!made.is_tensor() || !old.is_tensor() || made.dtype() != old.dtype() ||
      made.rank() != old.rank()) {
    return false;
  }
  for (int64_t i = 0; i < made.rank(); ++i) {
    if (!made.dim(i).is_unknown() && !DimExpr::ProvablyEqual(made.dim(i), old.dim(i))) return false;
  }
  return true;
}

class Hoisting {
 public:
  Hoisting(Block& block, PassContext& context) : block_(block), context_(context) {}

  // What is made may be cut along another axis as well.
  void Visit(Operation* op) {
    while (op != nullptr) op = OnSlices(op);
  }

  // Removes what only attempts needed.
  void Finish() {
    for (const auto& [index, value] : indices_) {
      if (!value.has_uses()) value.defining_op()->Erase();
    }
  }

  bool changed() const { return changed_; }

 private:
  // The operation on the slices that are read of it, in its place; null if it stays.
  Operation* OnSlices(Operation* op) {
    const std::optional<Pick> first = FirstPick(*op);
    if (!first) return nullptr;
    // Which results are cut follows from the axis; what is taken of these decides the rest.
    const std::optional<SlicedForm> cut = FormOf(*op, *first, true);
    const std::optional<Pick> pick = cut ? JoinedPick(*op, *cut) : std::nullopt;
    if (!pick) return nullptr;
    const DimExpr extent = op->result().type().dim(pick->axis);
    if (!Pays(pick->count, extent)) return nullptr;
    const std::optional<SlicedForm> form = FormOf(*op, *pick, pick->IsTail(extent));
    if (!form || (pick->rows && !WorksOnRows(*op, *form))) return nullptr;
    // Something must still fail where there is no such element.
    const bool reads_all = std::ranges::all_of(
        form->operands, [](int64_t axis) { return axis == SlicedForm::kWhole; });
    if (reads_all && (pick->rows || pick->index)) return nullptr;
    return Remake(op, *form, *pick);
  }

  struct Replacement {
    Value from;
    Pick pick;
    Value to;
  };
  struct Attempt {
    std::vector<Operation*> made;
    // What computes the positions of rows, as far as it stands behind the operation, in order: it
    // moves in front of what is made.
    std::vector<Operation*> needed;
    std::vector<Operation*> later;  // slices that exist, but behind the operation
    std::vector<std::pair<Pick::Key, std::vector<Operation*>>> slices;  // `made` for operands
    std::vector<Replacement> picks;
  };

  // What the first use of op's results takes.
  static std::optional<Pick> FirstPick(Operation& op) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (!op.result(i).has_uses()) continue;
      const std::optional<Pick> pick = PickOf(*op.result(i).uses().begin());
      const Type type = op.result().type();
      return pick && type.is_tensor() && pick->axis < type.rank() ? pick : std::nullopt;
    }
    return std::nullopt;
  }

  static std::optional<SlicedForm> FormOf(Operation& op, const Pick& pick, bool is_tail) {
    return FormOfSlices(op, {.axis = pick.axis, .count = pick.count, .is_tail = is_tail});
  }

  // All that is taken of the results that `form` cuts; null if more than slices is read of them.
  std::optional<Pick> JoinedPick(Operation& op, const SlicedForm& form) const {
    std::optional<Pick> all;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (form.results[i] == SlicedForm::kWhole) continue;
      for (OpOperand& use : op.result(i).uses()) {
        const std::optional<Pick> pick = PickOf(use);
        if (!pick || use.owner()->block() != &block_) return std::nullopt;
        if (!all) all = pick;
        if (!all->Join(*pick)) return std::nullopt;
      }
    }
    return all;
  }

  // Does `op`, which makes slices of axis 1 so, also compute each element of axis 0 by itself, of
  // operands with the same two axes?
  static bool WorksOnRows(Operation& op, const SlicedForm& form) {
    const std::optional<SlicedForm> outer =
        FormOfSlices(op, {.axis = 0, .count = op.result().type().dim(0)});
    if (!outer) return false;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (form.results[i] != 1 || outer->results[i] != 0) return false;
    }
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      const bool is_whole = form.operands[i] == SlicedForm::kWhole;
      if (outer->operands[i] != (is_whole ? SlicedForm::kWhole : 0)) return false;
      if (!is_whole && form.operands[i] != 1) return false;
    }
    return true;
  }

  // Finds what computes `value` and stands behind `op`, in order. False if it cannot move.
  bool FindNeeded(Value value, Operation* op, std::vector<Operation*>& found) const {
    absl::flat_hash_set<Operation*> seen;
    std::vector<Value> open = {value};
    while (!open.empty()) {
      Operation* needed = open.back().defining_op();
      open.pop_back();
      if (needed == nullptr || needed->block() != &block_ || !op->IsBeforeInBlock(needed) ||
          !seen.insert(needed).second) {
        continue;
      }
      if (!EffectsOf(*needed).pure() || needed->num_regions() > 0) return false;
      found.push_back(needed);
      for (const OpOperand& operand : needed->operands()) open.push_back(operand.get());
    }
    std::sort(found.begin(), found.end(),
              [](const Operation* a, const Operation* b) { return a->IsBeforeInBlock(b); });
    return true;
  }

  // As far up as its operands allow, so that it need not move again.
  void MoveUp(Operation* op) const {
    Operation* last = nullptr;
    for (const OpOperand& operand : op->operands()) {
      Operation* def = operand.get().defining_op();
      if (def == nullptr || def->block() != &block_) continue;
      if (last == nullptr || last->IsBeforeInBlock(def)) last = def;
    }
    if (last != nullptr) {
      op->MoveAfter(last);
    } else if (op != block_.front()) {
      op->MoveBefore(block_.front());
    }
  }

  Operation* Remake(Operation* op, const SlicedForm& form, const Pick& pick) {
    OpBuilder builder = OpBuilder::Before(op);
    Attempt attempt;
    if (pick.rows && !FindNeeded(pick.rows, op, attempt.needed)) return nullptr;
    const absl::StatusOr<Operation*> small = MakeSmall(builder, op, form, pick, attempt);
    if (!small.ok() || !Replace(builder, op, *small, form, pick, attempt)) {
      for (auto it = attempt.made.rbegin(); it != attempt.made.rend(); ++it) (*it)->Erase();
      return nullptr;
    }
    for (Operation* needed : attempt.needed) MoveUp(needed);
    for (Operation* later : attempt.later) later->MoveBefore(attempt.made.front());
    slices_.insert(attempt.slices.begin(), attempt.slices.end());
    for (const auto& [from, taken, to] : attempt.picks) {
      slices_.erase(taken.KeyOf(from));
      Operation* via = taken.user->operand(0).defining_op();
      Forget(taken.user->result());
      if (taken.drops_axis) KeepAxis(taken.user->result(), to.defining_op()->operand(0));
      taken.user->result().ReplaceAllUsesWith(to);
      taken.user->Erase();
      if (via != op) via->Erase();
      if (taken.drops_axis && !to.has_uses()) to.defining_op()->Erase();
    }
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (form.results[i] == SlicedForm::kWhole) {
        Forget(op->result(i));
        op->result(i).ReplaceAllUsesWith((*small)->result(i));
      }
    }
    op->Erase();
    changed_ = true;
    context_.statistics->Add("slices-hoisted");
    return *small;
  }

  // Another value takes the place of this one: what is known of it, and of slices at the positions
  // that it holds, ends.
  void Forget(Value value) {
    for (const OpOperand& use : value.uses()) {
      if (const std::optional<Pick> pick = PickOf(use)) slices_.erase(pick->KeyOf(value));
    }
    if (value.type().dtype() != DType::kI64 && value.type().dtype() != DType::kI32) return;
    absl::erase_if(slices_, [&](const auto& entry) {
      return std::get<Pick::kRowsOfKey>(entry.first) == value.impl();
    });
  }

  // Reshapes that put the axis back, which `taken` has not, become `slices`.
  static void KeepAxis(Value taken, Value slices) {
    std::vector<Operation*> reshapes;
    for (OpOperand& use : taken.uses()) {
      if (Isa<ten::ReshapeOp>(use.owner()) && use.owner()->result().type() == slices.type()) {
        reshapes.push_back(use.owner());
      }
    }
    for (Operation* reshape : reshapes) {
      reshape->result().ReplaceAllUsesWith(slices);
      reshape->Erase();
    }
  }

  // The operation on slices of its operands.
  absl::StatusOr<Operation*> MakeSmall(OpBuilder& builder, Operation* op, const SlicedForm& form,
                                       const Pick& pick, Attempt& attempt) {
    absl::InlinedVector<Value, 6> operands;
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      Value operand = op->operand(i);
      if (form.operands[i] != SlicedForm::kWhole) {
        Pick part = pick;
        part.axis = form.operands[i];
        TENON_ASSIGN_OR_RETURN(operand, Picked(builder, op, operand, part, attempt));
      }
      operands.push_back(operand);
    }
    TENON_ASSIGN_OR_RETURN(Operation * small, builder.CreateInferred(op->info(), op->location(),
                                                                     operands, form.slots));
    attempt.made.push_back(small);
    if (const Attribute kept = op->discardable_attrs()) small->SetDiscardableAttrs(kept);
    return small;
  }

  // Notes what the picks of op's results become, with the types that they have.
  bool Replace(OpBuilder& builder, Operation* op, Operation* small, const SlicedForm& form,
               const Pick& pick, Attempt& attempt) {
    for (unsigned i = 0; i < op->num_results(); ++i) {
      Value result = small->result(i);
      if (form.results[i] == SlicedForm::kWhole) {
        if (!Agrees(result.type(), op->result(i).type())) return false;
        result.set_type(op->result(i).type());
        continue;
      }
      for (OpOperand& use : op->result(i).uses()) {
        const Pick taken = *PickOf(use);
        const absl::StatusOr<Value> value = PartOf(builder, result, taken, pick, attempt);
        if (!value.ok() || !*value) return false;
        attempt.picks.push_back({op->result(i), taken, *value});
      }
    }
    return true;
  }

  // What `pick` takes, of the slices that are made; null if it would have another type.
  absl::StatusOr<Value> PartOf(OpBuilder& builder, Value slices, const Pick& pick, const Pick& all,
                               Attempt& attempt) {
    const Location location = pick.user->location();
    const Type type = pick.user->result().type();
    if (!pick.TakesSame(all)) {
      TENON_ASSIGN_OR_RETURN(const ten::SliceOp part,
                             ten::SliceOp::Create(builder, location, slices,
                                                  {.axes = {pick.axis},
                                                   .starts = {pick.start - all.start},
                                                   .ends = {pick.end - all.start},
                                                   .steps = {1}}));
      attempt.made.push_back(part.op());
      slices = part.out();
    }
    if (!pick.drops_axis) {
      if (!Agrees(slices.type(), type)) return Value();
      slices.set_type(type);
      return slices;
    }
    if (!IsKnown(type)) return Value();
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp reshape,
        ten::ReshapeOp::Create(builder, location, slices,
                               {.shape = {type.dims().begin(), type.dims().end()}}));
    attempt.made.push_back(reshape.op());
    return reshape.out().type() == type ? reshape.out() : Value();
  }

  // The slices of `value`, which is an operand of `op`: ones that were made before, or new ones.
  absl::StatusOr<Value> Picked(OpBuilder& builder, Operation* op, Value value, const Pick& pick,
                               Attempt& attempt) {
    const Pick::Key key = pick.KeyOf(value);
    if (const auto found = slices_.find(key); found != slices_.end()) {
      for (Operation* part : found->second) {
        if (op->IsBeforeInBlock(part)) attempt.later.push_back(part);
      }
      return found->second.back()->result();
    }
    for (const auto& [other, parts] : attempt.slices) {
      if (other == key) return parts.back()->result();
    }
    const size_t first = attempt.made.size();
    TENON_ASSIGN_OR_RETURN(const Value slices,
                           MakePick(builder, op->location(), value, pick,
                                    pick.index ? Index(*pick.index) : Value(), attempt.made));
    attempt.slices.emplace_back(
        key, std::vector<Operation*>(attempt.made.begin() + static_cast<int64_t>(first),
                                     attempt.made.end()));
    return slices;
  }

  // A constant vector of one index, in front of everything that may need it.
  Value Index(int64_t index) {
    Value& value = indices_[index];
    if (!value) {
      OpBuilder builder = OpBuilder::Before(block_.front());
      Context& context = builder.context();
      const int64_t extent[] = {1};
      const Attribute elements = Attribute::Elements(
          context, Type::Tensor(context, DType::kI64, extent), std::as_bytes(std::span(&index, 1)));
      value = core::ConstantOp::Create(builder, Location(), {.value = elements})->out();
    }
    return value;
  }

  Block& block_;
  PassContext& context_;
  std::map<int64_t, Value> indices_;
  // What this pass has made to take slices, by what they are.
  absl::flat_hash_map<Pick::Key, std::vector<Operation*>> slices_;
  bool changed_ = false;
};

class HoistSlices : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    std::vector<Block*> blocks;
    function->WalkPreOrder([&](Operation* op) {
      for (unsigned r = 0; r < op->num_regions(); ++r) {
        for (Block& block : op->region(r)) blocks.push_back(&block);
      }
      return true;
    });
    PassResult result;
    for (Block* block : blocks) result.changed |= RunOn(*block, context);
    return result;
  }

 private:
  // Users come before what they read, so that one walk takes slices all the way.
  static bool RunOn(Block& block, PassContext& context) {
    std::vector<Operation*> ops;
    for (Operation& op : block) ops.push_back(&op);
    Hoisting hoisting(block, context);
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) hoisting.Visit(*it);
    hoisting.Finish();
    return hoisting.changed();
  }
};

}  // namespace

PassInfo HoistSlicesPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"slices-hoisted", "operations that compute only slices now"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<HoistSlices>(); };
  return info;
}

}  // namespace tenon
