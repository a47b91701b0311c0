#include "frontends/cpp/extension.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include "drr/compile/compiled.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/files/load_ops.h"
#include "frontends/cpp/passes.h"
#include "ir/base/check.h"
#include "ir/core/text/parser.h"
#include "patterns/shared_rules.h"

namespace tenon {
namespace {

// Who has added an element of a list.
std::string OriginOf(const Extension& extension, LoadedPlugin::Part LoadedPlugin::*list,
                     size_t index) {
  for (const LoadedPlugin& plugin : extension.plugins) {
    if ((plugin.*list).Has(index)) return fmt::format("{}: plugin '{}'", plugin.file, plugin.name);
  }
  return "extension";
}

absl::Status Wrong(const std::string& origin, std::string_view message) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", origin, message));
}

// What programs need beyond what RegisterDialect asks for.
absl::Status CheckDefinition(const OpDef& def, const std::string& origin) {
  if (def.infer != nullptr) return absl::OkStatus();
  return Wrong(origin,
               fmt::format("'{}' has no shape function (InferElementwise and InferSameAsFirst of "
                           "ir/dialect/shapes/shape_functions.h serve many)",
                           def.name));
}

absl::Status RegisterDialects(const Extension& extension, Context& context) {
  for (size_t i = 0; i < extension.dialects.size(); ++i) {
    const Dialect& dialect = extension.dialects[i];
    const std::string origin = OriginOf(extension, &LoadedPlugin::dialects, i);
    for (const OpDef& def : dialect.ops) TENON_RETURN_IF_ERROR(CheckDefinition(def, origin));
    const absl::Status status = context.RegisterDialect(dialect);
    if (!status.ok()) return Wrong(origin, std::string(status.message()));
  }
  return absl::OkStatus();
}

absl::Status CheckKernels(const Extension& extension, const Context& context) {
  const std::shared_ptr<const kernels::KernelRegistry> ours = MakeKernelRegistry();
  std::set<std::string_view> names;
  for (size_t i = 0; i < extension.kernels.size(); ++i) {
    const kernels::Kernel& kernel = extension.kernels[i];
    const std::string origin = OriginOf(extension, &LoadedPlugin::kernels, i);
    if (kernel.op == nullptr || kernel.name == nullptr || kernel.run == nullptr)
      return Wrong(origin, "a kernel lacks its op, name or run function");
    if (context.FindOp(kernel.op) == nullptr) {
      return Wrong(origin, fmt::format("kernel '{}' is for '{}', an operation that no dialect has",
                                       kernel.name, kernel.op));
    }
    if (!names.insert(kernel.name).second || ours->FindByName(kernel.name) != nullptr)
      return Wrong(origin, fmt::format("there are two kernels '{}'", kernel.name));
  }
  return absl::OkStatus();
}

absl::Status CheckPasses(const Extension& extension) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  for (size_t i = 0; i < extension.passes.size(); ++i) {
    const PassInfo& pass = extension.passes[i];
    const std::string origin = OriginOf(extension, &LoadedPlugin::passes, i);
    if (pass.anchor != "func.func" && pass.anchor != "builtin.module") {
      return Wrong(origin,
                   fmt::format("pass '{}' runs on '{}' (expected func.func or builtin.module)",
                               pass.name, pass.anchor));
    }
    const absl::Status status = registry.Register(pass);
    if (!status.ok()) return Wrong(origin, std::string(status.message()));
  }
  return absl::OkStatus();
}

absl::Status CheckRules(const Extension& extension, Context& context) {
  const std::vector<drr::Rule>& rules = extension.rules;
  if (rules.empty()) return absl::OkStatus();
  // Reports, counts and --explain know a rule by its name.
  for (size_t i = 0; i < rules.size(); ++i) {
    if (pattern::FindSharedRule(rules[i].name()) == nullptr) continue;
    return Wrong(OriginOf(extension, &LoadedPlugin::rules, i),
                 fmt::format("there are two rules '{}'", rules[i].name()));
  }
  const absl::Status status = drr::CompiledRules::Create(rules, context).status();
  if (status.ok()) return status;
  for (size_t i = 0; i < rules.size(); ++i) {
    const absl::Status alone = drr::CompileRule(rules[i], context).status();
    if (!alone.ok())
      return Wrong(OriginOf(extension, &LoadedPlugin::rules, i), std::string(alone.message()));
  }
  return Wrong("extension", std::string(status.message()));
}

}  // namespace

absl::Status RegisterExtension(const Extension& extension, Context& context) {
  TENON_RETURN_IF_ERROR(RegisterDialects(extension, context));
  for (const std::string& file : extension.op_files) TENON_RETURN_IF_ERROR(LoadOps(file, context));
  for (const OpText& text : extension.op_texts)
    TENON_RETURN_IF_ERROR(LoadOpsFromJson(text.json, text.name, context));
  TENON_RETURN_IF_ERROR(CheckKernels(extension, context));
  TENON_RETURN_IF_ERROR(CheckPasses(extension));
  return CheckRules(extension, context);
}

}  // namespace tenon
