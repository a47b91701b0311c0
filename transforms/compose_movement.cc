// compose-movement: operations that only move the elements of one tensor (transposes, slices,
// splits and concatenations, with reshapes between them) become one gather of contiguous pieces.
// A shifted window partition, for one, is three copies as exported and one as a gather:
//   transpose(reshape(concat(x[3:], x[:3]), [B, 8, 7, 8, 7, C])) -> gather(reshape(x, [B, 3136,
//   C]))
#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

constexpr int64_t kMinPieceBytes = 64;   // shorter pieces are moved faster by strides
constexpr int64_t kMaxPieces = 1 << 20;  // of one sample: the size of the table of indices
constexpr int kMinCopies = 2;            // copies saved for one gather

using Indices = std::vector<int64_t>;

bool IsCopy(const Operation& op) {
  return op.id() == ten::TransposeOp::kId || op.id() == ten::SliceOp::kId ||
         op.id() == ten::SplitOp::kId || op.id() == ten::ConcatOp::kId;
}

// Is everything but the outermost extent a number?
bool IsStaticInside(Type type) {
  if (!type.is_tensor() || type.rank() == 0 || type.dim(0).is_unknown()) return false;
  return std::all_of(type.dims().begin() + 1, type.dims().end(),
                     [](DimExpr d) { return d.is_constant(); });
}

// Can the op be read as a map of elements within each sample? A sample is what one index of a
// symbolic outermost extent holds; that axis stays where it is.
bool IsMovement(Operation& op) {
  if (!IsCopy(op) && op.id() != ten::ReshapeOp::kId) return false;
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    if (!IsStaticInside(op.operand(i).type())) return false;
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!IsStaticInside(op.result(i).type())) return false;
  }
  const bool outer_moves = op.operand(0).type().dim(0).is_constant();
  switch (op.id()) {
    case ten::TransposeOp::kId:
      return outer_moves || ten::TransposeOp(&op).perm()[0] == 0;
    case ten::SliceOp::kId: {
      const ten::SliceOp slice(&op);
      if (slice.axes().size() != 1 || slice.steps()[0] < 1) return false;
      return (slice.axes()[0] > 0 || outer_moves) && slice.starts()[0].is_constant();
    }
    case ten::SplitOp::kId: {
      const ten::SplitOp split(&op);
      return split.axis() > 0 || outer_moves;
    }
    case ten::ConcatOp::kId:
      return ten::ConcatOp(&op).axis() > 0 || outer_moves;
    default:
      return true;
  }
}

// The tensor that one value's elements all come from, and how.
class Region {
 public:
  explicit Region(Value root) : root_(root) {}

  // False if there is nothing to gain.
  bool Build() {
    source_ = SourceOf(root_);
    if (source_ == root_ || !ChooseSample()) return false;
    piece_ = 0;
    for (Operation* op : ops_) piece_ = std::gcd(piece_, PieceOf(*op));
    const int64_t size = static_cast<int64_t>(SizeOf(root_.type().dtype()));
    if (piece_ * size < kMinPieceBytes || SampleSize(source_.type()) % piece_ != 0 ||
        SampleSize(root_.type()) % piece_ != 0 || SampleSize(root_.type()) / piece_ > kMaxPieces ||
        SampleSize(source_.type()) / piece_ > kMaxPieces) {
      return false;
    }
    return CopiesSaved() >= kMinCopies;
  }

  absl::StatusOr<Value> Make(OpBuilder& builder, Location location) {
    const Indices& indices = IndicesOf(root_);
    Context& context = sample_.context();
    const DimExpr piece = DimExpr::Constant(context, piece_);
    const bool one = sample_.is_constant(1);
    auto pieces = [&](Type type) {
      const DimExpr count = DimExpr::Constant(context, SampleSize(type) / piece_);
      return one ? std::vector<DimExpr>{count, piece} : std::vector<DimExpr>{sample_, count, piece};
    };
    TENON_ASSIGN_OR_RETURN(Value value,
                           Reshaped(builder, location, source_, pieces(source_.type())));
    Indices identity(indices.size());
    std::iota(identity.begin(), identity.end(), int64_t{0});
    if (indices != identity || SampleSize(source_.type()) != SampleSize(root_.type())) {
      const int64_t extents[] = {static_cast<int64_t>(indices.size())};
      TENON_ASSIGN_OR_RETURN(
          core::ConstantOp table,
          core::ConstantOp::Create(
              builder, location,
              {.value = Attribute::Elements(context, Type::Tensor(context, DType::kI64, extents),
                                            std::as_bytes(std::span<const int64_t>(indices)))}));
      TENON_ASSIGN_OR_RETURN(ten::GatherOp gather,
                             ten::GatherOp::Create(builder, location, value, table.op()->result(),
                                                   {.axis = one ? 0 : 1}));
      value = gather.out();
    }
    const Type type = root_.type();
    return Reshaped(builder, location, value, {type.dims().begin(), type.dims().end()});
  }

 private:
  static absl::StatusOr<Value> Reshaped(OpBuilder& builder, Location location, Value x,
                                        const std::vector<DimExpr>& shape) {
    TENON_ASSIGN_OR_RETURN(ten::ReshapeOp reshape,
                           ten::ReshapeOp::Create(builder, location, x, {.shape = shape}));
    return reshape.out();
  }

