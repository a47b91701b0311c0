#include "executor/buffers.h"

#include <algorithm>

#include "executor/lowered_op.h"
#include "fmt/format.h"
#include "ir/core/check.h"
#include "ir/core/context.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/kernel_ops.h"
#include "kernels/gpu/gpu_kernels.h"

namespace tenon {
namespace {

// Bytes per element and dimensions agree, so that one may be written where the other was.
bool SameSize(Type a, Type b) {
  if (!a.is_tensor() || !b.is_tensor() || SizeOf(a.dtype()) != SizeOf(b.dtype()) ||
      a.rank() != b.rank())
    return false;
  for (int64_t i = 0; i < a.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(a.dim(i), b.dim(i))) return false;
  }
  return true;
}

// The value whose bytes `value` shows through views.
Value ViewRoot(Value value) {
  while (auto view = DefinedBy<kernel::ViewOp>(value)) value = view->operand(0);
  return value;
}

// Copies of constants to a device are made once, outside of any plan.
bool IsUploadOfConstant(const Operation& op) {
  const auto call = DynCast<kernel::CallOp>(const_cast<Operation*>(&op));
  return call && call.kernel() == kernels::gpu::kToDevice &&
         static_cast<bool>(DefinedBy<core::ConstantOp>(ViewRoot(op.operand(0))));
}

// The op of `block` in which `op` lies; null if there is none.
const Operation* AncestorIn(const Block& block, const Operation* op) {
  while (op != nullptr && op->block() != &block) op = op->parent_op();
  return op;
}

}  // namespace

std::vector<Value> ReadValues(Operation& op) {
  std::vector<Value> values;
  for (OpOperand& operand : op.operands()) values.push_back(operand.get());
  if (op.num_regions() == 0) return values;
  for (const Value captured : CapturedValues(op)) values.push_back(captured);
  return values;
}

int BufferTable::NewSet(Value value, BufferSet::Kind kind, int position) {
  BufferSet set;
  set.kind = kind;
  set.first = set.last = position;
  set.members.push_back(value);
  sets_.push_back(std::move(set));
  set_of_[value.impl()] = static_cast<int>(sets_.size()) - 1;
  return static_cast<int>(sets_.size()) - 1;
}

void BufferTable::Join(Value value, int set) {
  set_of_[value.impl()] = set;
  sets_[set].members.push_back(value);
}

