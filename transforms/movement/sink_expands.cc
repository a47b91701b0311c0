// sink-expands: an expand moves behind operations that give the same on fewer elements, and goes
// where they broadcast by themselves. What computes masks and position tables then runs on the
// extents that matter, and rules see one form.
#include <algorithm>
#include <optional>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/general/visit_order.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

using Dims = absl::InlinedVector<DimExpr, 6>;
using Made = absl::StatusOr<Value>;

bool IsKnownTensor(Type type) {
  return type.is_tensor() && std::none_of(type.dims().begin(), type.dims().end(),
                                          [](DimExpr d) { return d.is_unknown(); });
}

bool CommutesWithExpand(const Operation& op) {
  return op.Has(Trait::kElementwise) || op.id() == ten::CastOp::kId;
}

// A product over one element, which multiplies elements as ten.mul does.
bool IsOuterProduct(Operation* op) {
  const ten::MatmulOp matmul = DynCast<ten::MatmulOp>(op);
  if (!matmul) return false;
  const Type a = matmul.a().type(), b = matmul.b().type();
  return a.is_tensor() && b.is_tensor() && a.rank() > 1 && b.rank() > 1 &&
         a.dim(matmul.transpose_a() ? -2 : -1).is_constant(1) &&
         b.dim(matmul.transpose_b() ? -1 : -2).is_constant(1);
}

ten::ExpandOp ExpandOf(Value value) { return DefinedBy<ten::ExpandOp>(value); }

std::vector<DimExpr> DimsOf(Type type) { return {type.dims().begin(), type.dims().end()}; }

// x's extents with ones in front, up to `rank`.
Dims Padded(Type x, int64_t rank) {
  Dims dims(x.dims().begin(), x.dims().end());
  dims.insert(dims.begin(), rank - x.rank(), DimExpr::Constant(x.context(), 1));
  return dims;
}

class Sinking {
 public:
  explicit Sinking(PassContext& context) : context_(context) {}

  void Visit(Operation* op) {
    if (!op->info().is_registered() || op->num_results() != 1 || op->num_operands() == 0) return;
    if (!IsKnownTensor(op->result().type()) || !op->has_uses()) return;
    if (CommutesWithExpand(*op)) return VisitElementwise(op, 0);
    if (IsOuterProduct(op)) return VisitElementwise(op, 2);
    // What follows changes the first operand alone, or, for gather, the indices alone.
    const unsigned moved = op->id() == ten::GatherOp::kId ? 1 : 0;
    const ten::ExpandOp expand = ExpandOf(op->operand(moved));
    if (!expand || !IsKnownTensor(expand.x().type()) || !IsKnownTensor(expand.out().type())) return;
    OpBuilder builder = OpBuilder::Before(op);
    const absl::StatusOr<Value> small = Behind(builder, op, expand);
    if (small.ok() && *small) Replace(builder, op, *small);
  }

  bool changed() const { return changed_; }

 private:
  void Changed(std::string_view statistic) {
    changed_ = true;
    context_.statistics->Add(statistic);
  }

  // Operands keep `least` axes.
  void VisitElementwise(Operation* op, int64_t least) {
    absl::InlinedVector<Value, 3> operands;
    absl::InlinedVector<Type, 3> types;
    bool any = false;
    for (OpOperand& operand : op->operands()) {
      const ten::ExpandOp expand = ExpandOf(operand.get());
      const bool strip =
          expand && IsKnownTensor(expand.x().type()) && expand.x().type().rank() >= least;
      operands.push_back(strip ? expand.x() : operand.get());
      types.push_back(operands.back().type());
      any |= strip;
    }
    ResultTypes results;
    if (!any || !InferResultTypes(op->info(), op->location(), std::span<const Type>(types),
                                  op->slots(), results)
                     .ok()) {
      return;
    }
    if (results[0] == op->result().type()) {
      for (unsigned i = 0; i < op->num_operands(); ++i) op->set_operand(i, operands[i]);
      Changed("expands-dropped");
      return;
    }
    if (!IsKnownTensor(results[0])) return;
    OpBuilder builder = OpBuilder::Before(op);
    absl::StatusOr<Operation*> small =
        builder.CreateInferred(op->info(), op->location(), operands, op->slots());
    if (!small.ok()) return;
    if (const Attribute kept = op->discardable_attrs()) (*small)->SetDiscardableAttrs(kept);
    Replace(builder, op, (*small)->result());
  }

