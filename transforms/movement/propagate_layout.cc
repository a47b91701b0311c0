// propagate-layout: convolutions and pools take their images with the channels last, and so does
// what works between them; transposes stay where channels first are asked for from outside.
//
// One walk in program order. A value of shape [N, C, spatial…] has a twin [N, spatial…, C] from
// which it is made by a transpose (`born`), or which is made from it for an operation that wants
// it. An operation that can work on twins is made anew on them, and a transpose of its result
// stands in for it; transposes that nobody reads in the end go.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/q_ops.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/ten_ops.h"
#include "pass/reports/pass_log.h"
#include "transforms/movement/image_axes.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

using Made = absl::StatusOr<Value>;

// A value with its channels last.
struct Twin {
  Value value;
  bool born = false;      // the value with the channels first is made from this one
  bool attracts = false;  // elementwise operations move to it
};

bool IsImageOp(const Operation& op) {
  return op.id() == nn::ConvOp::kId || op.id() == fused::ConvOp::kId || op.id() == q::ConvOp::kId ||
         op.id() == nn::ConvTransposeOp::kId || op.id() == fused::ConvTransposeOp::kId ||
         op.id() == nn::MaxPoolOp::kId || op.id() == nn::AveragePoolOp::kId;
}

bool WorksPerElement(const Operation& op) {
  return op.Has(Trait::kElementwise) || op.id() == ten::CastOp::kId;
}

bool IsOne(Type type) { return type.is_static() && type.num_elements() == 1; }

// Is there no other order of its elements, wherever its axes go?
bool HasOneAxis(Type type) {
  return std::count_if(type.dims().begin(), type.dims().end(),
                       [](DimExpr d) { return !d.is_constant(1); }) <= 1;
}

bool HasKnownShape(Type type) {
  return std::none_of(type.dims().begin(), type.dims().end(),
                      [](DimExpr d) { return d.is_unknown(); });
}

Type ChannelsLastType(Type type) {
  if (!type.is_tensor()) return type;
  std::vector<DimExpr> dims;
  for (int64_t axis : ChannelsLast(type.rank())) dims.push_back(type.dim(axis));
  return Type::Tensor(type.context(), type.dtype(), dims);
}