  // Collects the ops on the way.
  Value SourceOf(Value value) {
    const auto known = sources_.find(value.impl());
    if (known != sources_.end()) return Value(known->second);
    Operation* op = value.defining_op();
    Value source = value;
    if (op != nullptr && op->block() == root_.parent_block() && IsMovement(*op)) {
      source = SourceOf(op->operand(0));
      for (unsigned i = 1; i < op->num_operands(); ++i) {
        if (SourceOf(op->operand(i)) != source) source = value;
      }
      if (source != value && seen_.insert(op).second) ops_.push_back(op);
    }
    sources_[value.impl()] = source.impl();
    return source;
  }

  // The sample's extent: the outermost one of source or root that divides the other.
  bool ChooseSample() {
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
    // Every value on the way holds whole samples, outermost.
    for (Operation* op : ops_) {
      for (const OpOperand& operand : op->operands()) {
        if (!Outer(operand.get().type())) return false;
      }
      for (unsigned i = 0; i < op->num_results(); ++i) {
        if (!Outer(op->result(i).type())) return false;
      }
      // The extent of a sample's own outermost axis must be all that moves of it.
      if (!sample_.is_constant() && op->id() != ten::ReshapeOp::kId) {
        for (const OpOperand& operand : op->operands()) {
          if (operand.get().type().dim(0).is_constant()) return false;
        }
      }
    }
    return true;
  }

  // How many of the outermost indices a sample has.
  std::optional<int64_t> Outer(Type type) const {
    const std::optional<DimExpr> count = DimExpr::ExactDiv(type.dim(0), sample_);
    if (!count || !count->is_constant()) return std::nullopt;
    return count->constant();
  }

  // Extents of a sample.
  Indices SampleDims(Type type) const {
    Indices dims = {*Outer(type)};
    for (int64_t i = 1; i < type.rank(); ++i) dims.push_back(type.dim(i).constant());
    return dims;
  }
  int64_t SampleSize(Type type) const {
    const Indices dims = SampleDims(type);
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  // Elements behind axis `axis`.
  static int64_t Inner(const Indices& dims, int64_t axis) {
    return std::accumulate(dims.begin() + axis + 1, dims.end(), int64_t{1}, std::multiplies<>());
  }

  // Every run of so many elements, counted from the start of a tensor, stays together.
  int64_t PieceOf(Operation& op) const {
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
      default:
        return 0;  // a reshape moves nothing
    }
  }

  static int64_t Start(const ten::SliceOp& slice, int64_t extent) {
    const int64_t start = slice.starts()[0].constant();
    return std::clamp<int64_t>(start < 0 ? start + extent : start, 0, extent);
  }

  // For each piece of a sample of `value`, the piece of the source's sample that it is.
  const Indices& IndicesOf(Value value) {
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

  Indices Moved(Value value) {
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
      default:
        return IndicesOf(op.operand(0));
    }
  }

  Indices Transposed(Operation& op) {
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
  Indices Window(Value x, Value value, int64_t axis, int64_t start, int64_t step) {
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

  Indices Joined(Operation& op) {
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

  // Copies that nobody needs once the root is gathered.
  int CopiesSaved() const {
    absl::flat_hash_set<const Operation*> dying = {root_.defining_op()};
    // Operands come before users in ops_.
    int copies = IsCopy(*root_.defining_op()) ? 1 : 0;
    for (auto it = ops_.rbegin(); it != ops_.rend(); ++it) {
      if (*it == root_.defining_op()) continue;
      bool dies = true;
      for (unsigned i = 0; i < (*it)->num_results(); ++i) {
        for (const OpOperand& use : (*it)->result(i).uses()) dies &= dying.contains(use.owner());
      }
      if (!dies) continue;
      dying.insert(*it);
      copies += IsCopy(**it) ? 1 : 0;
    }
    return copies;
  }

  Value root_, source_;
  DimExpr sample_;
  int64_t piece_ = 0;  // elements
  std::vector<Operation*> ops_;
  absl::flat_hash_set<Operation*> seen_;
  absl::flat_hash_map<ValueImpl*, ValueImpl*> sources_;
  absl::flat_hash_map<ValueImpl*, Indices> indices_;
};

class ComposeMovement : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    // The last op of a chain first: it takes in all that comes before.
    std::vector<Operation*> roots;
    func->Walk([&](Operation* op) {
      if (IsCopy(*op) && op->num_results() == 1) roots.push_back(op);
    });
    absl::flat_hash_set<Operation*> erased;
    int64_t composed = 0;
    for (auto it = roots.rbegin(); it != roots.rend(); ++it) {
      if (erased.contains(*it)) continue;
      Region region((*it)->result());
      if (!region.Build()) continue;
      OpBuilder builder = OpBuilder::Before(*it);
      TENON_ASSIGN_OR_RETURN(const Value value, region.Make(builder, (*it)->location()));
      (*it)->result().ReplaceAllUsesWith(value);
      EraseDead(*it, erased);
      ++composed;
    }
    if (composed > 0) context.statistics->Add("composed", composed);
    return PassResult{composed > 0};
  }

 private:
  static void EraseDead(Operation* op, absl::flat_hash_set<Operation*>& erased) {
    if (!IsCopy(*op) && op->id() != ten::ReshapeOp::kId) return;
    for (unsigned i = 0; i < op->num_results(); ++i) {
      if (op->result(i).has_uses()) return;
    }
    std::vector<Operation*> producers;
    for (const OpOperand& operand : op->operands()) {
      Operation* producer = operand.get().defining_op();
      if (producer != nullptr &&
          std::find(producers.begin(), producers.end(), producer) == producers.end()) {
        producers.push_back(producer);
      }
    }
    op->Erase();
    erased.insert(op);
    for (Operation* producer : producers) EraseDead(producer, erased);
  }
};

}  // namespace

PassInfo ComposeMovementPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<ComposeMovement>(); };
  return info;
}

}  // namespace tenon
