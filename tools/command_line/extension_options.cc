#include "tools/command_line/extension_options.h"

#include <string_view>

#include "fmt/format.h"
#include "frontends/cpp/plugin.h"
#include "ir/base/check.h"

namespace tenon::tools {
namespace {

void AddLine(std::string_view name, std::string_view summary, std::string& text) {
  text += summary.empty() ? fmt::format("    {}\n", name)
                          : fmt::format("    {:<28}  {}\n", name, summary);
}

std::string HelpOfPlugin(const LoadedPlugin& plugin, const Extension& extension) {
  std::string text = fmt::format("  {}, of {}\n", plugin.name, plugin.file);
  const auto range = [](const LoadedPlugin::Part& part, const auto& list) {
    return std::span(list).subspan(part.begin, part.count);
  };
  for (const Dialect& dialect : range(plugin.dialects, extension.dialects)) {
    for (const OpDef& op : dialect.ops) AddLine(op.name, op.summary, text);
  }
  for (const std::string& file : range(plugin.op_files, extension.op_files))
    AddLine(file, "operations of a file", text);
  for (const kernels::Kernel& kernel : range(plugin.kernels, extension.kernels)) {
    if (kernel.name != nullptr && kernel.op != nullptr)
      AddLine(kernel.name, fmt::format("kernel of {}", kernel.op), text);
  }
  for (const drr::Rule& rule : range(plugin.rules, extension.rules))
    AddLine(rule.name(), fmt::format("rule: {}", rule.summary()), text);
  for (const PassInfo& pass : range(plugin.passes, extension.passes))
    AddLine("--" + pass.name, fmt::format("pass: {}", pass.summary), text);
  return text;
}

}  // namespace

absl::Status MakeExtension(ExtensionOptions& options) {
  if (options.op_files.empty() && options.plugins.empty()) return absl::OkStatus();
  auto extension = std::make_shared<Extension>();
  extension->op_files = options.op_files;
  for (const std::string& file : options.plugins)
    TENON_RETURN_IF_ERROR(LoadPlugin(file, *extension));
  options.extension = std::move(extension);
  return absl::OkStatus();
}

std::string PluginHelp(const Extension* extension) {
  if (extension == nullptr || extension->plugins.empty()) return {};
  std::string text = "\nPlugins\n";
  for (const LoadedPlugin& plugin : extension->plugins) text += HelpOfPlugin(plugin, *extension);
  return text;
}

}  // namespace tenon::tools
