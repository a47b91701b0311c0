// hoist-slices: where all that is read of a value are the same few slices along an axis (the class
// token, the last position), what computes every slice by itself computes these alone:
//   slice(layer_norm(x)) -> layer_norm(slice(x))
// The last layer of a classifier then makes queries, feed-forward and norms for one row.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"
#include "transforms/sliced_form.h"

namespace tenon {
namespace {

// What an operation takes of its operand 0: ten.slice of one axis, or ten.gather of one constant
// index.
struct Pick {
  int64_t axis = 0;
  std::optional<int64_t> index;  // gather; else
  DimExpr start, end;            // slice
  DimExpr count;
  bool drops_axis = false;

  bool TakesSame(const Pick& o) const {
    return axis == o.axis && index == o.index && start == o.start && end == o.end;
  }
  // Extends this to all that lies between it and `o`; false where that is not known.
  bool Join(const Pick& o);
};

bool Pick::Join(const Pick& o) {
  if (TakesSame(o)) return true;
  if (axis != o.axis || index || o.index) return false;
  for (DimExpr bound : {start, end, o.start, o.end}) {
    if (!bound.is_constant() || bound.constant() < 0) return false;
  }
  start = DimExpr::Constant(start.context(), std::min(start.constant(), o.start.constant()));
  end = DimExpr::Constant(start.context(), std::max(end.constant(), o.end.constant()));
  count = end - start;
  return true;
}

// Nonnegative bounds of a constant extent.
DimExpr Bound(DimExpr bound, DimExpr extent) {
  if (!extent.is_constant() || !bound.is_constant()) return bound;
  const int64_t n = extent.constant(), at = bound.constant();
  return DimExpr::Constant(extent.context(), std::clamp<int64_t>(at < 0 ? at + n : at, 0, n));
}

std::optional<Pick> PickOfSlice(ten::SliceOp slice) {
  if (slice.axes().size() != 1 || slice.steps()[0] != 1) return std::nullopt;
  const int64_t axis = slice.axes()[0];
  const Type x = slice.x().type(), out = slice.out().type();
  if (!x.is_tensor() || !out.is_tensor()) return std::nullopt;
  Pick pick;
  pick.axis = axis;
  pick.start = Bound(slice.starts()[0], x.dim(axis));
  pick.end = Bound(slice.ends()[0], x.dim(axis));
  pick.count = out.dim(axis);
  return pick;
}

std::optional<Pick> PickOfGather(ten::GatherOp gather) {
  const auto constant = DefinedBy<core::ConstantOp>(gather.indices());
  const Attribute indices = constant ? constant.value() : Attribute();
  const Type x = gather.x().type();
  if (!x.is_tensor() || !indices || indices.kind() != Attribute::Kind::kElements ||
      indices.type().num_elements() != 1 || indices.type().rank() > 1) {
    return std::nullopt;
  }
  Pick pick;
  pick.axis = gather.axis();
  pick.count = DimExpr::Constant(gather->context(), 1);
  pick.drops_axis = indices.type().rank() == 0;
  const DimExpr extent = x.dim(pick.axis);
  const int64_t index = indices.ElementAsInt(0);
  if (extent.is_constant() && -extent.constant() <= index && index < extent.constant()) {
    pick.start = Bound(DimExpr::Constant(gather->context(), index), extent);
    pick.end = pick.start + 1;
  } else {
    pick.index = index;
  }
  return pick;
}

std::optional<Pick> PickOf(const OpOperand& use) {
  Operation* user = use.owner();
  if (use.index() != 0 || !user->info().is_registered()) return std::nullopt;
  std::optional<Pick> pick;
  if (auto slice = DynCast<ten::SliceOp>(user)) pick = PickOfSlice(slice);
  if (auto gather = DynCast<ten::GatherOp>(user)) pick = PickOfGather(gather);
  if (pick && pick->count.is_unknown()) return std::nullopt;
  return pick;
}

bool IsTail(const Pick& pick, DimExpr extent) {
  if (pick.index) return *pick.index == -1;
  return DimExpr::ProvablyEqual(pick.end, extent) ||
         (pick.end.is_constant() && pick.end.constant() >= std::numeric_limits<int32_t>::max());
}

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

  void Visit(Operation* op) {
    const std::optional<Pick> pick = JoinedPick(*op);
    if (!pick) return;
    const DimExpr extent = op->result().type().dim(pick->axis);
    if (!Pays(pick->count, extent)) return;
    const std::optional<SlicedForm> form = FormOfSlices(
        *op, {.axis = pick->axis, .count = pick->count, .is_tail = IsTail(*pick, extent)});
    if (!form || !ReadsSlicesOnly(*op, *form)) return;
    Remake(op, *form, *pick);
  }

  // Removes what only attempts needed.
  void Finish() {
    for (const auto& [index, value] : indices_) {
      if (!value.has_uses()) value.defining_op()->Erase();
    }
  }

