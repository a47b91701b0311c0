#include "frontends/debug/reduce/program_edit.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "absl/container/flat_hash_map.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/verify/symbol_uses.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon::reduce {
namespace {

constexpr int64_t kSizeOfSymbol = int64_t{1} << 20;  // more than any size that replaces a symbol
constexpr int64_t kMost = int64_t{1} << 60;          // sums end here

int64_t Sum(int64_t a, int64_t b) { return std::min(kMost, a + std::min(b, kMost)); }

std::vector<Operation*> OpsBelow(Operation& module) {
  std::vector<Operation*> ops;
  module.WalkPreOrder([&](Operation* op) {
    if (op != &module) ops.push_back(op);
    return true;
  });
  return ops;
}

int64_t SizeOfDims(Type type) {
  int64_t size = 0;
  if (!type || !type.is_tensor()) return size;
  for (const DimExpr dim : type.dims())
    size = Sum(size, dim.is_constant() ? dim.constant() : kSizeOfSymbol);
  return size;
}

// Attributes that could be left out.
int64_t NumAttributes(const Operation& op) {
  int64_t count = 0;
  if (const Attribute discardable = op.discardable_attrs())
    count += static_cast<int64_t>(discardable.entries().size());
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    const Attribute value = op.slot(i);
    if (!value || value == op.info().default_value(static_cast<int>(i))) continue;
    const bool all = !op.info().is_registered() && value.kind() == Attribute::Kind::kDictionary;
    count += all ? static_cast<int64_t>(value.entries().size()) : 1;
  }
  return count;
}

int64_t SizeOfConstants(const Operation& op) {
  int64_t bytes = 0;
  for (const Attribute value : op.slots()) {
    if (value && value.kind() == Attribute::Kind::kElements && !value.is_splat())
      bytes = Sum(bytes, static_cast<int64_t>(value.raw_bytes().size()));
  }
  return bytes;
}

// The op around `op` whose regions see no values from outside.
Operation* IsolatedOpAround(Operation* op) {
  for (op = op->parent_op(); op != nullptr && !op->Has(Trait::kIsolatedFromAbove);)
    op = op->parent_op();
  return op;
}

Value Zeros(Value value) {
  Operation* const op = value.is_result() ? value.defining_op() : value.argument_owner()->front();
  const Type type = value.type();
  if (op == nullptr || !type.is_tensor() || !type.is_static() || SizeOf(type.dtype()) == 0)
    return Value();
  const std::vector<std::byte> zero(SizeOf(type.dtype()));
  OpBuilder builder = OpBuilder::Before(op);
  const auto constant = core::ConstantOp::Create(
      builder, op->location(), {.value = Attribute::Splat(op->context(), type, zero)});
  return constant.ok() ? constant->out() : Value();
}

void SetFunctionType(Operation* function) {
  Region& body = function->region();
  Context& context = function->context();
  std::vector<Type> inputs, results;
  const Block& entry = body.front();
  for (unsigned i = 0; i < entry.num_arguments(); ++i) inputs.push_back(entry.argument(i).type());
  for (Block& block : body) {
    const Operation* const last = block.back();
    if (last == nullptr || !IsReturn(*last)) continue;
    for (OpOperand& operand : last->operands()) results.push_back(operand.get().type());
    break;
  }
  const Attribute type = Attribute::TypeAttr(context, Type::Function(context, inputs, results));
  if (function->attr("function_type") == type) return;
  function->SetAttr("function_type", type);
  // Names of arguments that are there no more would be those of others.
  function->SetAttr("arg_attrs", Attribute());
  function->SetAttr("res_attrs", Attribute());
}

}  // namespace

bool EndsBlock(const Operation& op) {
  if (op.Has(Trait::kTerminator)) return true;
  return !op.info().is_registered() && op.block() != nullptr && op.block()->back() == &op &&
         op.parent_op() != nullptr && !op.parent_op()->Has(Trait::kNoTerminator);
}

bool Computes(const Operation& op) {
  return !op.Has(Trait::kSymbol) && !op.Has(Trait::kSymbolTable) && !EndsBlock(op);
}