// May values of the one type be of the other, as far as can be told?
bool AgreesWith(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor() || a.dtype() != b.dtype() || a.rank() != b.rank()) {
    return false;
  }
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (ProvablyDifferent(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

bool IsConstant(Value value) { return bool(DefinedBy<core::ConstantOp>(value)); }

class Propagation {
 public:
  Propagation(PassContext& context, const Operation* function)
      : context_(context), log_(context, "propagate-layout", function) {}

  absl::Status Visit(Operation* op) {
    if (!op->info().is_registered() || op->num_results() == 0 || op->num_operands() == 0) {
      return absl::OkStatus();
    }
    if (IsImageOp(*op)) return VisitImageOp(op);
    if (op->id() == ten::TransposeOp::kId) return VisitTranspose(op);
    if (op->id() == ten::ReshapeOp::kId) {
      TENON_ASSIGN_OR_RETURN(const bool moved, VisitPixelMove(op));
      return moved ? absl::OkStatus() : VisitReshape(op);
    }
    if (op->id() == nn::GroupNormOp::kId) return VisitGroupNorm(op);
    if (WorksPerElement(*op) || op->id() == fused::GatedOp::kId) return VisitElementwise(op);
    return VisitAlongAxes(op);
  }

  // Erases what the walk has made or replaced and nobody reads. True if anything has changed.
  bool Finish() {
    for (bool erased = true; erased;) {
      erased = false;
      for (auto it = candidates_.rbegin(); it != candidates_.rend(); ++it) {
        if (*it == nullptr || HasUses(**it)) continue;
        (*it)->Erase();
        *it = nullptr;
        erased = true;
      }
    }
    return moved_ > 0;
  }

 private:
  static bool HasUses(Operation& op) {
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (op.result(i).has_uses()) return true;
    }
    return false;
  }

  const Twin* Find(Value value) const {
    const auto it = twins_.find(value.impl());
    return it == twins_.end() ? nullptr : &it->second;
  }
  bool IsBorn(Value value) const {
    const Twin* twin = Find(value);
    return twin != nullptr && twin->born;
  }

  Made MakePermuted(OpBuilder& builder, Location location, Value x, std::span<const int64_t> perm) {
    TENON_ASSIGN_OR_RETURN(const Value made, Permuted(builder, location, x, perm));
    if (made != x) candidates_.push_back(made.defining_op());
    return made;
  }

  // The twin of a value of the rank of the image; made behind its definition where it has none.
  Made TwinOf(Operation* user, Value value) {
    if (const Twin* twin = Find(value)) return twin->value;
    const Permutation perm = ChannelsLast(value.type().rank());
    // Not out of a branch or a loop, where it may not be needed.
    const bool is_local = value.parent_block() == user->block();
    OpBuilder builder = !is_local || value.is_block_argument()
                            ? OpBuilder::Before(is_local ? user->block()->front() : user)
                            : OpBuilder::After(value.defining_op());
    TENON_ASSIGN_OR_RETURN(const Value twin, MakePermuted(builder, user->location(), value, perm));
    if (is_local) twins_[value.impl()] = {twin};
    return twin;
  }

  // An operand of an elementwise operation whose result is an image of rank `rank`.
  Made TwinOfOperand(Operation* user, Value value, int64_t rank) {
    const Type type = value.type();
    if (IsOne(type)) return value;
    if (type.rank() == rank) return TwinOf(user, value);
    std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
    dims.insert(dims.begin(), static_cast<size_t>(rank - type.rank()),
                DimExpr::Constant(user->context(), 1));
    OpBuilder builder = OpBuilder::Before(user);
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp padded,
        ten::ReshapeOp::Create(builder, user->location(), value, {.shape = dims}));
    candidates_.push_back(padded.op());
    const Value wide = padded.out();
    return MakePermuted(builder, user->location(), wide, ChannelsLast(rank));
  }

  // Makes `op` anew on `operands`. Each result stands for the twin of the old one, or for the old
  // one itself (`same_result`).
  absl::Status Replace(Operation* op, std::span<const Value> operands,
                       std::span<const Attribute> slots, bool same_result) {
    OpBuilder builder = OpBuilder::Before(op);
    absl::StatusOr<Operation*> made =
        builder.CreateInferred(op->info(), op->location(), operands, slots);
    if (!made.ok()) return Stays(op, op, std::string(made.status().message()));
    if (const Attribute kept = op->discardable_attrs()) (*made)->SetDiscardableAttrs(kept);
    std::vector<Value> stands_for;
    for (unsigned i = 0; i < op->num_results(); ++i) {
      Value result = (*made)->result(i);
      // What was known of the extents, which inference alone may say in other words.
      const Type known =
          same_result ? op->result(i).type() : ChannelsLastType(op->result(i).type());
      if (AgreesWith(result.type(), known)) result.set_type(known);
      if (!same_result) {
        TENON_ASSIGN_OR_RETURN(result, MakePermuted(builder, op->location(), result,
                                                    ChannelsFirst(op->result(i).type().rank())));
      }
      if (result.type() != op->result(i).type()) {
        candidates_.push_back(*made);
        return Stays(op, op,
                     fmt::format("with channels last its result would be {} instead of {}",
                                 result.type().text(), op->result(i).type().text()));
      }
      stands_for.push_back(result);
    }
    for (unsigned i = 0; i < op->num_results(); ++i) {
      op->result(i).ReplaceAllUsesWith(stands_for[i]);
      if (!same_result) twins_[stands_for[i].impl()] = {(*made)->result(i), true, true};
    }
    candidates_.push_back(op);
    Moved(op, *made);
    return absl::OkStatus();
  }

  void Moved(Operation* op, const Operation* made) {
    ++moved_;
    context_.statistics->Add("operations-moved");
    log_.Hit({&op, 1}, made);
  }

  // Notes why an operation on images stays as it is; `at` is what is in the way.
  absl::Status Stays(Operation* op, const Operation* at, std::string reason) {
    log_.Miss({&op, 1}, at, std::move(reason));
    return absl::OkStatus();
  }

  // The operation that makes a value, or else the one that reads it.
  static const Operation* MakerOr(Value value, const Operation* reader) {
    const Operation* maker = value.defining_op();
    return maker == nullptr ? reader : maker;
  }

  absl::Status VisitImageOp(Operation* op) {
    const Type x = op->operand(0).type();
    if (op->attr("layout").str() == "nhwc") return absl::OkStatus();
    if (!x.is_tensor() || x.rank() < 3 || !op->result().type().is_tensor()) {
      return Stays(op, MakerOr(op->operand(0), op),
                   fmt::format("the image is {}, a tensor of known rank is wanted", x.text()));
    }
    // A pool is as good with channels first, unless what it reads has them last.
    const bool is_pool = op->id() == nn::MaxPoolOp::kId || op->id() == nn::AveragePoolOp::kId;
    if (is_pool && !IsBorn(op->operand(0))) return absl::OkStatus();
    absl::InlinedVector<Value, 4> operands(op->operands().size());
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      operands[i] = op->operand(i);
      if (i != 0 && !IsResidual(*op, i)) continue;
      if (!operands[i].type().is_tensor() || operands[i].type().rank() != x.rank()) {
        return Stays(op, MakerOr(operands[i], op),
                     fmt::format("operand {} is {}, an image like {} is wanted", i,
                                 operands[i].type().text(), x.text()));
      }
    }
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      if (i != 0 && !IsResidual(*op, i)) continue;
      TENON_ASSIGN_OR_RETURN(operands[i], TwinOf(op, operands[i]));
    }
    std::vector<Attribute> slots(op->slots().begin(), op->slots().end());
    slots[static_cast<size_t>(op->info().FindSlot("layout"))] =
        Attribute::Str(op->context(), "nhwc");
    return Replace(op, operands, slots, false);
  }

  static bool IsResidual(Operation& op, unsigned operand) {
    return op.id() == fused::ConvOp::kId && fused::ConvOp(&op).residual() == op.operand(operand) &&
           operand == op.num_operands() - 1;
  }

  absl::Status VisitTranspose(Operation* op) {
    const ten::TransposeOp transpose(op);
    const Type type = op->result().type();
    if (!type.is_tensor()) return absl::OkStatus();
    const int64_t rank = type.rank();
    const std::span<const int64_t> perm = transpose.perm();
    if (const Twin* twin = Find(transpose.x());
        twin != nullptr && rank >= 3 &&
        (twin->born || std::ranges::equal(perm, ChannelsLast(rank)))) {
      const Value from = twin->value;
      OpBuilder builder = OpBuilder::Before(op);
      TENON_ASSIGN_OR_RETURN(const Value made, MakePermuted(builder, op->location(), from,
                                                            Compose(ChannelsFirst(rank), perm)));
      if (made.type() != type) return absl::OkStatus();
      op->result().ReplaceAllUsesWith(made);
      candidates_.push_back(op);
      ++moved_;
      context_.statistics->Add("transposes-met");
      return absl::OkStatus();
    }
    if (rank >= 3 && std::ranges::equal(perm, ChannelsFirst(rank))) {
      twins_[op->result().impl()] = {transpose.x(), true, rank >= 4};
    }
    if (rank >= 3 && std::ranges::equal(perm, ChannelsLast(rank)) &&
        transpose.x().parent_block() == op->block()) {
      twins_.try_emplace(transpose.x().impl(), Twin{op->result()});
    }
    return absl::OkStatus();
  }

  // A reshape, a transpose and this reshape, by which pixels and channels change places.
  absl::StatusOr<bool> VisitPixelMove(Operation* op) {
    const ten::TransposeOp transpose = DefinedBy<ten::TransposeOp>(op->operand(0));
    if (!transpose || !transpose.out().has_one_use()) return false;
    const ten::ReshapeOp split = DefinedBy<ten::ReshapeOp>(transpose.x());
    if (!split || !IsBorn(split.x())) return false;
    const Value x = split.x();
    const Type type = op->result().type();
    const std::optional<PixelMove> move =
        ChannelsLastMove(x.type(), split.out().type(), transpose.perm(), type);
    if (!move) return false;
    OpBuilder builder = OpBuilder::Before(op);
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp wide,
        ten::ReshapeOp::Create(builder, op->location(), Find(x)->value, {.shape = move->split}));
    TENON_ASSIGN_OR_RETURN(
        const ten::TransposeOp moved,
        ten::TransposeOp::Create(builder, op->location(), wide.out(), {.perm = move->perm}));
    TENON_ASSIGN_OR_RETURN(
        const ten::ReshapeOp joined,
        ten::ReshapeOp::Create(builder, op->location(), moved.out(), {.shape = move->joined}));
    TENON_ASSIGN_OR_RETURN(const Value result, MakePermuted(builder, op->location(), joined.out(),
                                                            ChannelsFirst(type.rank())));
    if (result.type() != type) return absl::InternalError("a move of pixels has another type");
    op->result().ReplaceAllUsesWith(result);
    twins_[result.impl()] = {joined.out(), true, true};
    for (Operation* replaced : {split.op(), transpose.op(), op}) candidates_.push_back(replaced);
    ++moved_;
    context_.statistics->Add("pixels-moved");
    return true;
  }

  // [N, C, spatial…] to [N, C, others…].
  absl::Status VisitReshape(Operation* op) {
    const Value x = op->operand(0);
    const Type type = op->result().type();
    if (!IsBorn(x) || !type.is_tensor() || type.rank() < 3) return absl::OkStatus();
    for (int axis : {0, 1}) {
      if (!DimExpr::ProvablyEqual(type.dim(axis), x.type().dim(axis))) {
        return Stays(op, op,
                     fmt::format("it makes {} of {}, which moves axis {}", type.text(),
                                 x.type().text(), axis));
      }
    }
    std::vector<DimExpr> shape;
    const std::span<const DimExpr> dims = ten::ReshapeOp(op).shape();
    for (int64_t axis : ChannelsLast(type.rank())) shape.push_back(dims[static_cast<size_t>(axis)]);
    const Attribute slots[] = {Attribute::Dims(op->context(), shape)};
    const Value operands[] = {Find(x)->value};
    return Replace(op, operands, slots, false);
  }

  // One group is everything behind axis 0, in whatever order: a layer norm, whose scale and bias
  // follow as operations of their own, for they are one per channel.
  absl::Status VisitGroupNorm(Operation* op) {
    const nn::GroupNormOp norm(op);
    const Type type = op->result().type();
    const Twin* twin = Find(norm.x());
    if (twin == nullptr || !twin->attracts || !type.is_tensor()) return absl::OkStatus();
    if (norm.groups() != 1) {
      return Stays(op, op,
                   fmt::format("it has {} groups, only one reads channels last", norm.groups()));
    }
    OpBuilder builder = OpBuilder::Before(op);
    TENON_ASSIGN_OR_RETURN(const nn::LayerNormOp layer,
                           nn::LayerNormOp::Create(builder, op->location(), twin->value, {}, {},
                                                   {.axis = 1, .epsilon = norm.epsilon()}));
    candidates_.push_back(layer.op());
    Value made = layer.out();
    if (norm.scale()) {
      TENON_ASSIGN_OR_RETURN(const ten::MulOp scaled,
                             ten::MulOp::Create(builder, op->location(), made, norm.scale()));
      candidates_.push_back(scaled.op());
      made = scaled.out();
    }
    if (norm.bias()) {
      TENON_ASSIGN_OR_RETURN(const ten::AddOp shifted,
                             ten::AddOp::Create(builder, op->location(), made, norm.bias()));
      candidates_.push_back(shifted.op());
      made = shifted.out();
    }
    const Type known = ChannelsLastType(type);
    if (AgreesWith(made.type(), known)) made.set_type(known);
    TENON_ASSIGN_OR_RETURN(const Value result,
                           MakePermuted(builder, op->location(), made, ChannelsFirst(type.rank())));
    if (result.type() != type) return absl::OkStatus();  // stays as it is
    op->result().ReplaceAllUsesWith(result);
    twins_[result.impl()] = {made, true, true};
    candidates_.push_back(op);
    Moved(op, made.defining_op());
    return absl::OkStatus();
  }

  absl::Status VisitElementwise(Operation* op) {
    const Type type = op->result().type();
    if (!type.is_tensor() || type.rank() < 3 || op->num_results() != 1) return absl::OkStatus();
    const int64_t rank = type.rank();
    int64_t attracted = 0, transposed = 0;
    Value other;  // one that has to be transposed
    for (OpOperand& operand : op->operands()) {
      const Value value = operand.get();
      if (!value.type().is_tensor() || value.type().rank() > rank) return absl::OkStatus();
      if (value.type().rank() < rank && !IsOne(value.type()) && !HasKnownShape(value.type())) {
        return IsImageUser(*op)
                   ? Stays(op, MakerOr(value, op),
                           fmt::format("the shape of {} is not known", value.type().text()))
                   : absl::OkStatus();
      }
      if (value.type().rank() < rank || IsOne(value.type())) {
        const bool moves = !IsConstant(value) && !HasOneAxis(value.type());
        transposed += moves;
        if (moves) other = value;
        continue;
      }
      const Twin* twin = Find(value);
      attracted += twin != nullptr && twin->attracts;
      const bool moves =
          twin == nullptr && !KeepsOrder(value.type(), ChannelsLast(rank)) && !IsConstant(value);
      transposed += moves;
      if (moves) other = value;
    }
    if (attracted == 0) return absl::OkStatus();
    // Moving what has to be transposed for it only pays where it spares more transposes.
    if (transposed > 0 && transposed >= attracted)
      return StaysFor(op, other, attracted, transposed);
    absl::InlinedVector<Value, 4> operands;
    for (OpOperand& operand : op->operands()) {
      TENON_ASSIGN_OR_RETURN(const Value twin, TwinOfOperand(op, operand.get(), rank));
      operands.push_back(twin);
    }
    return Replace(op, operands, op->slots(), false);
  }

  absl::Status StaysFor(Operation* op, Value other, int64_t attracted, int64_t transposed) {
    return Stays(
        op, MakerOr(other, op),
        fmt::format("{} of its images have channels last and {} would be transposed for it",
                    attracted, transposed));
  }

  // True if the operation reads an image with channels last.
  bool IsImageUser(const Operation& op) const {
    return std::any_of(op.operands().begin(), op.operands().end(), [&](const OpOperand& operand) {
      const Twin* twin = Find(operand.get());
      return twin != nullptr && twin->attracts;
    });
  }

  absl::Status VisitAlongAxes(Operation* op) {
    const Type x = op->operand(0).type();
    if (!x.is_tensor() || x.rank() < 3) return absl::OkStatus();
    const bool joins = op->id() == ten::ConcatOp::kId;
    int64_t attracted = 0, transposed = 0;
    Value other;  // one that has to be transposed
    for (unsigned i = 0; i < (joins ? op->num_operands() : 1); ++i) {
      const Twin* twin = Find(op->operand(i));
      attracted += twin != nullptr && twin->attracts;
      transposed += twin == nullptr;
      if (twin == nullptr) other = op->operand(i);
    }
    if (attracted == 0) return absl::OkStatus();
    if (transposed > 0 && transposed >= attracted)
      return StaysFor(op, other, attracted, transposed);
    const std::optional<ChannelsLastForm> form = AlongAxes(*op, x.rank());
    if (!form) {
      return Stays(op, op,
                   fmt::format("{} of these axes has no form with channels last", op->name()));
    }
    absl::InlinedVector<Value, 4> operands;
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      operands.push_back(op->operand(i));
      if (i > 0 && !joins) continue;
      TENON_ASSIGN_OR_RETURN(operands[i], TwinOf(op, operands[i]));
    }
    return Replace(op, operands, form->slots, form->same_result);
  }

  PassContext& context_;
  PassLog log_;
  absl::flat_hash_map<ValueImpl*, Twin> twins_;  // looked up, never iterated
  std::vector<Operation*> candidates_;           // to erase when nobody reads them
  int64_t moved_ = 0;
};

class PropagateLayout : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    std::vector<Operation*> ops;
    function->WalkPreOrder([&](Operation* op) {
      if (op != function) ops.push_back(op);
      return true;
    });
    Propagation propagation(context, function);
    for (Operation* op : ops) TENON_RETURN_IF_ERROR(propagation.Visit(op));
    return PassResult{propagation.Finish()};
  }
};

}  // namespace

PassInfo PropagateLayoutPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.explains = true;
  info.statistics = {{"operations-moved", "operations on images with channels last now"},
                     {"pixels-moved", "operations on single pixels moved, too"},
                     {"transposes-met", "transposes that cancel"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<PropagateLayout>(); };
  return info;
}

}  // namespace tenon
