#include "transforms/functions/outline_sequence.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/walk.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

// The text of ops, with numbers for values. Attributes and types are interned, so that their
// addresses tell them apart; the text is compared and never shown.
class SequenceText {
 public:
  explicit SequenceText(Sequence* sequence) : sequence_(sequence) {}

  void Add(Operation& op) {
    Put(op.id());
    Put(op.num_operands());
    for (const OpOperand& operand : op.operands()) Use(operand.get());
    Put(op.num_results());
    for (unsigned i = 0; i < op.num_results(); ++i) Define(op.result(i));
    for (const Attribute slot : op.slots()) Put(reinterpret_cast<uintptr_t>(slot.storage()));
    Put(op.num_regions());
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      for (Block& block : op.region(r)) {
        Put(block.num_arguments());
        for (unsigned i = 0; i < block.num_arguments(); ++i) Define(block.argument(i));
        for (Operation& inner : block) {
          Add(inner);
          for (unsigned s = 0; s < inner.num_successors(); ++s)
            Put(BlockNumber(inner.successor(s)));
        }
        Put(~uint64_t{0});
      }
    }
  }
  std::string& text() { return text_; }

 private:
  void Put(uint64_t number) {
    text_.append(reinterpret_cast<const char*>(&number), sizeof(number));
  }
  void Put(Type type) { Put(reinterpret_cast<uintptr_t>(type.storage())); }
  void Define(Value value) {
    Put(value.type());
    numbers_.emplace(value.impl(), numbers_.size());
  }
  void Use(Value value) {
    const auto [at, added] = numbers_.try_emplace(value.impl(), numbers_.size());
    Put(value.type());
    // Without a sequence, one op is described: where its operands come from does not count.
    if (sequence_ != nullptr) Put(at->second);
    if (added && sequence_ != nullptr) sequence_->inputs.push_back(value);
  }
  static uint64_t BlockNumber(const Block* block) {
    uint64_t number = 0;
    for (const Block* at = block->prev(); at != nullptr; at = at->prev()) ++number;
    return number;
  }

  Sequence* sequence_;
  std::string text_;
  absl::flat_hash_map<const ValueImpl*, uint64_t> numbers_;
};

void CollectSymbols(Type type, std::vector<std::string_view>& symbols) {
  if (!type.is_tensor()) return;
  for (const DimExpr dim : type.dims()) dim.CollectSymbols(symbols);
}

// The constant of a value that all sequences read at this place; null if they differ.
Operation* SharedConstant(const std::vector<Sequence>& sequences, size_t input) {
  Operation* first = sequences[0].inputs[input].defining_op();
  if (first == nullptr || !first->Has(Trait::kConstantLike) || first->num_operands() > 0)
    return nullptr;
  for (const Sequence& sequence : sequences) {
    const Operation* op = sequence.inputs[input].defining_op();
    if (op == nullptr || op->id() != first->id() ||
        !std::equal(op->slots().begin(), op->slots().end(), first->slots().begin(),
                    first->slots().end())) {
      return nullptr;
    }
  }
  return first;
}

}  // namespace

bool MayOutline(const Operation& op) {
  return op.info().is_registered() && !op.Has(Trait::kTerminator) && !op.Has(Trait::kSymbol) &&
         op.info().Find<CallInterface>() == nullptr && EffectsOf(op).pure() && !DefinesDims(op);
}

uint64_t OutlineKey(Operation& op) {
  SequenceText writer(nullptr);
  writer.Add(op);
  return absl::HashOf(absl::string_view(writer.text().data(), writer.text().size()));
}

void Describe(Sequence& sequence) {
  SequenceText writer(&sequence);
  sequence.inputs.clear();
  sequence.outputs.clear();
  for (Operation* op : sequence.ops) writer.Add(*op);
  sequence.text = std::move(writer.text());
  const absl::flat_hash_set<const Operation*> inside(sequence.ops.begin(), sequence.ops.end());
  const Block* block = sequence.ops[0]->block();
  for (size_t at = 0; at < sequence.ops.size(); ++at) {
    for (unsigned i = 0; i < sequence.ops[at]->num_results(); ++i) {
      for (const OpOperand& use : sequence.ops[at]->result(i).uses()) {
        const Operation* user = use.owner();
        while (user->block() != block) user = user->parent_op();
        if (inside.contains(user)) continue;
        sequence.outputs.emplace_back(at, i);
        break;
      }
    }
  }
}

bool BindsItsSymbols(const Sequence& sequence) {
  std::set<std::string_view> bound;
  for (const Value input : sequence.inputs) {
    if (!input.type().is_tensor()) continue;
    for (const DimExpr dim : input.type().dims()) {
      if (dim.kind() == DimExpr::Kind::kSymbol) bound.insert(dim.symbol());
    }
  }
  std::vector<std::string_view> used;
  for (Operation* op : sequence.ops) {
    WalkOps(op, [&](Operation* inner) {
      for (unsigned i = 0; i < inner->num_results(); ++i)
        CollectSymbols(inner->result(i).type(), used);
      for (const OpOperand& operand : inner->operands()) CollectSymbols(operand.get().type(), used);
      for (const Attribute slot : inner->slots()) {
        if (!slot || slot.kind() != Attribute::Kind::kDims) continue;
        for (const DimExpr dim : slot.dims()) dim.CollectSymbols(used);
      }
      return WalkResult::kAdvance;
    });
  }
  return std::all_of(used.begin(), used.end(),
                     [&](std::string_view symbol) { return bound.contains(symbol); });
}

