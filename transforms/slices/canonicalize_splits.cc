// canonicalize-splits: slices and picks that cut an axis into parts become one split of the tensor
// that was packed, however the parts were spelled:
//   x[:, :n], x[:, n:]                        -> split(x)
//   transpose(reshape(x, [B, S, 3, H, D]))[i] -> transpose(reshape(split(x)[i], [B, S, H, D]))
// Rules then see one form, and no packed tensor is moved as a whole.
#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

using DimList = std::vector<DimExpr>;

DimList ListOf(Type type) { return {type.dims().begin(), type.dims().end()}; }

bool HasUnknown(Type type) {
  return !type.is_tensor() || std::any_of(type.dims().begin(), type.dims().end(),
                                          [](DimExpr d) { return d.is_unknown(); });
}

// A part of an axis that some op takes: [start, end).
struct Piece {
  Operation* op = nullptr;
  int64_t axis = 0;
  DimExpr start, end;
  bool drops_axis = false;  // the part is one element, and the axis goes
};

// A bound of a slice within [0, extent]; none if it cannot be told.
std::optional<DimExpr> Within(DimExpr bound, DimExpr extent) {
  const DimExpr zero = DimExpr::Constant(extent.context(), 0);
  if (bound.is_unknown()) return std::nullopt;
  if (bound.is_constant() && bound.constant() < 0) bound = extent + bound;
  if (!DimExpr::ProvablyLessEqual(zero, bound)) return std::nullopt;
  if (DimExpr::ProvablyLessEqual(bound, extent)) return bound;
  if (DimExpr::ProvablyLessEqual(extent, bound)) return extent;
  // Exporters write "to the end" as a number beyond any extent.
  if (bound.is_constant() && bound.constant() >= std::numeric_limits<int32_t>::max()) return extent;
  return std::nullopt;
}

std::optional<Piece> PieceOf(Operation* op, Value x) {
  if (auto slice = DynCast<ten::SliceOp>(op)) {
    if (slice.axes().size() != 1 || slice.steps()[0] != 1) return std::nullopt;
    const int64_t axis = slice.axes()[0];
    const DimExpr extent = x.type().dim(axis);
    const std::optional<DimExpr> start = Within(slice.starts()[0], extent),
                                 end = Within(slice.ends()[0], extent);
    if (!start || !end || !DimExpr::ProvablyLessEqual(*start, *end)) return std::nullopt;
    return Piece{op, axis, *start, *end, false};
  }
  if (auto gather = DynCast<ten::GatherOp>(op)) {
    if (gather.x() != x || gather.indices() == x) return std::nullopt;
    const auto constant = DefinedBy<core::ConstantOp>(gather.indices());
    const Attribute indices = constant ? constant.value() : Attribute();
    if (!indices || indices.kind() != Attribute::Kind::kElements ||
        indices.type().num_elements() != 1 || indices.type().rank() > 1) {
      return std::nullopt;
    }
    Context& context = op->context();
    const DimExpr extent = x.type().dim(gather.axis());
    const std::optional<DimExpr> start =
        Within(DimExpr::Constant(context, indices.ElementAsInt(0)), extent);
    if (!start || DimExpr::ProvablyEqual(*start, extent)) return std::nullopt;
    return Piece{op, gather.axis(), *start, *start + DimExpr::Constant(context, 1),
                 indices.type().rank() == 0};
  }
  return std::nullopt;
}

// Is the axis of the reshape's result the outer one of several that its operand holds as one axis,
// at the same place: [.., n * m, ..] as [.., n, m, ..]?
bool OpensAxis(ten::ReshapeOp reshape, int64_t axis) {
  const Type from = reshape.x().type(), to = reshape.out().type();
  if (HasUnknown(from) || HasUnknown(to) || from.rank() >= to.rank() || axis >= from.rank()) {
    return false;
  }
  const int64_t more = to.rank() - from.rank();
  for (int64_t i = 0; i < from.rank(); ++i) {
    const int64_t at = i < axis ? i : i + more;
    if (i != axis && !DimExpr::ProvablyEqual(from.dim(i), to.dim(at))) return false;
  }
  for (int64_t i = axis + 1; i <= axis + more; ++i) {
    if (!to.dim(i).is_constant()) return false;
  }
  return true;
}

// Does x come from a tensor that holds the parts one behind the other along one axis, through
// transposes and reshapes that nothing else needs? (The uses of x itself are the caller's
// business.)
bool ComesFromPacked(Value x, int64_t axis) {
  Operation* op = x.defining_op();
  if (op == nullptr) return false;
  if (auto reshape = DynCast<ten::ReshapeOp>(op)) return OpensAxis(reshape, axis);
  auto transpose = DynCast<ten::TransposeOp>(op);
  return transpose && !HasUnknown(x.type()) && transpose.x().has_one_use() &&
         ComesFromPacked(transpose.x(), transpose.perm()[axis]);
}

// Makes the parts of one value.
class Splitter {
 public:
  explicit Splitter(Location location) : location_(location) {}

