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
  Collect(result.type(), defined);
  const Operation* op = result.defining_op();
  if (defined.empty() || op == nullptr) return {};
  for (unsigned i = 0; i < op->num_operands(); ++i) Collect(op->operand(i).type(), known);
  for (const Attribute slot : op->slots()) Collect(slot, known);
  for (const Block* block = op->block(); block != nullptr;) {
    for (unsigned i = 0; i < block->num_arguments(); ++i) Collect(block->argument(i).type(), known);
    const Operation* parent = block->parent_op();
    block = parent == nullptr ? nullptr : parent->block();
  }
  std::erase_if(defined, [&](std::string_view symbol) {
    return std::find(known.begin(), known.end(), symbol) != known.end();
  });
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
