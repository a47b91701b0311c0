#include "tools/ir-run/compare.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"
#include "tools/command_line/peer.h"
#include "tools/command_line/progress.h"
#include "tools/command_line/temporary_folder.h"

namespace tenon::ir_run {
namespace {

using Object = nlohmann::ordered_json;

// The engine in a process of its own, and its outputs.
absl::StatusOr<std::vector<Tensor>> RunPeer(const Options& options, const Program& program,
                                            std::span<const Tensor> inputs,
                                            const std::string& more_outputs, std::string& version) {
  tools::Progress::Begin(fmt::format("running {}", options.compare));
  TENON_ASSIGN_OR_RETURN(const tools::TemporaryFolder folder,
                         tools::TemporaryFolder::Make("ir-run"));
  TENON_RETURN_IF_ERROR(tools::WritePeerInputs(folder.path(), program, inputs));
  TENON_RETURN_IF_ERROR(WriteFile(folder.path() + "/outputs.onnx", more_outputs));
  std::error_code error;
  const std::string model = std::filesystem::absolute(options.model, error).string();
  const absl::StatusOr<std::unique_ptr<tools::Peer>> peer =
      tools::Peer::Start({options.python, options.compare, model, folder.path(), options.threads});
  if (!peer.ok()) return absl::UnavailableError(peer.status().message());
  version = (*peer)->version();
  return (*peer)->Outputs();
}

std::string ErrorsText(const Difference& d) {
  return fmt::format("{:.2e} abs {:.2e} rel", d.max_abs, d.max_rel);
}

Object Finite(double value) { return std::isfinite(value) ? Object(value) : Object(nullptr); }

Object DifferenceObject(const Difference& d) {
  return {{"pass", d.pass},
          {"max_abs_error", Finite(d.max_abs)},
          {"max_rel_error", Finite(d.max_rel)},
          {"problem", d.problem}};
}

Object ValueObject(const ComparedValue& value) {
  Object object = {{"value", value.value}, {"node", value.node}, {"type", value.type}};
  object.update(DifferenceObject(value.difference));
  object["position"] = value.position;
  return object;
}

}  // namespace

bool CompareReport::pass() const {
  return nodes.first() == nullptr &&
         std::all_of(outputs.outputs.begin(), outputs.outputs.end(),
                     [](const OutputReport& output) { return output.optimized.pass; });
}

absl::StatusOr<CompareReport> CompareWithEngine(const Options& options,
                                                std::vector<std::string>& errors) {
  CompareReport report;
  report.engine = options.compare;
  TENON_ASSIGN_OR_RETURN(const Programs programs, Prepare(options, options.model, errors));
  TENON_ASSIGN_OR_RETURN(
      const Case c, MakeCase(options, programs.original, programs.optimized_program, report.notes));
  LoadOptions load;
  load.extension = options.added.extension;
  load.limits = options.limits.library;
  load.on_diagnostic = [&](const Context& context, const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kError)
      errors.push_back(FormatDiagnostic(context, diagnostic));
  };
  CompileOptions compile;
  compile.limits = options.limits.library;
  compile.threads = options.threads;
  compile.reference = options.reference;
  tools::Progress::Begin("running with every value as an output");
  TENON_ASSIGN_OR_RETURN(report.nodes, CompareNodes(
                                           options.model, load, compile, c.inputs,
                                           [&](const std::string& more_outputs) {
                                             return RunPeer(options, programs.original_program,
                                                            c.inputs, more_outputs, report.version);
                                           },
                                           [&](const Tensor& actual, const Tensor& expected) {
                                             return tools::CompareOutput(options, actual, expected);
                                           }));
  // The engine may leave out outputs that are no tensors of numbers.
  Case expected = c;
  expected.expected = report.nodes.outputs;
  TENON_ASSIGN_OR_RETURN(report.outputs, RunCase(options, programs, expected));
  for (OutputReport& output : report.outputs.outputs) {
    if (!output.has_expected) output.optimized.pass = true;
  }
  return report;
}

std::string TextReport(const CompareReport& report, const Options& options) {
  std::string text = fmt::format("{} values compared with {} {}\n", report.nodes.values.size(),
                                 report.engine, ShownName(report.version));
  if (const ComparedValue* largest = report.nodes.largest(); largest != nullptr) {
    text += fmt::format("largest error within the tolerance: \"{}\" of node \"{}\": {}\n",
                        ShownName(largest->value), ShownName(largest->node),
                        ErrorsText(largest->difference));
  }
  for (const OutputReport& output : report.outputs.outputs) {
    if (!output.has_expected) continue;
    text += fmt::format(
        "output {} ({})\n  optimized against {}  {}{}\n", ShownName(output.name), output.type,
        report.engine, ErrorsText(output.optimized),
        output.optimized.pass ? "" : fmt::format(" FAIL ({})", output.optimized.problem));
  }
  const ComparedValue* first = report.nodes.first();
  if (first != nullptr) {
    const auto count =
        std::count_if(report.nodes.values.begin(), report.nodes.values.end(),
                      [](const ComparedValue& value) { return !value.difference.pass; });
    text += fmt::format(
        "first difference: value \"{}\" of node \"{}\" ({})\n  {}{}\n  {}\n",
        ShownName(first->value), ShownName(first->node), first->type, ErrorsText(first->difference),
        first->position.empty() ? "" : fmt::format(" at [{}]", fmt::join(first->position, ", ")),
        first->difference.problem);
    text += fmt::format("{} values differ in all\n", count);
  } else if (!report.pass()) {
    text += fmt::format(
        "no value of the model as it is differs: a rewrite of -O{} makes the difference "
        "(ir-bisect {} names it)\n",
        options.level, ShownName(options.model));
  }
  if (!report.nodes.skipped.empty()) {
    text += fmt::format("note: {} gives no numbers for {} values, such as \"{}\"\n", report.engine,
                        report.nodes.skipped.size(), ShownName(report.nodes.skipped[0]));
  }
  for (const std::string& note : report.notes) text += "note: " + ShownMessage(note) + "\n";
  return text + (report.pass() ? "PASS\n" : "FAIL\n");
}

std::string JsonReport(const CompareReport& report, const Options& options) {
  Object values = Object::array(), outputs = Object::array();
  for (const ComparedValue& value : report.nodes.values) values.push_back(ValueObject(value));
  for (const OutputReport& output : report.outputs.outputs) {
    if (!output.has_expected) continue;
    Object object = {{"name", output.name}, {"type", output.type}};
    object.update(DifferenceObject(output.optimized));
    outputs.push_back(std::move(object));
  }
  const ComparedValue* first = report.nodes.first();
  const Object json = {
      {"model", options.model},
      {"level", options.level},
      {"engine", report.engine},
      {"version", report.version},
      {"pass", report.pass()},
      {"first_difference", first != nullptr ? ValueObject(*first) : Object(nullptr)},
      {"values", std::move(values)},
      {"skipped", report.nodes.skipped},
      {"optimized_outputs", std::move(outputs)},
      {"notes", report.notes}};
  return json.dump(2, ' ', true, Object::error_handler_t::replace) + "\n";
}

}  // namespace tenon::ir_run