int64_t NumComputingOps(const Operation& module) {
  const std::vector<Operation*> ops = OpsBelow(const_cast<Operation&>(module));
  return std::count_if(ops.begin(), ops.end(), [](const Operation* op) { return Computes(*op); });
}

ProgramSize MeasureProgram(const Operation& module) {
  ProgramSize size{};
  auto& [places, uses, ordinals, attributes, bytes, dims] = size;
  std::vector<Operation*> ops = OpsBelow(const_cast<Operation&>(module));
  ops.push_back(const_cast<Operation*>(&module));
  absl::flat_hash_map<ValueImpl*, int64_t> numbers;
  const auto count = [&](Value value) {
    numbers.emplace(value.impl(), static_cast<int64_t>(numbers.size()));
    dims = Sum(dims, SizeOfDims(value.type()));
  };
  for (const Operation* op : ops) {
    for (unsigned i = 0; i < op->num_results(); ++i) count(op->result(i));
    for (unsigned r = 0; r < op->num_regions(); ++r) {
      for (const Block& block : op->region(r)) {
        ++places;
        uses += block.num_arguments();
        for (unsigned i = 0; i < block.num_arguments(); ++i) count(block.argument(i));
      }
    }
  }
  for (const Operation* op : ops) {
    ++places;
    uses += op->num_operands();
    attributes += NumAttributes(*op);
    bytes = Sum(bytes, SizeOfConstants(*op));
    for (const OpOperand& operand : op->operands())
      ordinals = Sum(ordinals, numbers[operand.get().impl()]);
  }
  return size;
}

ProgramEdit::ProgramEdit(Operation& module) : module_(module), ops_(OpsBelow(module)) {
  for (const Operation* op : ops_) {
    if (op->num_results() > 0 && !op->has_uses()) unused_before_.insert(op);
    ForEachSymbolRef(*op, [&](std::string_view path) {
      for (const Operation* symbol : SymbolsOnPath(*op, path)) called_.insert(symbol);
    });
  }
}

std::vector<Operation*> ProgramEdit::FreeFunctions() const {
  std::vector<Operation*> functions;
  for (Operation* op : ops_) {
    if (Isa<func::FuncOp>(op) && !op->region().empty() && !IsCalled(*op)) functions.push_back(op);
  }
  return functions;
}

void ProgramEdit::Forget(Operation* op) {
  op->Walk([&](Operation* inner) {
    erased_.insert(inner);
    unused_before_.erase(inner);
  });
}

void ProgramEdit::Erase(Operation* op) {
  Forget(op);
  op->Erase();
}

void ProgramEdit::EraseUnreachable(Region& region) {
  const std::vector<Block*> reached = BlocksInDominanceOrder(region);
  const std::unordered_set<const Block*> kept(reached.begin(), reached.end());
  for (Block& block : region) {
    if (kept.count(&block) != 0) continue;
    for (Operation& op : block) Forget(&op);
  }
  RemoveUnreachableBlocks(region);
}

Value ProgramEdit::StandIn(Value value) {
  Operation* const from = value.is_result() ? value.defining_op() : value.argument_owner()->front();
  Operation* const around = from == nullptr ? nullptr : IsolatedOpAround(from);
  if (around == nullptr || around->num_regions() != 1 || around->region().empty()) return Value();
  Block& entry = around->region().front();
  if (Isa<func::FuncOp>(around) && !IsCalled(*around))
    return entry.AddArgument(value.type(), value.location());
  for (unsigned i = 0; i < entry.num_arguments(); ++i) {
    const Value argument = entry.argument(i);
    if (argument != value && argument.type() == value.type()) return argument;
  }
  return Zeros(value);
}

void ProgramEdit::Finish() {
  const std::vector<Operation*> now = OpsBelow(module_);
  // Users come behind what they use, and ops in regions behind the op that has the regions.
  for (size_t i = now.size(); i-- > 0;) {
    Operation* const op = now[i];
    if (op->num_results() > 0 && !op->has_uses() && !EndsBlock(*op) &&
        !unused_before_.contains(op)) {
      op->Erase();
    }
  }
  for (Operation* op : OpsBelow(module_)) {
    if (Isa<func::FuncOp>(op) && !op->region().empty() && !IsCalled(*op)) SetFunctionType(op);
  }
}

}  // namespace tenon::reduce