  // Puts expand(small) in op's place, if that has op's type.
  void Replace(OpBuilder& builder, Operation* op, Value small) {
    const Type type = op->result().type();
    const absl::StatusOr<ten::ExpandOp> expand =
        ten::ExpandOp::Create(builder, op->location(), small, {.shape = DimsOf(type)});
    if (!expand.ok() || expand->out().type() != type) {
      if (expand.ok()) expand->op()->Erase();
      if (Operation* made = small.defining_op(); made && !small.has_uses()) made->Erase();
      return;
    }
    op->result().ReplaceAllUsesWith(expand->out());
    Changed("expands-moved");
  }

  // The value that, expanded to the shape of op's result, is that result. Null if there is none.
  Made Behind(OpBuilder& builder, Operation* op, ten::ExpandOp expand) {
    switch (op->id()) {
      case ten::ExpandOp::kId:
        return expand.x();
      case ten::TransposeOp::kId:
        return BehindTranspose(builder, op, expand);
      case ten::ReshapeOp::kId:
        return BehindReshape(builder, op, expand);
      case ten::GatherOp::kId:
        return BehindGather(builder, op, expand);
      default:
        return Value();
    }
  }

  // The expand's operand with as many axes as its result.
  Made WithRank(OpBuilder& builder, Location location, ten::ExpandOp expand) {
    const Value x = expand.x();
    const int64_t rank = expand.out().type().rank();
    if (x.type().rank() == rank) return x;
    const Dims dims = Padded(x.type(), rank);
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp padded,
        ten::ReshapeOp::Create(builder, location, x, {.shape = {dims.begin(), dims.end()}}));
    return padded.out();
  }

  Made BehindTranspose(OpBuilder& builder, Operation* op, ten::ExpandOp expand) {
    TENON_ASSIGN_OR_RETURN(const Value x, WithRank(builder, op->location(), expand));
    const std::span<const int64_t> perm = ten::TransposeOp(op).perm();
    TENON_ASSIGN_OR_RETURN(
        const ten::TransposeOp moved,
        ten::TransposeOp::Create(builder, op->location(), x, {.perm = {perm.begin(), perm.end()}}));
    return moved.out();
  }

  // A reshape that only adds or removes axes of extent 1.
  Made BehindReshape(OpBuilder& builder, Operation* op, ten::ExpandOp expand) {
    const Type wide = expand.out().type(), out = op->result().type();
    const Dims x = Padded(expand.x().type(), wide.rank());
    std::vector<DimExpr> shape;
    int64_t at = 0;
    const auto skip_ones = [&] {
      while (at < wide.rank() && wide.dim(at).is_constant(1)) ++at;
    };
    for (DimExpr d : out.dims()) {
      if (d.is_constant(1)) {
        shape.push_back(d);
        continue;
      }
      skip_ones();
      if (at == wide.rank() || !DimExpr::ProvablyEqual(wide.dim(at), d)) return Value();
      shape.push_back(x[at++]);
    }
    skip_ones();
    if (at != wide.rank()) return Value();
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp reshape,
        ten::ReshapeOp::Create(builder, op->location(), expand.x(), {.shape = shape}));
    return reshape.out();
  }

  Made BehindGather(OpBuilder& builder, Operation* op, ten::ExpandOp expand) {
    TENON_ASSIGN_OR_RETURN(const Value indices, WithRank(builder, op->location(), expand));
    const ten::GatherOp gather(op);
    TENON_ASSIGN_OR_RETURN(const ten::GatherOp small,
                           ten::GatherOp::Create(builder, op->location(), gather.x(), indices,
                                                 {.axis = gather.axis()}));
    return small.out();
  }

  PassContext& context_;
  bool changed_ = false;
};

class SinkExpands : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    // Operands come before users, so that one walk takes an expand all the way.
    Sinking sinking(context);
    for (Operation* op : OpsToVisit(*function, VisitOrder::kOuterFirst)) sinking.Visit(op);
    bool changed = sinking.changed();
    const std::vector<Operation*> ops = OpsToVisit(*function, VisitOrder::kOuterFirst);
    for (auto it = ops.rbegin(); it != ops.rend(); ++it) {
      Operation* op = *it;
      if (op->num_regions() > 0 || !op->info().is_registered() || !op->Has(Trait::kPure) ||
          op->has_uses() || DefinesDims(*op)) {
        continue;
      }
      op->Erase();
      changed = true;
    }
    return PassResult{changed};
  }
};

}  // namespace

PassInfo SinkExpandsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"expands-dropped", "expands that the next operation does itself"},
                     {"expands-moved", "expands moved behind an operation"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<SinkExpands>(); };
  return info;
}

}  // namespace tenon
