#include "tools/ir-bisect/options.h"

#include <filesystem>
#include <string_view>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "tools/command_line/help.h"
#include "tools/command_line/option_table.h"

namespace tenon::ir_bisect {
namespace {

using tools::Given;
using tools::Set;
using tools::Takes;

constexpr tools::Option<Options> kTable[] = {
    tools::Heading<Options>("Inputs and expected outputs", "inputs"),
    {{"check", "", Takes::kInput, "DIR",
      "read input_N.pb of DIR; output_N.pb has the right results"},
     [](Options& o, const Given& g) { return Set(o.check, g.value); }},
    {{"inputs", "", Takes::kInput, "DIR",
      "read input_N.pb or input_N.npy of DIR (default: samples); -O0 has the right results"},
     [](Options& o, const Given& g) { return Set(o.inputs, g.value); }},
    tools::ExternalDataRow<Options>(),
    tools::ExternalDataLinksRow<Options>(),
    tools::ParamsRow<Options>(),
    {{"shape", "dim", Takes::kValue, "a=1,b=128", "set named dimensions of the samples",
      tools::Times::kAny},
     [](Options& o, const Given& g) { return tools::ReadSizes(g, o.shape); }},
    tools::AtolRow<Options>("absolute tolerance (default: 5e-5, f16 2e-3, bf16 1.6e-2)"),
    tools::RtolRow<Options>("relative tolerance (default: 1e-4, f16 2e-3, bf16 1.6e-2)"),

    tools::Heading<Options>("Optimization", "passes"),
    tools::LevelsRow<Options>("optimization level (default: 2)"),
    {{"pass-pipeline", "", Takes::kValue, "TEXT", "run a pipeline in place of a level"},
     [](Options& o, const Given& g) { return Set(o.pipeline, g.value); }},
    tools::LoadOpsRow<Options>(),
    tools::LoadPluginRow<Options>(),
    tools::RulesRow<Options>(),
    tools::DisableRulesRow<Options>(),
    tools::FastMathRow<Options>(),
    {{"reference", "", Takes::kNothing, "", "run the slow reference kernels alone"},
     [](Options& o, const Given&) { return Set(o.reference, true); }},
    tools::ThreadsRow<Options>("number of threads, 1 to 1024 (default: one per core)"),

    tools::Heading<Options>("Output", "output"),
    {{"o", "", Takes::kOutput, "DIR",
      "write the program before and after the step, and inputs that show it, to DIR"},
     [](Options& o, const Given& g) { return Set(o.output, g.value); }},
    {{"reduce", "", Takes::kFlag, "", "make these programs as small as possible (default: on)"},
     [](Options& o, const Given& g) { return Set(o.reduce, g.on); }},
    tools::JsonRow<Options>(),

    tools::Heading<Options>("Limits", "limits"),
    tools::MaxMemoryRow<Options>(),
    tools::MaxInputRow<Options>(),
    tools::MaxTripsRow<Options>(),
    tools::MaxNestingRow<Options>(),
    tools::MaxMessageRow<Options>(),

    tools::Heading<Options>("General", "general"),
    tools::HelpRow<Options>(),
    tools::VersionRow<Options>(),
};
constexpr std::span<const tools::Option<Options>> kOptions(kTable);

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments) {
  Options options;
  TENON_RETURN_IF_ERROR(tools::ReadModelCommandLine(
      kOptions, arguments, options,
      [](Options& o, const std::string& argument) { return tools::TakeModel(o, argument); }));
  if (options.action != Options::Action::kRun) return options;
  if (options.model.empty())
    return Wrong("no model (expected ir-bisect MODEL.onnx; --help lists the options)");
  if (options.output == "-") return Wrong("-o is '-' (expected a folder)");
  for (const std::string& argument : arguments) {
    if (!options.pipeline.empty() && argument.size() == 3 && argument.starts_with("-O"))
      return Wrong(fmt::format("{} has no effect beside --pass-pipeline", argument));
  }
  if (!options.check.empty() && (!options.inputs.empty() || !options.shape.empty()))
    return Wrong("--check and --inputs or --shape both give inputs (expected one of them)");
  if (!options.inputs.empty() && !options.shape.empty())
    return Wrong("--shape has no effect beside --inputs");
  if (options.reference) {
    TENON_RETURN_IF_ERROR(tools::RefuseBeside(options.given, "reference", {"threads"}));
  }
  for (const std::string* folder : {&options.check, &options.inputs}) {
    std::error_code error;
    if (!folder->empty() && !std::filesystem::is_directory(*folder, error)) {
      return Wrong(fmt::format("--{}: {} is not a folder",
                               folder == &options.check ? "check" : "inputs", *folder));
    }
  }
  tools::ChooseTolerances(5e-5, 1e-4, options);
  options.ulps = tools::kNarrowUlps;
  return options;
}

absl::StatusOr<std::string> HelpText(std::string_view form) {
  const tools::HelpParts parts = {
      .program = "ir-bisect",
      .usage = "ir-bisect MODEL [options]",
      .intro =
          R"(Finds the one rewrite, fold or pass that changes the results of a model. Runs the model with fewer
and fewer steps, names pass, rule and node, and makes the smallest program that shows it.
MODEL is an ONNX file, IR text or a binary module. "-" is standard input.
)",
      .statuses = R"(  0  no output differs after all steps
  1  a step changes the results, and is named
  2  the command line or a file is wrong, a limit is exceeded, or an output cannot be written
  3  the model uses an operation that Tenon cannot run
  5  the results are wrong without any step
)",
      .examples =
          R"(  ir-bisect model.onnx                          # -O2 against -O0, sample inputs
  ir-bisect model.onnx --check=data -o small    # against data/output_N.pb
  ir-bisect model.onnx --rules=my.drr           # rules of yours
)",
      .guides = R"(  docs/guide/debug-a-rewrite.md
)",
  };
  return tools::HelpIn(form, parts, tools::FormsOf(kOptions));
}

}  // namespace tenon::ir_bisect
