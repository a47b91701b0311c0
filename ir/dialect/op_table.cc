#include "ir/dialect/op_table.h"

#include "ir/core/operation.h"

namespace tenon {
namespace {

std::vector<OperandDef> MakeOperands(std::span<const OperandRow> rows) {
  std::vector<OperandDef> defs;
  defs.reserve(rows.size());
  for (const OperandRow& row : rows) {
    OperandDef& def = defs.emplace_back();
    def.name = row.name;
    def.arity = row.arity;
    def.constraint.any = row.any;
    def.constraint.dtypes = row.dtypes;
    def.constraint.scalar_i1 = row.scalar_i1;
    def.constraint.description = row.description;
    def.constraint.dialect_type = row.dialect_type;
  }
  return defs;
}

std::vector<AttrDef> MakeAttrs(std::span<const AttrRow> rows) {
  std::vector<AttrDef> defs;
  defs.reserve(rows.size());
  for (const AttrRow& row : rows) {
    AttrDef& def = defs.emplace_back();
    def.name = row.name;
    def.type = row.type;
    def.required = row.required;
    def.default_text = row.default_text;
    def.enums.assign(row.enums.begin(), row.enums.end());
  }
  return defs;
}

std::vector<ParametricDef> MakeParametric(std::span<const ParametricRow> rows) {
  std::vector<ParametricDef> defs;
  defs.reserve(rows.size());
  for (const ParametricRow& row : rows) {
    ParametricDef& def = defs.emplace_back();
    def.name = row.name;
    def.summary = row.summary;
    def.parameters = MakeAttrs(row.parameters);
    if (row.verify != nullptr) def.verify = row.verify;
  }
  return defs;
}

}  // namespace

Dialect MakeDialect(const char* name, const char* summary, std::span<const OpRow> rows,
                    std::span<const ParametricRow> types,
                    std::span<const ParametricRow> attributes) {
  Dialect dialect;
  dialect.name = name;
  dialect.summary = summary;
  dialect.types = MakeParametric(types);
  dialect.attributes = MakeParametric(attributes);
  dialect.ops.reserve(rows.size());
  for (const OpRow& row : rows) {
    OpDef& def = dialect.ops.emplace_back();
    def.name = row.name;
    def.summary = row.summary;
    def.operands = MakeOperands(row.operands);
    def.results = MakeOperands(row.results);
    def.attrs = MakeAttrs(row.attrs);
    def.regions.assign(row.regions.begin(), row.regions.end());
    for (const SuccessorRow& successor : row.successors) {
      SuccessorDef& successor_def = def.successors.emplace_back();
      successor_def.name = successor.name;
      successor_def.operand_group = successor.operand_group;
    }
    def.traits = row.traits;
    if (row.infer != nullptr) def.infer = row.infer;
    if (row.verify != nullptr) def.verify = row.verify;
    if (row.fold != nullptr) def.fold = row.fold;
    if (row.interfaces != nullptr) row.interfaces(def.interfaces);
  }
  return dialect;
}

}  // namespace tenon
