#include "tools/ir-opt/describe.h"

#include <memory>
#include <string_view>
#include <utility>

#include "executor/passes.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "frontends/cpp/extension.h"
#include "ir/base/check.h"
#include "ir/base/suggest.h"
#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "kernels/registry.h"
#include "pass/module_properties.h"
#include "tools/ir-opt/lists.h"

namespace tenon::ir_opt {
namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;  // a name, and what it means

// A heading and indented rows; nothing without rows.
std::string Section(std::string_view title, const Rows& rows) {
  if (rows.empty()) return "";
  constexpr size_t kWidest = 24;
  size_t width = 0;
  for (const auto& [name, text] : rows) {
    if (name.size() <= kWidest) width = std::max(width, name.size());
  }
  std::string out = fmt::format("  {}:\n", title);
  for (const auto& [name, text] : rows) {
    const std::string line = fmt::format("    {:<{}}  {}", name, width, text);
    out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return out;
}

std::string_view WordOf(PassOption::Type type) {
  switch (type) {
    case PassOption::Type::kBool:
      return "true or false";
    case PassOption::Type::kInt:
      return "integer";
    case PassOption::Type::kCount:
      return "integer, not negative";
    case PassOption::Type::kString:
      return "text";
    case PassOption::Type::kStringList:
      return "list of texts";
  }
  return "";
}

std::string PassText(const PassInfo& pass, const PassRegistry& registry) {
  std::string text = fmt::format("{}: pass on {}\n  {}\n", pass.name,
                                 pass.anchor.empty() ? "any operation" : pass.anchor, pass.summary);
  if (pass.on_any_op) text += "  any(...) runs it on every isolated operation.\n";
  if (pass.explains) text += fmt::format("  --explain={} shows what it decides.\n", pass.name);
  Rows options, statistics, properties;
  for (const PassOption& option : pass.options) {
    std::string help = fmt::format("{}: {}", WordOf(option.type), option.help);
    if (!option.choices.empty())
      help += fmt::format("; one of {}", fmt::join(option.choices, ", "));
    if (option.required) {
      help += " (required)";
    } else if (!option.default_text.empty()) {
      help += fmt::format(" (default: {})", option.default_text);
    }
    options.emplace_back(option.name, std::move(help));
  }
  for (const PassStatistic& statistic : pass.statistics)
    statistics.emplace_back(statistic.name, statistic.help);
  for (const auto& [verb, bits] : {std::pair<std::string, uint32_t>{"needs", pass.needs},
                                   {"establishes", pass.establishes},
                                   {"destroys", pass.destroys}}) {
    if (bits != 0) properties.emplace_back(verb, PropertyNames(registry, bits));
  }
  return text + Section("Options", options) + Section("Statistics", statistics) +
         Section("Properties of the module", properties);
}

std::string_view WordOf(AttrType type) {
  switch (type) {
    case AttrType::kAny:
      return "attribute";
    case AttrType::kUnit:
      return "unit";
    case AttrType::kBool:
      return "true or false";
    case AttrType::kI64:
      return "i64";
    case AttrType::kF32:
      return "f32";
    case AttrType::kF64:
      return "f64";
    case AttrType::kStr:
      return "text";
    case AttrType::kEnum:
      return "word";
    case AttrType::kI64s:
      return "integers";
    case AttrType::kF32s:
      return "floats";
    case AttrType::kDims:
      return "dimensions";
    case AttrType::kType:
      return "element type";
    case AttrType::kTypeAttr:
      return "type";
    case AttrType::kElements:
      return "elements of a tensor";
    case AttrType::kSymbol:
      return "symbol";
  }
  return "";
}

std::string AttributeText(const AttrDef& attr) {
  std::string text(WordOf(attr.type));
  if (!attr.enums.empty()) text += fmt::format(", one of {}", fmt::join(attr.enums, ", "));
  if (!attr.default_text.empty()) return text + fmt::format(" (default: {})", attr.default_text);
  return text + (attr.required ? " (required)" : " (optional)");
}

Rows ValueRows(const std::vector<OperandDef>& values) {
  Rows rows;
  for (const OperandDef& value : values) {
    std::string text = value.constraint.any ? "any type" : value.constraint.description;
    if (value.arity == Arity::kOptional) text += ", optional";
    if (value.arity == Arity::kVariadic) text += ", any number";
    rows.emplace_back(value.name, std::move(text));
  }
  return rows;
}

std::string TraitsText(uint32_t traits) {
  constexpr std::string_view kWords[] = {"pure",
                                         "elementwise",
                                         "commutative",
                                         "idempotent",
                                         "constant-like",
                                         "terminator",
                                         "isolated from above",
                                         "symbol",
                                         "symbol table",
                                         "no terminator",
                                         "single block",
                                         "same element type of operands and results",
                                         "same element type of operands",
                                         "view of operand 0",
                                         "reads memory",
                                         "writes memory",
                                         "random"};
  std::vector<std::string_view> words;
  for (size_t i = 0; i < std::size(kWords); ++i) {
    if ((traits >> i & 1) != 0) words.push_back(kWords[i]);
  }
  return words.empty() ? "" : fmt::format("  Traits: {}\n", fmt::join(words, ", "));
}

std::string_view DeviceOf(const kernels::Kernel& kernel) {
  return kernel.backend == kernels::Backend::kCuda ? "CUDA" : "CPU";
}

std::string OpText(const OpInfo& info, const kernels::KernelRegistry& kernels) {
  const OpDef& def = info.def();
  Rows attributes, regions, successors, kernel_rows;
  for (const AttrDef& attr : def.attrs) {
    if (attr.name != "operandSegmentSizes") attributes.emplace_back(attr.name, AttributeText(attr));
  }
  for (const std::string& region : def.regions) regions.emplace_back(region, "");
  for (const SuccessorDef& successor : def.successors) {
    const auto group = static_cast<size_t>(successor.operand_group);
    successors.emplace_back(successor.name,
                            successor.operand_group < 0
                                ? ""
                                : fmt::format("gets the operands {}", def.operands[group].name));
  }
  for (const kernels::Kernel& kernel : kernels.Find(info.name())) {
    const bool reference = std::string_view(kernel.name).starts_with("ref.");
    kernel_rows.emplace_back(
        kernel.name, reference ? "reference, CPU"
                               : fmt::format("{}, priority {}", DeviceOf(kernel), kernel.priority));
  }
  std::string text = fmt::format("{}: operation of dialect {}\n", info.name(), info.dialect());
  if (!def.summary.empty()) text += fmt::format("  {}\n", def.summary);
  return text + Section("Operands", ValueRows(def.operands)) + Section("Attributes", attributes) +
         Section("Results", ValueRows(def.results)) + Section("Regions", regions) +
         Section("Successors", successors) + TraitsText(def.traits) +
         Section("Kernels", kernel_rows);
}

std::string DialectText(const std::string& dialect, const Context& context) {
  Rows ops;
  for (const OpInfo* info : context.OpsOf(dialect))
    ops.emplace_back(info->name(), info->def().summary);
  return fmt::format("{}: dialect of {} operations\n{}", dialect, ops.size(),
                     Section("Operations", ops));
}

std::string KernelText(const kernels::Kernel& kernel) {
  std::string text = fmt::format("{}: kernel of {}\n  Runs on the {}, priority {}.\n", kernel.name,
                                 kernel.op, DeviceOf(kernel), kernel.priority);
  if (kernel.prepare != nullptr) text += "  Prepares itself once for each set of shapes.\n";
  text += kernel.supports == nullptr ? "  Supports every call.\n" : "  Supports some calls.\n";
  for (size_t i = 0; i < 32; ++i) {
    if ((kernel.inplace_mask >> i & 1) != 0)
      text += fmt::format("  May write its result over input {}.\n", i);
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> DescribeText(const std::string& name, const PassRegistry& registry,
                                         const std::vector<std::string>& rule_files,
                                         const Extension* extension) {
  Context context;
  RegisterAllDialects(context);
  if (extension != nullptr) TENON_RETURN_IF_ERROR(RegisterExtension(*extension, context));
  const std::shared_ptr<const kernels::KernelRegistry> kernels =
      extension == nullptr ? MakeKernelRegistry() : MakeKernelRegistry(extension->kernels);
  std::vector<std::string> known, found;
  for (const auto& [pass, info] : registry.passes()) {
    known.push_back(pass);
    if (pass == name) found.push_back(PassText(info, registry));
  }
  for (const auto& [pipeline, row] : registry.pipelines()) {
    known.push_back(pipeline);
    if (pipeline == name) {
      found.push_back(fmt::format("{}: pipeline\n  {}\n  = {}\n", pipeline, row.summary, row.text));
    }
  }
  for (const std::string& dialect : context.DialectNames()) {
    known.push_back(dialect);
    if (dialect == name) found.push_back(DialectText(dialect, context));
    for (const OpInfo* info : context.OpsOf(dialect)) {
      known.emplace_back(info->name());
      if (info->name() == name) found.push_back(OpText(*info, *kernels));
    }
  }
  for (const std::string& op : kernels->ops()) {
    for (const kernels::Kernel& kernel : kernels->Find(op)) {
      known.emplace_back(kernel.name);
      if (kernel.name == name) found.push_back(KernelText(kernel));
    }
  }
  TENON_RETURN_IF_ERROR(DescribeRules(name, rule_files, extension, context, known, found));
  if (found.empty()) {
    return absl::NotFoundError(
        fmt::format("--describe: there is no pass, pipeline, operation, dialect, kernel, rule or "
                    "family '{}'{}",
                    name, DidYouMeanOp(name, known)));
  }
  return fmt::format("{}", fmt::join(found, "\n"));
}

}  // namespace tenon::ir_opt
