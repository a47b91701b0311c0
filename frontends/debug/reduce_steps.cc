#include "frontends/debug/reduce_steps.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

Block& BodyOf(const Operation& module) { return MainFunction(module)->region().front(); }

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

}  // namespace

Operation* MainFunction(const Operation& module) {
  Operation* only = nullptr;
  int bodies = 0;
  if (module.num_regions() == 0 || module.region().empty()) return nullptr;
  for (Operation& op : module.region().front()) {
    if (!Isa<func::FuncOp>(op) || op.region().empty()) continue;
    if (SymbolName(op) == "main") return &op;
    only = &op;
    ++bodies;
  }
  return bodies == 1 ? only : nullptr;
}

std::vector<Operation*> BodyOps(const Operation& module) {
  std::vector<Operation*> ops;
  for (Operation& op : BodyOf(module)) {
    if (!op.Has(Trait::kTerminator)) ops.push_back(&op);
  }
  return ops;
}

void TidyFunction(Operation& module) {
  Operation* const main = MainFunction(module);
  Block& body = main->region().front();
  for (Operation *op = body.back(), *before = nullptr; op != nullptr; op = before) {
    before = op->prev();
    // Results that are there for the sake of others go with them, also of ops with regions.
    if (!op->has_uses() && op->num_results() > 0 && !op->Has(Trait::kTerminator)) op->Erase();
  }
  std::set<std::string, std::less<>> called;
  module.Walk([&](Operation* op) {
    if (const std::string_view callee = CalleeOf(*op); !callee.empty()) called.emplace(callee);
  });
  Block& top = module.region().front();
  for (Operation *op = top.front(), *next = nullptr; op != nullptr; op = next) {
    next = op->next();
    if (op != main && Isa<func::FuncOp>(op) && called.count(SymbolName(*op)) == 0) op->Erase();
  }
  for (unsigned i = body.num_arguments(); i-- > 0;) {
    if (!body.argument(i).has_uses()) body.EraseArgument(i);
  }
  Context& context = module.context();
  std::vector<Type> inputs, results;
  for (unsigned i = 0; i < body.num_arguments(); ++i) inputs.push_back(body.argument(i).type());
  for (OpOperand& operand : body.back()->operands()) results.push_back(operand.get().type());
  main->SetAttr("function_type",
                Attribute::TypeAttr(context, Type::Function(context, inputs, results)));
  main->SetAttr("arg_attrs", Attribute());
  main->SetAttr("res_attrs", Attribute());
}

void ReturnValues(Operation& module, const std::vector<Value>& values) {
  Operation* const old = BodyOf(module).back();
  OpBuilder builder = OpBuilder::Before(old);
  if (func::ReturnOp::Create(builder, old->location(), values).ok()) old->Erase();
}

void ReplaceByArguments(Operation& module, size_t first, size_t count) {
  Block& body = BodyOf(module);
  const std::vector<Operation*> ops = BodyOps(module);
  const size_t end = std::min(first + count, ops.size());
  for (size_t i = end; i-- > first;) {
    for (unsigned r = 0; r < ops[i]->num_results(); ++r) {
      Value result = ops[i]->result(r);
      if (!result.has_uses()) continue;
      // Uses inside the part go with it.
      result.ReplaceAllUsesWith(body.AddArgument(result.type(), ops[i]->location()));
    }
    if (ops[i]->num_results() > 0) ops[i]->Erase();
  }
}

bool ReplaceByOperand(Operation& module, size_t index, unsigned operand) {
  Operation* const op = BodyOps(module)[index];
  if (op->num_results() != 1 || operand >= op->num_operands()) return false;
  const Value value = op->operand(operand);
  if (value.type() != op->result().type()) return false;
  op->result().ReplaceAllUsesWith(value);
  op->Erase();
  return true;
}

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
  Block& body = BodyOf(module);
  for (unsigned i = 0; i < body.num_arguments(); ++i) add(body.argument(i).type());
  for (Operation& op : body) {
    if (Isa<core::ConstantOp>(op)) add(op.result().type());
  }
  std::vector<DimExpr> dims;
  for (const auto& [name, dim] : symbols) dims.push_back(dim);
  for (const auto& [size, dim] : sizes) dims.push_back(dim);
  return dims;
}

bool ReplaceDim(Operation& module, DimExpr was, DimExpr now, bool attributes) {
  Block& body = BodyOf(module);
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

}  // namespace tenon
