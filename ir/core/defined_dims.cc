#include "ir/core/defined_dims.h"

#include <algorithm>

#include "ir/core/block.h"

namespace tenon {
namespace {

void Collect(Type type, std::vector<std::string_view>& symbols) {
  if (!type.is_tensor()) return;
  for (const DimExpr dim : type.dims()) dim.CollectSymbols(symbols);
}

void Collect(Attribute attribute, std::vector<std::string_view>& symbols) {
  if (!attribute || attribute.kind() != Attribute::Kind::kDims) return;
  for (const DimExpr dim : attribute.dims()) dim.CollectSymbols(symbols);
}

}  // namespace

std::vector<std::string_view> DefinedDims(Value result) {
  std::vector<std::string_view> defined, known;
  const Operation* op = result.defining_op();
  if (op == nullptr) return {};
  // Most often the first operand has them all.
  for (unsigned i = 0; i < op->num_operands(); ++i) {
    if (op->operand(i).type() == result.type()) return {};
  }
  Collect(result.type(), defined);
  // Takes away what `of`, a type or an attribute, has. True if nothing is left.
  const auto all_in = [&](auto of) {
    if (defined.empty()) return true;
    known.clear();
    Collect(of, known);
    std::erase_if(defined, [&](std::string_view symbol) {
      return std::find(known.begin(), known.end(), symbol) != known.end();
    });
    return defined.empty();
  };
  for (unsigned i = 0; i < op->num_operands(); ++i) {
    if (all_in(op->operand(i).type())) return {};
  }
  for (const Attribute slot : op->slots()) {
    if (all_in(slot)) return {};
  }
  for (const Block* block = op->block(); block != nullptr;) {
    for (unsigned i = 0; i < block->num_arguments(); ++i) {
      if (all_in(block->argument(i).type())) return {};
    }
    const Operation* parent = block->parent_op();
    block = parent == nullptr ? nullptr : parent->block();
  }
  return defined;
}

bool DefinesDims(const Operation& op) {
  for (unsigned i = 0; i < op.num_results(); ++i)
    if (!DefinedDims(op.result(i)).empty()) return true;
  return false;
}

absl::flat_hash_set<std::string_view> SymbolsInAttributes(Operation& root) {
  std::vector<std::string_view> symbols;
  root.WalkPreOrder([&](Operation* op) {
    for (const Attribute slot : op->slots()) Collect(slot, symbols);
    return true;
  });
  return {symbols.begin(), symbols.end()};
}

}  // namespace tenon