absl::StatusOr<Operation*> Outline(std::vector<Sequence>& sequences, const std::string& name,
                                   Operation* place) {
  Context& context = place->context();
  // Inputs may have been replaced by the results of calls since they were read.
  for (Sequence& sequence : sequences) Describe(sequence);
  // Results that any of the sequences hands on.
  std::vector<std::pair<size_t, unsigned>> outputs;
  for (const Sequence& sequence : sequences)
    outputs.insert(outputs.end(), sequence.outputs.begin(), sequence.outputs.end());
  std::sort(outputs.begin(), outputs.end());
  outputs.erase(std::unique(outputs.begin(), outputs.end()), outputs.end());
  const Sequence& body = sequences[0];
  std::vector<Type> inputs, results;
  std::vector<Operation*> constants;  // by input; null for an argument
  for (size_t i = 0; i < body.inputs.size(); ++i) {
    constants.push_back(SharedConstant(sequences, i));
    if (constants.back() == nullptr) inputs.push_back(body.inputs[i].type());
  }
  for (const auto& [at, i] : outputs) results.push_back(body.ops[at]->result(i).type());

  OpBuilder builder = OpBuilder::After(place);
  std::vector<Location> locations;
  for (const Operation* op : body.ops) locations.push_back(op->location());
  const Location location = Location::Fused(context, locations);
  TENON_ASSIGN_OR_RETURN(
      const func::FuncOp function,
      func::FuncOp::Create(builder, location,
                           {.function_type = Type::Function(context, inputs, results),
                            .sym_name = name,
                            .sym_visibility = "private"}));
  Block* block = function.body().AddBlock();

  absl::flat_hash_map<const ValueImpl*, Value> called;  // what calls give in the place of results
  const auto current = [&](Value value) {
    const auto result = called.find(value.impl());
    return result == called.end() ? value : result->second;
  };
  for (const Sequence& sequence : sequences) {
    OpBuilder behind = OpBuilder::After(sequence.ops.back());
    std::vector<Value> arguments;
    for (size_t i = 0; i < constants.size(); ++i) {
      if (constants[i] != nullptr) continue;
      arguments.push_back(current(sequence.inputs[i]));
    }
    TENON_ASSIGN_OR_RETURN(const func::CallOp call,
                           func::CallOp::Create(behind, sequence.ops.back()->location(), arguments,
                                                results, {.callee = name}));
    for (size_t i = 0; i < outputs.size(); ++i) {
      Value was = sequence.ops[outputs[i].first]->result(outputs[i].second);
      const absl::flat_hash_set<const Operation*> inside(sequence.ops.begin(), sequence.ops.end());
      std::vector<OpOperand*> uses;
      for (OpOperand& use : was.uses()) {
        const Operation* user = use.owner();
        while (user->block() != sequence.ops[0]->block()) user = user->parent_op();
        if (!inside.contains(user)) uses.push_back(&use);
      }
      Value now = call.op()->result(static_cast<unsigned>(i));
      if (was.has_name()) now.set_name(was.name());
      for (OpOperand* use : uses) use->set(now);
      called.emplace(was.impl(), now);
    }
  }
  // The first sequence moves, the others go.
  OpBuilder inside = OpBuilder::AtEnd(context, block);
  absl::flat_hash_map<const ValueImpl*, Value> now;
  for (size_t i = 0; i < constants.size(); ++i) {
    const Value was = body.inputs[i];
    Value value;
    if (constants[i] != nullptr) {
      value = inside.Insert(Clone(*constants[i]))->result(was.result_index());
    } else {
      value = block->AddArgument(was.type(), was.location());
      if (was.has_name()) value.set_name(was.name());
    }
    now.emplace(current(was).impl(), value);
  }
  for (Operation* op : body.ops) {
    WalkOps(op, [&](Operation* inner) {
      for (unsigned i = 0; i < inner->num_operands(); ++i) {
        const auto at = now.find(inner->operand(i).impl());
        if (at != now.end()) inner->set_operand(i, at->second);
      }
      return WalkResult::kAdvance;
    });
    op->RemoveFromBlock();
    block->Append(op);
  }
  std::vector<Value> returned;
  for (const auto& [at, i] : outputs) returned.push_back(body.ops[at]->result(i));
  inside.SetInsertionPointToEnd(block);
  TENON_RETURN_IF_ERROR(func::ReturnOp::Create(inside, location, returned).status());
  for (size_t s = 1; s < sequences.size(); ++s) {
    for (auto op = sequences[s].ops.rbegin(); op != sequences[s].ops.rend(); ++op) (*op)->Erase();
  }
  return function.op();
}

}  // namespace tenon
