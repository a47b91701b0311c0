// hoist-slices: where all that is read of a value are the same few slices along an axis (the class
// token, the last position), what computes every slice by itself computes these alone:
//   slice(layer_norm(x)) -> layer_norm(slice(x))
// The last layer of a classifier then makes queries, feed-forward and norms for one row.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

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
};

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
    const std::optional<Pick> pick = FirstPick(*op);
    if (!pick) return;
    const DimExpr extent = op->result().type().dim(pick->axis);
    if (!Pays(pick->count, extent)) return;
    const std::optional<SlicedForm> form = FormOfSlices(
        *op, {.axis = pick->axis, .count = pick->count, .is_tail = IsTail(*pick, extent)});
    if (!form || !IsAllThatIsRead(*op, *form, *pick)) return;
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
  struct Attempt {
    std::vector<Operation*> made;
    std::vector<Operation*> later;                    // slices that exist, but behind the operation
    std::vector<std::pair<Operation*, Value>> picks;  // and what they are replaced by
  };

  static std::optional<Pick> FirstPick(Operation& op) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (!op.result(i).has_uses()) continue;
      const std::optional<Pick> pick = PickOf(*op.result(i).uses().begin());
      const Type type = op.result().type();
      return type.is_tensor() && pick && pick->axis < type.rank() ? pick : std::nullopt;
    }
    return std::nullopt;
  }

  bool IsAllThatIsRead(Operation& op, const SlicedForm& form, const Pick& pick) const {
    bool any = false;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (form.results[i] == SlicedForm::kWhole) continue;
      for (OpOperand& use : op.result(i).uses()) {
        const std::optional<Pick> other = PickOf(use);
        if (!other || !other->TakesSame(pick) || use.owner()->block() != &block_) return false;
        any = true;
      }
    }
    return any;
  }

  void Remake(Operation* op, const SlicedForm& form, const Pick& pick) {
    OpBuilder builder = OpBuilder::Before(op);
    Attempt attempt;
    const absl::StatusOr<Operation*> small = MakeSmall(builder, op, form, pick, attempt);
    if (!small.ok() || !Replace(builder, op, *small, form, attempt)) {
      for (auto it = attempt.made.rbegin(); it != attempt.made.rend(); ++it) (*it)->Erase();
      return;
    }
    for (Operation* later : attempt.later) later->MoveBefore(attempt.made.front());
    for (const auto& [user, value] : attempt.picks) {
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
               Attempt& attempt) {
    for (unsigned i = 0; i < op->num_results(); ++i) {
      Value result = small->result(i);
      if (form.results[i] == SlicedForm::kWhole) {
        if (!Agrees(result.type(), op->result(i).type())) return false;
        result.set_type(op->result(i).type());
        continue;
      }
      for (OpOperand& use : op->result(i).uses()) {
        Operation* user = use.owner();
        const Type type = user->result().type();
        if (!PickOf(use)->drops_axis) {
          if (!Agrees(result.type(), type)) return false;
          result.set_type(type);
          attempt.picks.emplace_back(user, result);
          continue;
        }
        if (!IsKnown(type)) return false;
        const absl::StatusOr<ten::ReshapeOp> reshape = ten::ReshapeOp::Create(
            builder, user->location(), result, {.shape = {type.dims().begin(), type.dims().end()}});
        if (!reshape.ok()) return false;
        attempt.made.push_back(reshape->op());
        if (reshape->out().type() != type) return false;
        attempt.picks.emplace_back(user, reshape->out());
      }
    }
    return true;
  }

  // The slices of `value`, which is an operand of `op`: ones that exist, or new ones.
  absl::StatusOr<Value> Picked(OpBuilder& builder, Operation* op, Value value, const Pick& pick,
                               Attempt& attempt) {
    for (OpOperand& use : value.uses()) {
      const std::optional<Pick> other = PickOf(use);
      Operation* user = use.owner();
      if (!other || other->drops_axis || !other->TakesSame(pick) || user->block() != &block_) {
        continue;
      }
      if (pick.index && user->operand(1) != Index(*pick.index)) continue;
      if (op->IsBeforeInBlock(user)) attempt.later.push_back(user);
      return user->result();
    }
    if (pick.index) {
      TENON_ASSIGN_OR_RETURN(const ten::GatherOp gather,
                             ten::GatherOp::Create(builder, op->location(), value,
                                                   Index(*pick.index), {.axis = pick.axis}));
      attempt.made.push_back(gather.op());
      return gather.out();
    }
    TENON_ASSIGN_OR_RETURN(
        const ten::SliceOp slice,
        ten::SliceOp::Create(
            builder, op->location(), value,
            {.axes = {pick.axis}, .starts = {pick.start}, .ends = {pick.end}, .steps = {1}}));
    attempt.made.push_back(slice.op());
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