absl::StatusOr<BufferTable> BufferTable::Analyze(Block& block) {
  BufferTable table;
  for (unsigned i = 0; i < block.num_arguments(); ++i)
    table.NewSet(block.argument(i), BufferSet::Kind::kInput, 0);

  struct TakenOver {
    Operation* op;
    int position, set;
    Value value;
  };
  std::vector<TakenOver> taken_over;
  int position = 0;
  for (Operation& op : block) {
    for (const Value value : ReadValues(op)) {
      if (!table.set_of_.contains(value.impl())) {
        // From around the block.
        const bool constant = static_cast<bool>(DefinedBy<core::ConstantOp>(value));
        table.NewSet(value, constant ? BufferSet::Kind::kConstant : BufferSet::Kind::kInput, 0);
      }
      BufferSet& set = table.sets_[table.set_of(value)];
      set.last = std::max(set.last, position);
    }
    for (unsigned r = 0; r < op.num_results(); ++r) {
      const Value result = op.result(r);
      if (Isa<kernel::ViewOp>(op)) {
        table.Join(result, table.set_of(op.operand(0)));
      } else if (IsUploadOfConstant(op)) {
        table.NewSet(result, BufferSet::Kind::kPlanTime, position);
      } else if (auto call = DynCast<kernel::CallOp>(&op)) {
        const int64_t inplace = r == 0 ? call.inplace() : -1;
        if (inplace < 0) {
          table.NewSet(result, BufferSet::Kind::kArena, position);
          continue;
        }
        const Value operand = inplace < op.num_operands() ? op.operand(inplace) : Value();
        if (!operand || !SameSize(operand.type(), result.type()) ||
            table.sets_[table.set_of(operand)].kind != BufferSet::Kind::kArena) {
          return EmitStatus(
              op.context(), op.location(), absl::StatusCode::kInvalidArgument,
              fmt::format(
                  "result 0 cannot take over the buffer of operand {} (expected an operand of "
                  "the result's size that a kernel has written)",
                  inplace));
        }
        const int set = table.set_of(operand);
        taken_over.push_back({&op, position, set, operand});
        table.Join(result, set);
      } else if (IsStructuredControl(op)) {
        table.NewSet(result, BufferSet::Kind::kArena, position);
      } else {
        table.NewSet(
            result,
            Isa<kernel::DimsOp>(op) ? BufferSet::Kind::kPlanTime : BufferSet::Kind::kConstant,
            position);
      }
    }
    ++position;
  }
  // A buffer that was taken over at some position: no older member may be read later.
  absl::flat_hash_map<const Operation*, int> position_of;
  position = 0;
  for (Operation& op : block) position_of[&op] = position++;
  for (const TakenOver& t : taken_over) {
    for (Value member : table.sets_[t.set].members) {
      const auto definition =
          position_of.find(member.is_block_argument() ? nullptr : member.defining_op());
      const int defined = definition == position_of.end() ? 0 : definition->second;
      if (defined >= t.position) continue;
      for (OpOperand& use : member.uses()) {
        auto user = position_of.find(AncestorIn(block, use.owner()));
        const int used = user == position_of.end() ? position : user->second;
        if (used < t.position || (used == t.position && member == t.value)) continue;
        return EmitStatus(t.op->context(), t.op->location(), absl::StatusCode::kInvalidArgument,
                          "result 0 takes over a buffer that is still needed");
      }
    }
  }
  // A buffer whose value is returned is written to the caller's memory, when it is returned once.
  Operation* terminator = block.back();
  if (terminator == nullptr) return table;
  for (unsigned i = 0; i < terminator->num_operands(); ++i) {
    BufferSet& set = table.sets_[table.set_of(terminator->operand(i))];
    if (set.kind == BufferSet::Kind::kArena && set.output < 0) set.output = static_cast<int>(i);
  }
  return table;
}

std::vector<std::pair<Operation*, int>> ChooseInPlace(
    Block& block, const std::function<uint32_t(Operation*)>& inplace_mask) {
  // Sets of values that share a buffer so far, by their root, and the position of the last use of
  // each.
  absl::flat_hash_map<ValueImpl*, ValueImpl*> root;
  absl::flat_hash_map<ValueImpl*, int> last_use;
  auto root_of = [&](Value value) {
    ValueImpl* at = ViewRoot(value).impl();
    while (root.contains(at)) at = root.at(at);
    return at;
  };
  int position = 0;
  for (Operation& op : block) {
    for (const Value value : ReadValues(op)) last_use[ViewRoot(value).impl()] = position;
    ++position;
  }
  std::vector<std::pair<Operation*, int>> choices;
  position = 0;
  for (Operation& op : block) {
    const int at = position++;
    if (!Isa<kernel::CallOp>(op)) continue;
    int chosen = -1;
    const uint32_t mask = op.num_results() > 0 ? inplace_mask(&op) : 0;
    for (unsigned i = 0; i < op.num_operands() && i < 32 && chosen < 0; ++i) {
      const Value operand = op.operand(i);
      if (((mask >> i) & 1) == 0 || !SameSize(operand.type(), op.result(0).type())) continue;
      const Operation* producer = ViewRoot(operand).defining_op();
      if (producer == nullptr || producer->block() != &block || !Isa<kernel::CallOp>(producer) ||
          IsUploadOfConstant(*producer)) {
        continue;
      }
      ValueImpl* set = root_of(operand);
      if (last_use[set] != at) continue;
      // Another operand may be the same value, but not another view of the same bytes.
      bool clash = false;
      for (unsigned j = 0; j < op.num_operands(); ++j) {
        clash |= op.operand(j) != operand && root_of(op.operand(j)) == set;
      }
      if (!clash) chosen = static_cast<int>(i);
    }
    if (chosen >= 0) {
      ValueImpl* set = root_of(op.operand(chosen));
      ValueImpl* result = op.result(0).impl();
      last_use[set] = std::max(last_use[set], last_use[result]);
      root[result] = set;
    }
    choices.emplace_back(&op, chosen);
  }
  return choices;
}

}  // namespace tenon
