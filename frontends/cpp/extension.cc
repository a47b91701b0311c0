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

template <typename... Args>
absl::Status Wrong(fmt::format_string<Args...> text, Args&&... args) {
  return absl::InvalidArgumentError("extension: " + fmt::format(text, std::forward<Args>(args)...));
}

// What programs need beyond what RegisterDialect asks for.
absl::Status CheckDefinition(const OpDef& def) {
  if (def.infer == nullptr)
    return Wrong(
        "'{}' has no shape function (InferElementwise and InferSameAsFirst of "
        "ir/dialect/shapes/shape_functions.h serve many)",
        def.name);
  return absl::OkStatus();
}

absl::Status CheckKernels(const Extension& extension, const Context& context) {
  const std::shared_ptr<const kernels::KernelRegistry> ours = MakeKernelRegistry();
  std::set<std::string_view> names;
  for (const kernels::Kernel& kernel : extension.kernels) {
    if (kernel.op == nullptr || kernel.name == nullptr || kernel.run == nullptr)
      return Wrong("a kernel lacks its op, name or run function");
    if (context.FindOp(kernel.op) == nullptr) {
      return Wrong("kernel '{}' is for '{}', an operation that no dialect has", kernel.name,
                   kernel.op);
    }
    if (!names.insert(kernel.name).second || ours->FindByName(kernel.name) != nullptr)
      return Wrong("there are two kernels '{}'", kernel.name);
  }
  return absl::OkStatus();
}

absl::Status CheckPasses(const Extension& extension) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry));
  for (const PassInfo& pass : extension.passes) {
    if (pass.anchor != "func.func" && pass.anchor != "builtin.module") {
      return Wrong("pass '{}' runs on '{}' (expected func.func or builtin.module)", pass.name,
                   pass.anchor);
    }
    const absl::Status status = registry.Register(pass);
    if (!status.ok()) return Wrong("{}", std::string(status.message()));
  }
  return absl::OkStatus();
}

absl::Status CheckRules(const Extension& extension, Context& context) {
  if (extension.rules.empty()) return absl::OkStatus();
  // Reports, counts and --explain know a rule by its name.
  for (const drr::Rule& rule : extension.rules) {
    if (pattern::FindSharedRule(rule.name()) != nullptr)
      return Wrong("there are two rules '{}'", rule.name());
  }
  const absl::Status status = drr::CompiledRules::Create(extension.rules, context).status();
  return status.ok() ? status : Wrong("{}", std::string(status.message()));
}

}  // namespace

absl::Status RegisterExtension(const Extension& extension, Context& context) {
  for (const Dialect& dialect : extension.dialects) {
    for (const OpDef& def : dialect.ops) TENON_RETURN_IF_ERROR(CheckDefinition(def));
    const absl::Status status = context.RegisterDialect(dialect);
    if (!status.ok()) return Wrong("{}", std::string(status.message()));
  }
  for (const std::string& file : extension.op_files) TENON_RETURN_IF_ERROR(LoadOps(file, context));
  TENON_RETURN_IF_ERROR(CheckKernels(extension, context));
  TENON_RETURN_IF_ERROR(CheckPasses(extension));
  return CheckRules(extension, context);
}

}  // namespace tenon
