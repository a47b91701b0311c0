// Constant data from which generated code builds the definitions of a dialect. The rows have the
// fields of OperandDef, AttrDef, SuccessorDef and OpDef (ir/core/context/op_info.h), and of
// ParametricDef (ir/core/context/context.h).
#ifndef TENON_IR_DIALECT_OP_TABLE_H_
#define TENON_IR_DIALECT_OP_TABLE_H_

#include <cstdint>
#include <span>

#include "ir/core/context/context.h"

namespace tenon {

// An operand or a result.
struct OperandRow {
  const char* name;               // OperandDef::name
  Arity arity;                    // OperandDef::arity
  bool any;                       // TypeConstraint::any
  bool scalar_i1;                 // TypeConstraint::scalar_i1
  uint32_t dtypes;                // TypeConstraint::dtypes
  const char* description;        // TypeConstraint::description
  const char* dialect_type = "";  // TypeConstraint::dialect_type
};

// An attribute.
struct AttrRow {
  const char* name;                    // AttrDef::name
  AttrType type;                       // AttrDef::type
  bool required;                       // AttrDef::required
  const char* default_text;            // AttrDef::default_text
  std::span<const char* const> enums;  // AttrDef::enums
};

// A block that an operation goes on to.
struct SuccessorRow {
  const char* name;   // SuccessorDef::name
  int operand_group;  // SuccessorDef::operand_group
};

// An operation.
struct OpRow {
  const char* name;                              // OpDef::name
  const char* summary;                           // OpDef::summary
  std::span<const OperandRow> operands;          // OpDef::operands
  std::span<const OperandRow> results;           // OpDef::results
  std::span<const AttrRow> attrs;                // OpDef::attrs
  std::span<const char* const> regions;          // OpDef::regions
  std::span<const SuccessorRow> successors;      // OpDef::successors
  uint32_t traits;                               // OpDef::traits
  InferFn::Function infer;                       // OpDef::infer
  VerifyFn::Function verify;                     // OpDef::verify
  FoldFn::Function fold;                         // OpDef::fold
  void (*interfaces)(InterfaceMap& interfaces);  // adds them; null: none
};

// A type or an attribute.
struct ParametricRow {
  const char* name;                                               // ParametricDef::name
  const char* summary;                                            // ParametricDef::summary
  std::span<const AttrRow> parameters;                            // ParametricDef::parameters
  absl::Status (*verify)(std::span<const Attribute> parameters);  // null: nothing more to check
};

// Copies the rows into a Dialect.
Dialect MakeDialect(const char* name, const char* summary, std::span<const OpRow> rows,
                    std::span<const ParametricRow> types = {},
                    std::span<const ParametricRow> attributes = {});

}  // namespace tenon

#endif  // TENON_IR_DIALECT_OP_TABLE_H_
