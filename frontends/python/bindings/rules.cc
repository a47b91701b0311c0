#include "frontends/python/bindings/rules.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>
#include <utility>

#include "drr/check/check.h"
#include "drr/compile/compiled.h"
#include "drr/text/text.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/extend/extension.h"
#include "ir/dialect/dialects.h"
#include "patterns/facts/facts.h"
#include "transforms/rules/rule_cache.h"

namespace tenon::python {
namespace {

using Verdict = drr::CheckReport::Verdict;

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kUnchecked:
      return "unchecked";
    case Verdict::kInvalid:
      return "invalid";
    case Verdict::kWrong:
      return "wrong";
    case Verdict::kRight:
      return "right";
  }
  return "unchecked";
}

// Reads the rules and compiles each and all of them, in a Context of their own.
absl::StatusOr<std::vector<drr::Rule>> Compiled(const std::string& text, const std::string& name,
                                                const Extension* extension, Context& context) {
  RegisterAllDialects(context);
  if (extension != nullptr) {
    if (absl::Status status = RegisterExtension(*extension, context); !status.ok()) return status;
  }
  absl::StatusOr<std::vector<drr::Rule>> rules = TextRules(text, name, context);
  if (!rules.ok()) return rules.status();
  if (absl::Status status = CheckRuleNames(*rules); !status.ok()) return status;
  if (const auto all = drr::CompiledRules::Create(*rules, context); !all.ok()) return all.status();
  return rules;
}

std::shared_ptr<const Extension> Added(const PyExtension* extension) {
  return extension == nullptr ? nullptr : extension->Get();
}

// The names of the rules in a text.
std::vector<std::string> RuleNamesOf(const std::string& text, const std::string& name,
                                     const PyExtension* extension) {
  const std::shared_ptr<const Extension> added = Added(extension);
  Context context;
  std::vector<std::string> names;
  for (const drr::Rule& rule : ValueOf(Compiled(text, name, added.get(), context)))
    names.push_back(rule.name());
  return names;
}

// (name, verdict, failures) of each rule in a text.
std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> CheckRuleText(
    const std::string& text, const std::string& name, int matches, uint64_t seed,
    const PyExtension* extension) {
  if (matches < 1) Raise(absl::InvalidArgumentError("a check needs at least one match"));
  std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> result;
  absl::Status status;
  const std::shared_ptr<const Extension> added = Added(extension);
  {
    const nb::gil_scoped_release unlocked;
    Context context;
    const absl::StatusOr<std::vector<drr::Rule>> rules = Compiled(text, name, added.get(), context);
    status = rules.status();
    if (rules.ok()) {
      ReferenceEvaluator evaluator(added == nullptr ? MakeKernelRegistry()
                                                    : MakeKernelRegistry(added->kernels));
      drr::CheckOptions options;
      options.matches = matches;
      options.seed = seed;
      for (const drr::Rule& rule : *rules) {
        drr::CheckReport report = drr::CheckRule(rule, context, evaluator, options);
        result.emplace_back(rule.name(), VerdictName(report.verdict), std::move(report.failures));
      }
    }
  }
  RaiseIfError(status);
  return result;
}

}  // namespace

absl::StatusOr<std::vector<drr::Rule>> TextRules(const std::string& text, const std::string& name,
                                                 Context& context) {
  absl::StatusOr<std::vector<drr::Rule>> rules =
      drr::ParseRules(text, name, context, pattern::Facts());
  if (rules.ok()) {
    for (drr::Rule& rule : *rules) rule.set_family(name);
  }
  return rules;
}

void BindRules(nb::module_& module) {
  module.def("rule_names", RuleNamesOf, nb::arg("text"), nb::arg("name"),
             nb::arg("extension").none());
  module.def("check_rules", CheckRuleText, nb::arg("text"), nb::arg("name"), nb::arg("matches"),
             nb::arg("seed"), nb::arg("extension").none());
}

}  // namespace tenon::python
