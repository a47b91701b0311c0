#include "pass/ir_dump.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"
#include "ir/core/verify/symbol_table.h"

namespace tenon {
namespace {

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string_view WordOf(DumpKind kind) {
  switch (kind) {
    case DumpKind::kBefore:
      return "Dump Before";
    case DumpKind::kDiff:
      return "Diff After";
    default:
      return "Dump After";
  }
}

std::string_view EndingOf(DumpKind kind) {
  switch (kind) {
    case DumpKind::kBefore:
      return ".before.mlir";
    case DumpKind::kDiff:
      return ".diff";
    case DumpKind::kFailed:
      return ".failed.mlir";
    case DumpKind::kAfter:
      return ".mlir";
  }
  return "";
}

// A name without what a folder or a shell takes for something else.
std::string FileName(std::string_view text) {
  constexpr size_t kLongest = 100;
  std::string name(text.substr(0, kLongest));
  for (char& c : name) {
    const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    if (!kept) c = '_';
  }
  return name;
}

// "builtin_module_no-symbol-name/func_func_main"
std::string FolderOf(const Operation& op) {
  const std::string_view symbol = SymbolName(op);
  const std::string name = fmt::format("{}_{}", FileName(op.name()),
                                       symbol.empty() ? "no-symbol-name" : FileName(symbol));
  const Operation* const around = op.parent_op();
  return around == nullptr ? name : FolderOf(*around) + "/" + name;
}

absl::Status DumpToFile(const PassManagerOptions& options, DumpKind kind, std::string_view title,
                        std::string_view number, const Operation& op, std::string_view text) {
  const std::string folder = fmt::format("{}/{}", options.print_tree_dir, FolderOf(op));
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    return LostOutput(fmt::format("{}: cannot be created: {}", folder, error.message()));
  }
  const std::string stem = fmt::format("{}/{}_{}", folder, number, FileName(title));
  std::string file = fmt::format("{}{}", stem, EndingOf(kind));
  // A pass may run a pipeline several times on one op.
  for (int i = 2; std::filesystem::exists(file, error); ++i)
    file = fmt::format("{}_{}{}", stem, i, EndingOf(kind));
  return WriteFile(file, text);
}

}  // namespace

std::string DescribeTarget(const Operation& op) {
  const std::string_view symbol = SymbolName(op);
  return symbol.empty() ? fmt::format("'{}' operation", op.name())
                        : fmt::format("'{}' operation: @{}", op.name(), ShownName(symbol));
}

std::string DumpText(const PassManagerOptions& options, const Operation& op) {
  const Operation* shown = &op;
  while (options.print_module_scope && shown->parent_op() != nullptr) shown = shown->parent_op();
  std::string text = Print(*shown, options.print);
  if (!text.empty() && text.back() != '\n') text += '\n';
  return text;
}

bool DumpsBefore(const PassManagerOptions& options, const std::string& name) {
  return options.print_before_all || Contains(options.print_before, name);
}

bool DumpsAfter(const PassManagerOptions& options, const std::string& name, bool changed) {
  return !options.print_diff && (options.print_after_all || Contains(options.print_after, name) ||
                                 (options.print_after_change && changed));
}

bool DumpsDiff(const PassManagerOptions& options, const std::string& name) {
  if (!options.print_diff) return false;
  const bool all = options.print_after_all || options.print_after_change;
  return all || options.print_after.empty() || Contains(options.print_after, name);
}

absl::Status Dump(const PassManagerOptions& options, DumpKind kind, std::string_view title,
                  std::string_view number, const Operation& op, std::string_view text) {
  if (!options.print_tree_dir.empty()) return DumpToFile(options, kind, title, number, op, text);
  options.sink(fmt::format("// -----// IR {} {}{} ({}) //----- //\n", WordOf(kind), title,
                           kind == DumpKind::kFailed ? " Failed" : "", DescribeTarget(op)));
  options.sink(fmt::format("{}\n", text));
  return absl::OkStatus();
}

}  // namespace tenon