  // x cut along `axis`. `raise`: what x is made by is made of the parts, up to the packed tensor.
  // `drop`: the parts are one element each and lose the axis.
  absl::StatusOr<std::vector<Value>> Split(Value x, int64_t axis, const DimList& sizes, bool raise,
                                           bool drop) {
    if (raise && ComesFromPacked(x, axis)) {
      Operation* op = x.defining_op();
      if (auto reshape = DynCast<ten::ReshapeOp>(op)) {
        return BehindReshape(reshape, axis, sizes, drop);
      }
      return BehindTranspose(ten::TransposeOp(op), axis, sizes, drop);
    }
    OpBuilder builder = x.defining_op() != nullptr ? OpBuilder::After(x.defining_op())
                                                   : OpBuilder::Before(x.parent_block()->front());
    TENON_ASSIGN_OR_RETURN(
        ten::SplitOp split,
        ten::SplitOp::Create(builder, location_, x, {.axis = axis, .sizes = sizes}));
    std::vector<Value> parts = split.outs();
    if (!drop) return parts;
    DimList dims = ListOf(x.type());
    dims.erase(dims.begin() + axis);
    for (Value& part : parts) {
      TENON_ASSIGN_OR_RETURN(part, Reshaped(part, dims));
    }
    return parts;
  }

 private:
  absl::StatusOr<Value> Reshaped(Value part, const DimList& dims) {
    OpBuilder builder = OpBuilder::After(part.defining_op());
    TENON_ASSIGN_OR_RETURN(ten::ReshapeOp reshape,
                           ten::ReshapeOp::Create(builder, location_, part, {.shape = dims}));
    return reshape.out();
  }

  absl::StatusOr<std::vector<Value>> BehindTranspose(ten::TransposeOp transpose, int64_t axis,
                                                     const DimList& sizes, bool drop) {
    std::vector<int64_t> perm(transpose.perm().begin(), transpose.perm().end());
    const int64_t from = perm[axis];
    TENON_ASSIGN_OR_RETURN(std::vector<Value> parts,
                           Split(transpose.x(), from, sizes, /*raise=*/true, drop));
    if (drop) {
      perm.erase(perm.begin() + axis);
      for (int64_t& p : perm) p -= p > from ? 1 : 0;
    }
    for (Value& part : parts) {
      OpBuilder builder = OpBuilder::After(part.defining_op());
      TENON_ASSIGN_OR_RETURN(ten::TransposeOp moved,
                             ten::TransposeOp::Create(builder, location_, part, {.perm = perm}));
      part = moved.out();
    }
    return parts;
  }

  absl::StatusOr<std::vector<Value>> BehindReshape(ten::ReshapeOp reshape, int64_t axis,
                                                   const DimList& sizes, bool drop) {
    const Type type = reshape.out().type();
    const int64_t more = type.rank() - reshape.x().type().rank();
    int64_t inner = 1;
    for (int64_t i = axis + 1; i <= axis + more; ++i) inner *= type.dim(i).constant();
    DimList wide;
    for (DimExpr size : sizes) wide.push_back(size * DimExpr::Constant(size.context(), inner));
    TENON_ASSIGN_OR_RETURN(
        std::vector<Value> parts,
        Split(reshape.x(), axis, wide, reshape.x().has_one_use(), /*drop=*/false));
    for (size_t i = 0; i < parts.size(); ++i) {
      DimList dims = ListOf(type);
      dims[axis] = sizes[i];
      if (drop) dims.erase(dims.begin() + axis);
      TENON_ASSIGN_OR_RETURN(parts[i], Reshaped(parts[i], dims));
    }
    return parts;
  }

  Location location_;
};

// Are all uses of `part` reshapes that take out the axis?
bool LosesAxis(Value part, int64_t axis) {
  const Type type = part.type();
  if (HasUnknown(type) || !type.dim(axis).is_constant(1)) return false;
  for (OpOperand& use : part.uses()) {
    if (!Isa<ten::ReshapeOp>(use.owner())) return false;
    const Type to = use.owner()->result().type();
    if (!to.is_tensor() || to.rank() + 1 != type.rank()) return false;
    for (int64_t i = 0; i < to.rank(); ++i) {
      if (!DimExpr::ProvablyEqual(to.dim(i), type.dim(i < axis ? i : i + 1))) return false;
    }
  }
  return true;
}

