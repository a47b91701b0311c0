#include "transforms/movement/movement_region.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

#include "ir/core/block.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/movement/movement_ops.h"

namespace tenon {
namespace {

constexpr int kMinCopies = 2;            // copies saved for one gather
constexpr int kManyCopies = 3;           // of so many, a gather of shorter pieces is faster, too
constexpr int64_t kMaxPieces = 1 << 20;  // of one sample: the size of the table of indices

// Shorter pieces are moved faster by strides, one copy after the other.
int64_t MinPieceBytes(int copies) { return copies < kManyCopies ? 64 : 32; }

// Elements behind axis `axis`.
int64_t Inner(std::span<const int64_t> dims, int64_t axis) {
  return std::accumulate(dims.begin() + axis + 1, dims.end(), int64_t{1}, std::multiplies<>());
}

int64_t Start(const ten::SliceOp& slice, int64_t extent) {
  const int64_t start = slice.starts()[0].constant();
  return std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
}

}  // namespace

void MovementSources::Add(Block& block) {
  // Values of blocks around this one are sources, whatever makes them.
  const auto source_of = [&](Value value) {
    return value.parent_block() == &block ? Of(value) : value;
  };
  for (Operation& op : block) {
    if (!IsMovement(op)) continue;
    const Value source = source_of(op.operand(0));
    bool one = true;
    for (const OpOperand& operand : MovedOperands(op))
      one = one && source_of(operand.get()) == source;
    for (unsigned i = 0; i < op.num_results() && one; ++i)
      sources_.emplace(op.result(i).impl(), source);
  }
}

Value MovementSources::Of(Value value) const {
  const auto known = sources_.find(value.impl());
  return known == sources_.end() ? value : known->second;
}

bool MovementRegion::Build() {
  source_ = sources_.Of(root_);
  if (source_ == root_ || !ChooseSample() || !SavesCopies() || !Collect()) return false;
  const int64_t from = SampleSize(source_.type()), to = SampleSize(root_.type());
  return from % piece_ == 0 && to % piece_ == 0 && from / piece_ <= kMaxPieces &&
         to / piece_ <= kMaxPieces;
}

// The sample's extent: the outermost one of source or root that divides the other.
bool MovementRegion::ChooseSample() {
  const DimExpr a = source_.type().dim(0), b = root_.type().dim(0);
  Context& context = a.context();
  if (a.is_constant() && b.is_constant()) {
    sample_ = DimExpr::Constant(context, 1);
  } else {
    const std::optional<DimExpr> root_in = DimExpr::ExactDiv(b, a),
                                 source_in = DimExpr::ExactDiv(a, b);
    if (root_in && root_in->is_constant()) {
      sample_ = a;
    } else if (source_in && source_in->is_constant()) {
      sample_ = b;
    } else {
      return false;
    }
  }
  return true;
}

// Do all values of the op hold whole samples, outermost?
bool MovementRegion::HoldsSamples(const Operation& op) const {
  for (const OpOperand& operand : MovedOperands(op)) {
    const Type type = operand.get().type();
    if (!Outer(type)) return false;
    // The extent of a sample's own outermost axis must be all that moves of it.
    if (!sample_.is_constant() && op.id() != ten::ReshapeOp::kId && type.dim(0).is_constant())
      return false;
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!Outer(op.result(i).type())) return false;
  }
  return true;
}

// Copies that nobody needs once the root is gathered: are there enough? An op dies if all its users
// do, which are behind it.
bool MovementRegion::SavesCopies() {
  const auto earlier = [](const Operation* a, const Operation* b) { return a->IsBeforeInBlock(b); };
  std::priority_queue<Operation*, std::vector<Operation*>, decltype(earlier)> next(earlier);
  absl::flat_hash_set<const Operation*> dying, seen;
  int copies = 0;
  next.push(root_.defining_op());
  while (!next.empty() && copies < kManyCopies) {
    Operation* op = next.top();
    next.pop();
    if (!seen.insert(op).second) continue;
    bool dies = true;
    for (unsigned i = 0; i < op->num_results() && dies && op != root_.defining_op(); ++i) {
      for (const OpOperand& use : op->result(i).uses()) {
        dies = dying.contains(use.owner());
        if (!dies) break;
      }
    }
    if (!dies) continue;
    dying.insert(op);
    copies += IsCopy(*op) ? 1 : 0;
    for (const OpOperand& operand : MovedOperands(*op)) {
      if (operand.get() != source_) next.push(operand.get().defining_op());
    }
  }
  if (copies < kMinCopies) return false;
  min_piece_bytes_ = MinPieceBytes(copies);
  return true;
}

