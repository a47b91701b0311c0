#include "ir/dialect/op_table.h"

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
  }
  return defs;
}

}  // namespace

Dialect MakeDialect(const char* name, const char* summary, std::span<const OpRow> rows) {
  Dialect dialect;
  dialect.name = name;
  dialect.summary = summary;
  dialect.ops.reserve(rows.size());
  for (const OpRow& row : rows) {
    OpDef& def = dialect.ops.emplace_back();
    def.name = row.name;
    def.summary = row.summary;
    def.operands = MakeOperands(row.operands);
    def.results = MakeOperands(row.results);
    def.attrs.reserve(row.attrs.size());
    for (const AttrRow& attr : row.attrs) {
      AttrDef& attr_def = def.attrs.emplace_back();
      attr_def.name = attr.name;
      attr_def.type = attr.type;
      attr_def.required = attr.required;
      attr_def.default_text = attr.default_text;
      attr_def.enums.assign(attr.enums.begin(), attr.enums.end());
    }
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
