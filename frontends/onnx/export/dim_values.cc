#include "frontends/onnx/export/dim_values.h"

#include <algorithm>

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "ir/core/dims/dim_expr_parts.h"

namespace tenon::onnx {
namespace {

// True if an operation in `at` may read what `from` defines before it.
bool Encloses(const Block* from, const Block* at) {
  for (; at != nullptr; at = at->parent_op() != nullptr ? at->parent_op()->block() : nullptr) {
    if (at == from) return true;
  }
  return false;
}

bool NotNegative(DimExpr dim) {
  return DimExpr::ProvablyLessEqual(DimExpr::Constant(dim.context(), 0), dim);
}

}  // namespace

void DimValues::AddSource(Value value) {
  const Type type = value.type();
  if (!type.is_tensor()) return;
  for (int64_t axis = 0; axis < type.rank(); ++axis) {
    const DimExpr dim = type.dim(axis);
    if (dim.is_constant() || dim.is_unknown()) continue;
    sources_[dim.text()].push_back({value, axis});
  }
}

void DimValues::EraseUnused() {
  while (!unused_.empty()) {
    const Value value = unused_.back();
    unused_.pop_back();
    Operation* op = value.defining_op();
    if (op == nullptr || op->info().dialect() != "onnx" || op->has_uses() || op->num_regions() > 0)
      continue;
    for (OpOperand& operand : op->operands()) unused_.push_back(operand.get());
    // A value that is on the list twice is gone.
    for (unsigned i = 0; i < op->num_results(); ++i) std::erase(unused_, op->result(i));
    op->Erase();
  }
}

const DimValues::Source* DimValues::Find(DimExpr dim, const Block* at) const {
  const auto found = sources_.find(dim.text());
  if (found == sources_.end()) return nullptr;
  for (const Source& source : found->second) {
    if (Encloses(source.value.parent_block(), at)) return &source;
  }
  return nullptr;
}

Value DimValues::Known(const std::string& text, const Block* at) const {
  const auto found = computed_.find(text);
  if (found == computed_.end()) return Value();
  for (const Value value : found->second) {
    if (Encloses(value.parent_block(), at)) return value;
  }
  return Value();
}

Value DimValues::Of(DimExpr dim, Lowering& lowering) {
  if (dim.is_constant()) return lowering.Ints({dim.constant()});
  const Block* at = lowering.op().block();
  if (const Value known = Known(dim.text(), at)) return known;
  const Source* source = Find(dim, at);
  const Value value = source != nullptr
                          ? lowering.ShapeOf(source->value, source->axis, source->axis + 1)
                          : Compute(dim, lowering);
  if (value) Note(dim.text(), value);
  return value;
}

Value DimValues::Compute(DimExpr dim, Lowering& lowering) {
  const auto binary = [&](std::string_view type, Value a, Value b) {
    return lowering.Node(type, {a, b});
  };
  switch (dim.kind()) {
    case DimExpr::Kind::kSum: {
      Value sum;
      for (const DimSummand& summand : SummandsOf(dim)) {
        Value product;
        for (const DimExpr factor : summand.factors) {
          const Value value = Of(factor, lowering);
          product = product ? binary("Mul", product, value) : value;
        }
        const bool subtract = sum && summand.coefficient < 0;
        const int64_t coefficient = subtract ? -summand.coefficient : summand.coefficient;
        if (!product || coefficient != 1) {
          const Value number = lowering.Ints({coefficient});
          product = product ? binary("Mul", product, number) : number;
        }
        sum = sum ? binary(subtract ? "Sub" : "Add", sum, product) : product;
      }
      return sum;
    }
    case DimExpr::Kind::kFloorDiv: {
      const auto [a, b] = OperandsOf(dim);
      Value numerator = Of(a, lowering);
      const Value divisor = Of(b, lowering);
      // Div of integers rounds towards zero.
      if (!NotNegative(a) || !NotNegative(b))
        numerator = binary("Sub", numerator, binary("Mod", numerator, divisor));
      return binary("Div", numerator, divisor);
    }
    case DimExpr::Kind::kMod:
    case DimExpr::Kind::kMin: {
      const auto [a, b] = OperandsOf(dim);
      const Value first = Of(a, lowering);
      return binary(dim.kind() == DimExpr::Kind::kMod ? "Mod" : "Min", first, Of(b, lowering));
    }
    case DimExpr::Kind::kBroadcast: {
      const auto [a, b] = OperandsOf(dim);
      const Value first = Of(a, lowering), second = Of(b, lowering);
      const Value is_one = binary("Equal", first, lowering.Ints({1}));
      return lowering.Node("Where", {is_one, second, first});
    }
    default:
      lowering.Fail(fmt::format("the extent {} is that of no value before this operation",
                                dim.is_unknown() ? "?" : dim.text()));
      return Value();
  }
}

}  // namespace tenon::onnx
