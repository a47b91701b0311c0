#include "ir/core/context/declared_ops.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/context/definition_checks.h"
#include "ir/core/operation.h"

namespace tenon {
namespace {

bool Same(const OperandDef& a, const OperandDef& b) {
  return a.name == b.name && a.arity == b.arity && a.constraint.any == b.constraint.any &&
         a.constraint.dtypes == b.constraint.dtypes &&
         a.constraint.dialect_type == b.constraint.dialect_type &&
         a.constraint.scalar_i1 == b.constraint.scalar_i1;
}

bool Same(const AttrDef& a, const AttrDef& b) {
  return a.name == b.name && a.type == b.type && a.required == b.required &&
         a.default_text == b.default_text && a.enums == b.enums;
}

// Whether two definitions say the same of programs. Summaries are for people.
bool Same(const OpDef& a, const OpDef& b) {
  const auto same = [](const auto& x, const auto& y) { return Same(x, y); };
  return std::equal(a.operands.begin(), a.operands.end(), b.operands.begin(), b.operands.end(),
                    same) &&
         std::equal(a.results.begin(), a.results.end(), b.results.begin(), b.results.end(), same) &&
         std::equal(a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(), same) &&
         a.regions == b.regions && a.successors.size() == b.successors.size() &&
         a.traits == b.traits && a.infer == b.infer && a.verify == b.verify && a.fold == b.fold &&
         a.interfaces == b.interfaces;
}

bool Same(const ParametricDef& a, const ParametricDef& b) {
  const auto same = [](const AttrDef& x, const AttrDef& y) { return Same(x, y); };
  return a.verify == b.verify && std::equal(a.parameters.begin(), a.parameters.end(),
                                            b.parameters.begin(), b.parameters.end(), same);
}

// The name of a dialect: the text before the first dot.
Dialect DialectOf(std::string_view name) {
  Dialect dialect;
  dialect.name = name.substr(0, name.find('.'));
  return dialect;
}

void AddDeclaredDialect(const std::string& name, ContextImpl& impl) {
  impl.dialects.emplace(name, "Operations that files declare.");
  impl.declared_dialects.insert(name);
}

absl::Status DeclareParametric(const char* what, ParametricDef def, DialectDefs& defs,
                               Context& context) {
  ContextImpl& impl = ImplOf(context);
  const Dialect dialect = DialectOf(def.name);
  const bool declared = impl.declared_dialects.contains(dialect.name);
  const auto known = defs.find(def.name);
  if (known != defs.end() && declared && Same(known->second.def, def)) return absl::OkStatus();
  if (context.HasDialect(dialect.name) && !declared) {
    return absl::AlreadyExistsError(fmt::format(
        "{} '{}' is in the dialect '{}', which files cannot extend (expected a dialect of your "
        "own)",
        what, def.name, dialect.name));
  }
  if (known != defs.end()) {
    return absl::AlreadyExistsError(
        fmt::format("{} '{}' has another definition already (expected the same one, or a new name)",
                    what, def.name));
  }
  TENON_RETURN_IF_ERROR(AddDefs(context, dialect, what, {std::move(def)}, defs));
  AddDeclaredDialect(dialect.name, impl);
  return absl::OkStatus();
}

}  // namespace

absl::Status DeclareType(ParametricDef def, Context& context) {
  return DeclareParametric("type", std::move(def), ImplOf(context).dialect_types, context);
}

absl::Status DeclareAttribute(ParametricDef def, Context& context) {
  return DeclareParametric("attribute", std::move(def), ImplOf(context).dialect_attributes,
                           context);
}

absl::Status DeclareOp(OpDef def, Context& context) {
  ContextImpl& impl = ImplOf(context);
  const Dialect dialect = DialectOf(def.name);
  const bool declared = impl.declared_dialects.contains(dialect.name);
  const OpInfo* known = context.FindOp(def.name);
  if (known != nullptr && declared && Same(known->def(), def)) return absl::OkStatus();
  const auto taken = [&](std::string_view why) {
    return absl::AlreadyExistsError(fmt::format("op '{}' {}", def.name, why));
  };
  if (known != nullptr) {
    return taken(declared ? "has another definition already (expected the same one, or a new name)"
                          : "is an operation of the library (expected a new name)");
  }
  if (context.HasDialect(dialect.name) && !declared) {
    return taken(
        fmt::format("is in the dialect '{}', which files cannot extend (expected a "
                    "dialect of your own)",
                    dialect.name));
  }
  TENON_RETURN_IF_ERROR(CheckDefinition(context, dialect, def));
  if (const OpInfo* other = context.FindOp(HashOpName(def.name)); other != nullptr)
    return taken(fmt::format("has the hash of '{}' (expected another name)", other->name()));
  {
    std::lock_guard<std::mutex> lock(impl.unregistered_mutex);
    if (impl.unregistered_by_name.find(def.name) != impl.unregistered_by_name.end())
      return taken("is in the program without a definition (load its definition first)");
  }
  AddDeclaredDialect(dialect.name, impl);
  AddOp(std::move(def), context);
  return absl::OkStatus();
}

bool IsDeclared(const OpInfo& op) {
  return op.is_registered() && ImplOf(op.context()).declared_dialects.contains(op.dialect());
}

}  // namespace tenon