  bool changed() const { return changed_; }

 private:
  // A value, and what is taken of it: axis, index, bounds.
  using Key = std::tuple<ValueImpl*, int64_t, std::optional<int64_t>, const void*, const void*>;
  struct Attempt {
    std::vector<Operation*> made;
    std::vector<Operation*> later;                    // slices that exist, but behind the operation
    std::vector<std::pair<Key, Operation*>> slices;   // those among `made` that are of operands
    std::vector<std::pair<Operation*, Value>> picks;  // and what they are replaced by
  };

  static Key KeyOf(Value value, const Pick& pick) {
    return {value.impl(), pick.axis, pick.index, pick.start.storage(), pick.end.storage()};
  }

  // What is taken of op's results, as far as slices are taken of them.
  static std::optional<Pick> JoinedPick(Operation& op) {
    std::optional<Pick> all;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      for (OpOperand& use : op.result(i).uses()) {
        const std::optional<Pick> pick = PickOf(use);
        if (!pick && !all) return std::nullopt;
        if (!pick) break;
        if (!all) all = pick;
        if (!all->Join(*pick)) return std::nullopt;
      }
    }
    const Type type = op.num_results() > 0 ? op.result().type() : Type();
    return all && type.is_tensor() && all->axis < type.rank() ? all : std::nullopt;
  }

  // Are slices all that is read of the results that `form` cuts?
  bool ReadsSlicesOnly(Operation& op, const SlicedForm& form) const {
    bool any = false;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (form.results[i] == SlicedForm::kWhole) continue;
      for (OpOperand& use : op.result(i).uses()) {
        if (!PickOf(use) || use.owner()->block() != &block_) return false;
        any = true;
      }
    }
    return any;
  }

  void Remake(Operation* op, const SlicedForm& form, const Pick& pick) {
    OpBuilder builder = OpBuilder::Before(op);
    Attempt attempt;
    const absl::StatusOr<Operation*> small = MakeSmall(builder, op, form, pick, attempt);
    if (!small.ok() || !Replace(builder, op, *small, form, pick, attempt)) {
      for (auto it = attempt.made.rbegin(); it != attempt.made.rend(); ++it) (*it)->Erase();
      return;
    }
    for (Operation* later : attempt.later) later->MoveBefore(attempt.made.front());
    slices_.insert(attempt.slices.begin(), attempt.slices.end());
    for (const auto& [user, value] : attempt.picks) {
      slices_.erase(KeyOf(user->operand(0), *PickOf(user->operands()[0])));
      user->result().ReplaceAllUsesWith(value);
      user->Erase();
    }
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (form.results[i] == SlicedForm::kWhole) {
        op->result(i).ReplaceAllUsesWith((*small)->result(i));
      }
    }
    op->Erase();
    changed_ = true;
    context_.statistics->Add("slices-hoisted");
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
        const absl::StatusOr<Value> value = PartOf(builder, result, use, pick, attempt);
        if (!value.ok() || !*value) return false;
        attempt.picks.emplace_back(use.owner(), *value);
      }
    }
    return true;
  }

  // What `use` takes, of the slices that are made; null if it would have another type.
  absl::StatusOr<Value> PartOf(OpBuilder& builder, Value slices, const OpOperand& use,
                               const Pick& all, Attempt& attempt) {
    const Pick pick = *PickOf(use);
    const Location location = use.owner()->location();
    const Type type = use.owner()->result().type();
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
    const Key key = KeyOf(value, pick);
    if (const auto found = slices_.find(key); found != slices_.end()) {
      if (op->IsBeforeInBlock(found->second)) attempt.later.push_back(found->second);
      return found->second->result();
    }
    for (const auto& [other, slice] : attempt.slices) {
      if (other == key) return slice->result();
    }
    if (pick.index) {
      TENON_ASSIGN_OR_RETURN(const ten::GatherOp gather,
                             ten::GatherOp::Create(builder, op->location(), value,
                                                   Index(*pick.index), {.axis = pick.axis}));
      attempt.made.push_back(gather.op());
      attempt.slices.emplace_back(key, gather.op());
      return gather.out();
    }
    TENON_ASSIGN_OR_RETURN(
        const ten::SliceOp slice,
        ten::SliceOp::Create(
            builder, op->location(), value,
            {.axes = {pick.axis}, .starts = {pick.start}, .ends = {pick.end}, .steps = {1}}));
    attempt.made.push_back(slice.op());
    attempt.slices.emplace_back(key, slice.op());
    return slice.out();
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
  absl::flat_hash_map<Key, Operation*> slices_;  // that this pass has made, by what they are
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
  info.create = [](const PassOptionValues&) { return std::make_unique<HoistSlices>(); };
  return info;
}

}  // namespace tenon
