// Helpers for op definitions written in C++, for dialects outside of ir/dialect/*.yaml.
#ifndef TENON_IR_DIALECT_DEFINE_OP_H_
#define TENON_IR_DIALECT_DEFINE_OP_H_

#include <initializer_list>
#include <string>
#include <utility>

#include "ir/core/context/op_info.h"

namespace tenon {

// Accepts tensors of these element types, of any shape.
inline TypeConstraint TensorOf(std::initializer_list<DType> dtypes) {
  TypeConstraint constraint;
  constraint.description = "a tensor of ";
  size_t i = 0;
  for (const DType dtype : dtypes) {
    constraint.dtypes |= 1u << static_cast<uint8_t>(dtype);
    if (i > 0) constraint.description += i + 1 == dtypes.size() ? " or " : ", ";
    constraint.description += Name(dtype);
    ++i;
  }
  return constraint;
}

// Accepts the type `name` of a dialect, such as "acme.money", with any parameters.
inline TypeConstraint DialectTypeOf(std::string name) {
  TypeConstraint constraint;
  constraint.description = "!" + name;
  constraint.dialect_type = std::move(name);
  return constraint;
}

// Combines traits for OpDef::traits.
constexpr uint32_t TraitBits(std::initializer_list<Trait> traits) {
  uint32_t bits = 0;
  for (const Trait trait : traits) bits |= static_cast<uint32_t>(trait);
  return bits;
}

}  // namespace tenon

#endif  // TENON_IR_DIALECT_DEFINE_OP_H_