class CanonicalizeSplits : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    packed_.clear();
    places_.clear();
    absl::flat_hash_set<ValueImpl*> seen;
    func->Walk([&](Operation* op) {
      if (!Isa<ten::SliceOp>(op) && !Isa<ten::GatherOp>(op) && !Isa<ten::SplitOp>(op)) return;
      const Value x = op->operand(0);
      if (HasUnknown(x.type()) || !seen.insert(x.impl()).second) return;
      places_[x.impl()] = {packed_.size()};
      packed_.push_back(x);
    });
    int64_t made = 0;
    for (size_t i = 0; i < packed_.size(); ++i) {
      const Value x = packed_[i];
      TENON_ASSIGN_OR_RETURN(bool changed, Join(x));
      if (!changed) {
        TENON_ASSIGN_OR_RETURN(changed, Raise(x));
      }
      made += changed ? 1 : 0;
    }
    if (made > 0) context.statistics->Add("splits", made);
    return PassResult{made > 0};
  }

 private:
  // Slices and picks of x that tile an axis become results of one split.
  absl::StatusOr<bool> Join(Value x) {
    std::vector<Piece> pieces;
    size_t uses = 0;
    for (OpOperand& use : x.uses()) {
      ++uses;
      std::optional<Piece> piece = PieceOf(use.owner(), x);
      if (!piece || (!pieces.empty() && piece->axis != pieces[0].axis)) continue;
      if (use.owner()->block() != x.parent_block()) continue;
      pieces.push_back(*piece);
    }
    if (pieces.size() < 2) return false;
    // Tiles in order: the piece that starts where the last one ended. Equal pieces share a tile.
    const int64_t axis = pieces[0].axis;
    const DimExpr extent = x.type().dim(axis);
    DimExpr at = DimExpr::Constant(extent.context(), 0);
    DimList sizes;
    std::vector<std::vector<Piece>> tiles;
    size_t placed = 0;
    absl::flat_hash_map<const DimExprStorage*, std::vector<Piece>> from;  // what is not empty
    for (const Piece& piece : pieces) {
      if (!DimExpr::ProvablyEqual(piece.start, piece.end)) {
        from[piece.start.storage()].push_back(piece);
      }
    }
    while (!DimExpr::ProvablyEqual(at, extent)) {
      const auto found = from.find(at.storage());
      if (found == from.end()) return false;
      std::vector<Piece>& tile = found->second;
      for (const Piece& piece : tile) {
        if (!DimExpr::ProvablyEqual(piece.end, tile[0].end)) return false;
      }
      placed += tile.size();
      sizes.push_back(tile[0].end - at);
      at = tile[0].end;
      tiles.push_back(std::move(tile));
      from.erase(found);
    }
    if (placed != pieces.size() || tiles.size() < 2) return false;
    const bool drop = std::all_of(pieces.begin(), pieces.end(),
                                  [](const Piece& piece) { return piece.drops_axis; });
    Splitter splitter(pieces[0].op->location());
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> parts,
                           splitter.Split(x, axis, sizes, uses == pieces.size(), drop));
    for (size_t i = 0; i < tiles.size(); ++i) {
      for (const Piece& piece : tiles[i]) {
        Value part = parts[i];
        if (piece.drops_axis && !drop) {
          OpBuilder builder = OpBuilder::Before(piece.op);
          const DimList dims = ListOf(piece.op->result().type());
          TENON_ASSIGN_OR_RETURN(ten::ReshapeOp squeezed,
                                 ten::ReshapeOp::Create(builder, piece.op->location(), part,
                                                        {.shape = {dims.begin(), dims.end()}}));
          part = squeezed.out();
        }
        Replace(piece.op->result(), part);
        piece.op->Erase();
      }
    }
    return true;
  }

  // A split of parts of a packed tensor, transposed or reshaped, becomes one of the tensor itself.
  absl::StatusOr<bool> Raise(Value x) {
    if (!x.has_one_use()) return false;
    auto split = DynCast<ten::SplitOp>(x.uses().begin()->owner());
    if (!split || split->block() != x.parent_block() || !ComesFromPacked(x, split.axis())) {
      return false;
    }
    const std::vector<Value> outs = split.outs();
    const bool drop = std::all_of(outs.begin(), outs.end(),
                                  [&](Value part) { return LosesAxis(part, split.axis()); });
    Splitter splitter(split->location());
    TENON_ASSIGN_OR_RETURN(
        const std::vector<Value> parts,
        splitter.Split(x, split.axis(), {split.sizes().begin(), split.sizes().end()},
                       /*raise=*/true, drop));
    for (size_t i = 0; i < parts.size(); ++i) {
      Value part = outs[i];
      while (drop && part.has_uses()) {
        Operation* squeeze = part.uses().begin()->owner();
        Replace(squeeze->result(), parts[i]);
        squeeze->Erase();
      }
      Replace(part, parts[i]);
    }
    split->Erase();
    return true;
  }

  // A part that is cut again is looked at in its new form.
  void Replace(Value from, Value to) {
    from.ReplaceAllUsesWith(to);
    const auto found = places_.find(from.impl());
    if (found == places_.end()) return;
    const std::vector<size_t> places = std::move(found->second);
    places_.erase(found);
    for (const size_t place : places) {
      packed_[place] = to;
      places_[to.impl()].push_back(place);
    }
  }

  std::vector<Value> packed_;  // in order of their first cut
  absl::flat_hash_map<const ValueImpl*, std::vector<size_t>> places_;  // in packed_
};

}  // namespace

PassInfo CanonicalizeSplitsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"splits", "splits that were made"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<CanonicalizeSplits>(); };
  return info;
}

}  // namespace tenon
