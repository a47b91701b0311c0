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
  const char* name;
  Arity arity;
  bool any, scalar_i1;
  uint32_t dtypes;
  const char* description;
  const char* dialect_type = "";
};

// An attribute.
struct AttrRow {
  const char* name;
  AttrType type;
  bool required;
  const char* default_text;
  std::span<const char* const> enums;
};

// A block that an operation goes on to.
struct SuccessorRow {
  const char* name;
  int operand_group;
};

// An operation.
struct OpRow {
  const char* name;
  const char* summary;
  std::span<const OperandRow> operands, results;
  std::span<const AttrRow> attrs;
  std::span<const char* const> regions;
  std::span<const SuccessorRow> successors;
  uint32_t traits;
  InferFn::Function infer;
  VerifyFn::Function verify;
  FoldFn::Function fold;
  void (*interfaces)(InterfaceMap& interfaces);  // adds them; null: none
};

struct ParametricRow {
  const char* name;
  const char* summary;
  std::span<const AttrRow> parameters;
  absl::Status (*verify)(std::span<const Attribute> parameters);  // null: nothing more to check
};

// Copies the rows into a Dialect.
Dialect MakeDialect(const char* name, const char* summary, std::span<const OpRow> rows,
                    std::span<const ParametricRow> types = {},
                    std::span<const ParametricRow> attributes = {});

}  // namespace tenon

#endif  // TENON_IR_DIALECT_OP_TABLE_H_