// Collects the ops of the region and the longest piece that none of them tears, from the root on,
// until that is too short.
bool MovementRegion::Collect() {
  const int64_t size = static_cast<int64_t>(SizeOf(root_.type().dtype()));
  std::vector<Operation*> pending = {root_.defining_op()};
  while (!pending.empty()) {
    Operation* op = pending.back();
    pending.pop_back();
    if (!inside_.insert(op).second) continue;
    if (!HoldsSamples(*op)) return false;
    piece_ = std::gcd(piece_, PieceOf(*op));
    if (piece_ != 0 && piece_ * size < min_piece_bytes_) return false;
    ops_.push_back(op);
    for (const OpOperand& operand : MovedOperands(*op)) {
      if (operand.get() != source_) pending.push_back(operand.get().defining_op());
    }
  }
  std::sort(ops_.begin(), ops_.end(),
            [](const Operation* a, const Operation* b) { return a->IsBeforeInBlock(b); });
  return piece_ * size >= min_piece_bytes_;
}

// Tables in the order of the ops: those of operands are there already.
const std::vector<int64_t>& MovementRegion::Table() {
  for (Operation* op : ops_) {
    for (unsigned i = 0; i < op->num_results(); ++i) {
      for (const OpOperand& use : op->result(i).uses()) {
        if (!inside_.contains(use.owner())) continue;
        IndicesOf(op->result(i));
        break;
      }
    }
  }
  return IndicesOf(root_);
}

// How many of the outermost indices a sample has.
std::optional<int64_t> MovementRegion::Outer(Type type) const {
  const std::optional<DimExpr> count = DimExpr::ExactDiv(type.dim(0), sample_);
  if (!count || !count->is_constant()) return std::nullopt;
  return count->constant();
}

// Extents of a sample.
MovementRegion::Indices MovementRegion::SampleDims(Type type) const {
  Indices dims = {*Outer(type)};
  for (int64_t i = 1; i < type.rank(); ++i) dims.push_back(type.dim(i).constant());
  return dims;
}

