// compose-movement: operations that only move the elements of one tensor (transposes, slices,
// splits, concatenations and gathers of constant places, with reshapes between them) become one
// gather of contiguous pieces. A shifted window partition, for one, is three copies as exported and
// one as a gather:
//   transpose(reshape(concat(x[3:], x[:3]), [B, 8, 7, 8, 7, C])) -> gather(reshape(x, [B, 3136,
//   C]))
#include <numeric>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/movement/movement_ops.h"
#include "transforms/movement/movement_region.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

absl::StatusOr<Value> Reshaped(OpBuilder& builder, Location location, Value x,
                               const std::vector<DimExpr>& shape) {
  TENON_ASSIGN_OR_RETURN(ten::ReshapeOp reshape,
                         ten::ReshapeOp::Create(builder, location, x, {.shape = shape}));
  return reshape.out();
}

// One gather of the source's pieces, or just a view where all stay in their order.
absl::StatusOr<Value> Gathered(OpBuilder& builder, Location location, Value root,
                               MovementRegion& region) {
  const std::vector<int64_t>& indices = region.Table();
  Context& context = builder.context();
  const DimExpr piece = DimExpr::Constant(context, region.piece());
  const bool one = region.samples().is_constant(1);
  const int64_t from = region.PiecesOf(region.source().type());
  const DimExpr count = DimExpr::Constant(context, from);
  TENON_ASSIGN_OR_RETURN(Value value,
                         Reshaped(builder, location, region.source(),
                                  one ? std::vector<DimExpr>{count, piece}
                                      : std::vector<DimExpr>{region.samples(), count, piece}));
  std::vector<int64_t> identity(indices.size());
  std::iota(identity.begin(), identity.end(), int64_t{0});
  if (indices != identity || from != region.PiecesOf(root.type())) {
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
  const Type type = root.type();
  return Reshaped(builder, location, value, {type.dims().begin(), type.dims().end()});
}

class ComposeMovement : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    std::vector<Operation*> roots;
    MovementSources sources;
    func->Walk([&](Operation* op) {
      if (IsCopy(*op) && op->num_results() == 1) roots.push_back(op);
      for (unsigned i = 0; i < op->num_regions(); ++i) {
        for (Block& block : op->region(i)) sources.Add(block);
      }
    });
    // The last op of a chain first: it takes in all that comes before. What is made stands behind
    // all ops that are still to be looked at, so that `sources` keeps being true of them.
    absl::flat_hash_set<Operation*> waiting(roots.begin(), roots.end());
    int64_t composed = 0;
    for (auto it = roots.rbegin(); it != roots.rend(); ++it) {
      if (waiting.erase(*it) == 0) continue;  // erased; what is made may lie where it lay
      Value root = (*it)->result();
      MovementRegion region(root, sources);
      if (!region.Build()) continue;
      OpBuilder builder = OpBuilder::Before(*it);
      TENON_ASSIGN_OR_RETURN(const Value value, Gathered(builder, (*it)->location(), root, region));
      root.ReplaceAllUsesWith(value);
      EraseDead(*it, waiting);
      ++composed;
    }
    if (composed > 0) context.statistics->Add("composed", composed);
    return PassResult{composed > 0};
  }

 private:
  // With the movements before it that nobody uses any more, which no longer wait for their turn.
  static void EraseDead(Operation* last, absl::flat_hash_set<Operation*>& waiting) {
    absl::flat_hash_set<Operation*> erased;
    std::vector<Operation*> pending = {last};
    while (!pending.empty()) {
      Operation* op = pending.back();
      pending.pop_back();
      if (erased.contains(op) || op->has_uses() || DefinesDims(*op)) continue;
      if (!IsCopy(*op) && op->id() != ten::ReshapeOp::kId) continue;
      for (const OpOperand& operand : op->operands()) {
        if (Operation* producer = operand.get().defining_op()) pending.push_back(producer);
      }
      op->Erase();
      erased.insert(op);
      waiting.erase(op);
    }
  }
};

}  // namespace

PassInfo ComposeMovementPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"composed", "chains that became one gather"}};
  info.create = [](const PassOptionValues&) { return std::make_unique<ComposeMovement>(); };
  return info;
}

}  // namespace tenon
