#include "pass/conversion/type_converter.h"

#include <algorithm>
#include <span>

#include "fmt/format.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

// The converted parts; nullopt if one cannot be converted.
std::optional<std::vector<Type>> ConvertAll(const TypeConverter& converter,
                                            std::span<const Type> types) {
  std::vector<Type> converted;
  converted.reserve(types.size());
  for (const Type type : types) {
    converted.push_back(converter.Convert(type));
    if (!converted.back()) return std::nullopt;
  }
  return converted;
}

}  // namespace

Type TypeConverter::Convert(Type type) const {
  const bool has_parts = type.kind() == Type::Kind::kFunction || type.kind() == Type::Kind::kTuple;
  for (auto rule = rules_.rbegin(); rule != rules_.rend(); ++rule) {
    const std::optional<Type> to = (*rule)(type);
    if (!to) continue;
    if (*to != type || !has_parts) return *to;
    break;
  }
  if (!has_parts) return Type();
  const auto inputs = ConvertAll(*this, type.inputs());
  if (!inputs) return Type();
  if (type.kind() == Type::Kind::kTuple) return Type::Tuple(type.context(), *inputs);
  const auto results = ConvertAll(*this, type.results());
  return results ? Type::Function(type.context(), *inputs, *results) : Type();
}

bool TypeConverter::IsLegal(const Operation& op) const {
  for (const OpOperand& operand : op.operands()) {
    if (operand.get() && !IsLegal(operand.get().type())) return false;
  }
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (!IsLegal(op.result(i).type())) return false;
  }
  for (const Attribute attr : op.slots()) {
    if (!attr || attr.kind() != Attribute::Kind::kType) continue;
    if (attr.type().kind() == Type::Kind::kFunction && !IsLegal(attr.type())) return false;
  }
  for (unsigned r = 0; r < op.num_regions(); ++r) {
    for (const Block& block : op.region(r)) {
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        if (!IsLegal(block.argument(i).type())) return false;
      }
    }
  }
  return true;
}

absl::StatusOr<Value> TypeConverter::Materialize(Need need, OpBuilder& builder, Type to, Value from,
                                                 Location location) const {
  const auto made_by = [&](const std::vector<Materialization>& all) -> absl::StatusOr<Value> {
    for (auto f = all.rbegin(); f != all.rend(); ++f) {
      TENON_ASSIGN_OR_RETURN(const Value made, (*f)(builder, to, from, location));
      if (!made) continue;
      if (made.type() == to) return made;
      const std::string message =
          fmt::format("a materialization has made a value of type {} (expected {})",
                      made.type().text(), to.text());
      EmitError(to.context(), location, message).IgnoreError();
      return absl::FailedPreconditionError(message);
    }
    return Value();
  };
  if (need == Need::kTarget) return made_by(target_);
  if (need == Need::kArgument) {
    TENON_ASSIGN_OR_RETURN(const Value made, made_by(argument_));
    if (made) return made;
  }
  return made_by(source_);
}

}  // namespace tenon