int64_t MovementRegion::SampleSize(Type type) const {
  const Indices dims = SampleDims(type);
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

// Every run of so many elements, counted from the start of a tensor, stays together.
int64_t MovementRegion::PieceOf(Operation& op) const {
  const Indices dims = SampleDims(op.operand(0).type());
  switch (op.id()) {
    case ten::TransposeOp::kId: {
      const std::span<const int64_t> perm = ten::TransposeOp(&op).perm();
      int64_t piece = 1;
      for (int64_t i = static_cast<int64_t>(perm.size()) - 1; i >= 0 && perm[i] == i; --i) {
        piece *= dims[i];
      }
      return piece;
    }
    case ten::SliceOp::kId: {
      const ten::SliceOp slice(&op);
      const int64_t axis = slice.axes()[0], inner = Inner(dims, axis);
      if (slice.steps()[0] != 1) return inner;
      return inner * std::gcd(dims[axis], std::gcd(Start(slice, dims[axis]),
                                                   SampleDims(op.result().type())[axis]));
    }
    case ten::SplitOp::kId: {
      const int64_t axis = ten::SplitOp(&op).axis();
      int64_t piece = 0;
      for (Value part : ten::SplitOp(&op).outs()) {
        piece = std::gcd(piece, SampleDims(part.type())[axis]);
      }
      return piece * Inner(dims, axis);
    }
    case ten::ConcatOp::kId: {
      const int64_t axis = ten::ConcatOp(&op).axis();
      int64_t piece = 0;
      for (const OpOperand& operand : op.operands()) {
        piece = std::gcd(piece, SampleDims(operand.get().type())[axis]);
      }
      return piece * Inner(dims, axis);
    }
    case ten::GatherOp::kId:
      return Inner(dims, ten::GatherOp(&op).axis());
    default:
      return 0;  // a reshape moves nothing
  }
}

// For each piece of a sample of `value`, the piece of the source's sample that it is.
const MovementRegion::Indices& MovementRegion::IndicesOf(Value value) {
  const auto known = indices_.find(value.impl());
  if (known != indices_.end()) return known->second;
  Indices made;
  if (value == source_) {
    made.resize(static_cast<size_t>(SampleSize(value.type()) / piece_));
    std::iota(made.begin(), made.end(), int64_t{0});
  } else {
    made = Moved(value);
  }
  return indices_[value.impl()] = std::move(made);
}

MovementRegion::Indices MovementRegion::Moved(Value value) {
  Operation& op = *value.defining_op();
  switch (op.id()) {
    case ten::TransposeOp::kId:
      return Transposed(op);
    case ten::SliceOp::kId: {
      const ten::SliceOp slice(&op);
      const int64_t axis = slice.axes()[0];
      return Window(slice.x(), value, axis, Start(slice, SampleDims(slice.x().type())[axis]),
                    slice.steps()[0]);
    }
    case ten::SplitOp::kId: {
      const ten::SplitOp split(&op);
      int64_t start = 0;
      for (unsigned i = 0; i < value.result_index(); ++i) {
        start += SampleDims(op.result(i).type())[split.axis()];
      }
      return Window(split.x(), value, split.axis(), start, 1);
    }
    case ten::ConcatOp::kId:
      return Joined(op);
    case ten::GatherOp::kId:
      return Picked(op);
    default:
      return IndicesOf(op.operand(0));
  }
}

MovementRegion::Indices MovementRegion::Transposed(Operation& op) {
  const std::span<const int64_t> perm = ten::TransposeOp(&op).perm();
  const Indices from = IndicesOf(op.operand(0));
  Indices dims = SampleDims(op.operand(0).type());
  // The axes behind the last one that moves are whole pieces.
  int64_t rank = static_cast<int64_t>(perm.size());
  while (rank > 0 && perm[rank - 1] == rank - 1) --rank;
  const int64_t run = Inner(dims, rank - 1) / piece_;
  Indices strides(static_cast<size_t>(rank), run);
  for (int64_t i = rank - 2; i >= 0; --i) strides[i] = strides[i + 1] * dims[i + 1];
  Indices to;
  to.reserve(from.size());
  Indices at(static_cast<size_t>(rank), 0);
  for (size_t n = 0; n < from.size() / static_cast<size_t>(run); ++n) {
    int64_t base = 0;
    for (int64_t i = 0; i < rank; ++i) base += at[i] * strides[perm[i]];
    for (int64_t r = 0; r < run; ++r) to.push_back(from[base + r]);
    for (int64_t i = rank - 1; i >= 0; --i) {
      if (++at[i] < dims[perm[i]]) break;
      at[i] = 0;
    }
  }
  return to;
}

// Positions start, start + step, ... of x along `axis`, as many as `value` has.
MovementRegion::Indices MovementRegion::Window(Value x, Value value, int64_t axis, int64_t start,
                                               int64_t step) {
  const Indices from = IndicesOf(x);
  const Indices dims = SampleDims(x.type());
  const int64_t inner = Inner(dims, axis), count = SampleDims(value.type())[axis];
  Indices to;
  to.reserve(static_cast<size_t>(SampleSize(value.type()) / piece_));
  const int64_t outer = SampleSize(x.type()) / (inner * dims[axis]);
  // With a step of 1 a window is one run of pieces, which may be longer than `inner`.
  const int64_t run = step == 1 ? count * inner / piece_ : inner / piece_;
  const int64_t runs = step == 1 ? 1 : count;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t i = 0; i < runs; ++i) {
      const int64_t begin = (o * dims[axis] + start + i * step) * inner / piece_;
      to.insert(to.end(), from.begin() + begin, from.begin() + begin + run);
    }
  }
  return to;
}

MovementRegion::Indices MovementRegion::Picked(Operation& op) {
  const int64_t axis = ten::GatherOp(&op).axis();
  const Indices from = IndicesOf(op.operand(0));
  const Indices dims = SampleDims(op.operand(0).type());
  const Indices places = PickedPlaces(op, op.operand(0).type().dim(axis).constant());
  const int64_t run = Inner(dims, axis) / piece_;
  const int64_t outer = SampleSize(op.operand(0).type()) / (Inner(dims, axis) * dims[axis]);
  Indices to;
  to.reserve(static_cast<size_t>(outer * run) * places.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t place : places) {
      const auto begin = from.begin() + (o * dims[axis] + place) * run;
      to.insert(to.end(), begin, begin + run);
    }
  }
  return to;
}

MovementRegion::Indices MovementRegion::Joined(Operation& op) {
  const int64_t axis = ten::ConcatOp(&op).axis();
  const Indices dims = SampleDims(op.result().type());
  const int64_t inner = Inner(dims, axis);
  const int64_t outer = SampleSize(op.result().type()) / (inner * dims[axis]);
  Indices to;
  to.reserve(static_cast<size_t>(SampleSize(op.result().type()) / piece_));
  for (int64_t o = 0; o < outer; ++o) {
    for (const OpOperand& operand : op.operands()) {
      const Indices& from = IndicesOf(operand.get());
      const int64_t run = SampleDims(operand.get().type())[axis] * inner / piece_;
      to.insert(to.end(), from.begin() + o * run, from.begin() + (o + 1) * run);
    }
  }
  return to;
}

}  // namespace tenon
