// Dimensions of the main function.
#include <algorithm>
#include <cstring>
#include <map>

#include "frontends/debug/main_function.h"
#include "frontends/debug/reduce/step.h"
#include "ir/core/builder.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/dialect/core_ops.h"

namespace tenon::reduce {
namespace {

// The argument, or the elements of the constant, with smaller dimensions: leading elements stay.
Attribute LeadingElements(Attribute value, Type type) {
  Context& context = value.context();
  if (value.is_splat()) return Attribute::Splat(context, type, value.raw_bytes());
  const std::span<const DimExpr> from = value.type().dims(), to = type.dims();
  const size_t size = SizeOf(type.dtype());
  const std::span<const std::byte> source = value.raw_bytes();
  std::vector<std::byte> bytes(static_cast<size_t>(type.num_elements()) * size);
  std::vector<int64_t> index(to.size(), 0);
  for (size_t at = 0; at < bytes.size(); at += size) {
    int64_t element = 0;
    for (size_t d = 0; d < to.size(); ++d) element = element * from[d].constant() + index[d];
    std::memcpy(bytes.data() + at, source.data() + static_cast<size_t>(element) * size, size);
    for (size_t d = to.size(); d-- > 0;) {
      if (++index[d] < to[d].constant()) break;
      index[d] = 0;
    }
  }
  return Attribute::Elements(context, type, bytes);
}

class DimReplacer {
 public:
  DimReplacer(Context& context, DimExpr was, DimExpr now, bool attributes)
      : context_(context), was_(was), now_(now), attributes_(attributes) {}

  DimExpr Of(DimExpr dim) const {
    if (dim == was_) return now_;
    if (was_.kind() != DimExpr::Kind::kSymbol) return dim;
    return dim.Substitute([&](std::string_view symbol) {
      return symbol == was_.symbol() ? std::optional<DimExpr>(now_) : std::nullopt;
    });
  }
  Type Of(Type type) const {
    if (!type.is_tensor()) return type;
    std::vector<DimExpr> dims;
    for (DimExpr dim : type.dims()) dims.push_back(Of(dim));
    return WithDims(type, dims);
  }
  Attribute Of(Attribute value) const {
    if (!value) return value;
    switch (value.kind()) {
      case Attribute::Kind::kDims: {
        std::vector<DimExpr> dims;
        for (DimExpr dim : value.dims()) dims.push_back(Of(dim));
        return Attribute::Dims(context_, dims);
      }
      case Attribute::Kind::kDenseArray: {
        if (!attributes_ || !was_.is_constant() || value.type().dtype() != DType::kI64)
          return value;
        std::vector<int64_t> ints(value.ints().begin(), value.ints().end());
        std::replace(ints.begin(), ints.end(), was_.constant(), now_.constant());
        return Attribute::I64s(context_, ints);
      }
      case Attribute::Kind::kInteger:
        return attributes_ && was_.is_constant(value.int_value())
                   ? Attribute::Int(context_, now_.constant(), value.type())
                   : value;
      case Attribute::Kind::kElements: {
        const Type type = Of(value.type());
        return type == value.type() ? value : LeadingElements(value, type);
      }
      default:
        return value;
    }
  }

 private:
  Context& context_;
  const DimExpr was_, now_;
  const bool attributes_;
};

// Sizes and symbols of the dimensions of arguments and constants, each once: those worth shrinking.
std::vector<DimExpr> ShrinkableDims(const Operation& module) {
  std::map<std::string, DimExpr> symbols;
  std::map<int64_t, DimExpr, std::greater<>> sizes;
  const auto add = [&](Type type) {
    if (!type.is_tensor()) return;
    for (DimExpr dim : type.dims()) {
      if (dim.is_constant() && dim.constant() > 1) sizes.emplace(dim.constant(), dim);
      if (dim.kind() == DimExpr::Kind::kSymbol) symbols.emplace(dim.symbol(), dim);
    }
  };
  Block& body = MainFunction(module)->region().front();
  for (unsigned i = 0; i < body.num_arguments(); ++i) add(body.argument(i).type());
  for (Operation& op : body) {
    if (Isa<core::ConstantOp>(op)) add(op.result().type());
  }
  std::vector<DimExpr> dims;
  for (const auto& [name, dim] : symbols) dims.push_back(dim);
  for (const auto& [size, dim] : sizes) dims.push_back(dim);
  return dims;
}

// Replaces the dimension `was` by `now` in types, attributes and constants, of which leading
// elements stay, and infers the types of all results anew. False if an op refuses that. With
// `attributes` false, integers in attributes stay.
bool ReplaceDim(Operation& module, DimExpr was, DimExpr now, bool attributes) {
  Block& body = MainFunction(module)->region().front();
  const DimReplacer replace(module.context(), was, now, attributes);
  for (unsigned i = 0; i < body.num_arguments(); ++i) {
    Value argument = body.argument(i);
    argument.set_type(replace.Of(argument.type()));
  }
  for (Operation& op : body) {
    if (op.Has(Trait::kTerminator)) continue;
    if (op.num_regions() > 0) return false;
    for (unsigned s = 0; s < op.num_slots(); ++s) {
      // The dimensions of a constant are those of its elements.
      const bool is_constant = Isa<core::ConstantOp>(op);
      if (is_constant && op.slot(s) && op.slot(s).kind() != Attribute::Kind::kElements) continue;
      op.set_slot(s, replace.Of(op.slot(s)));
    }
    std::vector<Value> operands;
    for (OpOperand& operand : op.operands()) operands.push_back(operand.get());
    ResultTypes types;
    if (!InferResultTypes(op.info(), op.location(), operands, op.slots(), types).ok()) return false;
    if (types.size() != op.num_results()) return false;
    for (unsigned r = 0; r < op.num_results(); ++r) op.result(r).set_type(types[r]);
  }
  return true;
}

class ShrinkDims : public Step {
 public:
  size_t Count(ProgramEdit& edit) const override { return Places(edit).size(); }
  bool Change(ProgramEdit& edit, size_t first, size_t /*count*/) const override {
    const Place place = Places(edit)[first];
    const DimExpr now = DimExpr::Constant(edit.module().context(), place.size);
    return ReplaceDim(edit.module(), place.was, now, place.attributes);
  }
  bool in_groups() const override { return false; }

 private:
  struct Place {
    DimExpr was;
    int64_t size;
    bool attributes;  // integers in attributes, too
  };

  static std::vector<Place> Places(const ProgramEdit& edit) {
    std::vector<Place> places;
    const Operation* const main = MainFunction(edit.module());
    if (main == nullptr || main->region().front().next() != nullptr || edit.IsCalled(*main))
      return places;
    for (const DimExpr was : ShrinkableDims(edit.module())) {
      if (!was.is_constant()) {
        for (const int64_t size : {2, 3, 4}) places.push_back({was, size, false});
        continue;
      }
      std::vector<int64_t> sizes = {1, 2, 3, 4};
      if (was.constant() > 8) sizes.push_back(was.constant() / 2);
      for (const int64_t size : sizes) {
        if (size >= was.constant()) break;
        for (const bool attributes : {true, false}) places.push_back({was, size, attributes});
      }
    }
    return places;
  }
};

}  // namespace

void AddDimSteps(Steps& steps) { steps.push_back(std::make_unique<ShrinkDims>()); }

}  // namespace tenon::reduce
