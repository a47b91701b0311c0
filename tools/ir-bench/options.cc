#include "tools/ir-bench/options.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "tools/command_line/help.h"
#include "tools/command_line/option_table.h"

namespace tenon::ir_bench {
namespace {

using tools::Given;
using tools::Set;
using tools::Takes;

constexpr std::string_view kEngines[] = {"onnxruntime", "openvino", "pytorch", "torch.compile",
                                         kOneThread};

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

absl::Status ReadEngines(const Given& given, std::vector<std::string>& engines) {
  for (std::string_view name : tools::SplitList(given.value)) {
    if (std::find(std::begin(kEngines), std::end(kEngines), name) == std::end(kEngines)) {
      return Wrong(fmt::format("--against has '{}' (expected one or more of {})", name,
                               fmt::join(kEngines, ", ")));
    }
    if (std::find(engines.begin(), engines.end(), name) != engines.end())
      return Wrong(fmt::format("--against has {} twice", name));
    engines.emplace_back(name);
  }
  return absl::OkStatus();
}

constexpr tools::Option<Options> kTable[] = {
    tools::Heading<Options>("Input and output", "files"),
    {{"inputs", "", Takes::kInput, "DIR",
      "read input_N.pb or input_N.npy from DIR (default: random values)"},
     [](Options& o, const Given& g) { return Set(o.inputs, g.value); }},
    {{"dim", "shape", Takes::kValue, "B=1,S=128",
      "set named dimensions (default: 1 for \"batch\", else 128)", tools::Times::kAny},
     [](Options& o, const Given& g) { return tools::ReadSizes(g, o.dims); }},
    tools::ExternalDataRow<Options>(),
    tools::ExternalDataLinksRow<Options>(),
    tools::ParamsRow<Options>(),
    tools::JsonRow<Options>(),

    tools::Heading<Options>("Optimization", "passes"),
    tools::LevelsRow<Options>("optimization level (default: 2)"),
    tools::PrecisionRow<Options>("weights of linear layers: fp32, bf16 or int8 (default: fp32)"),
    tools::LoadOpsRow<Options>(),
    tools::LoadPluginRow<Options>(),
    tools::RulesRow<Options>(),
    tools::DisableRulesRow<Options>(),
    tools::FastMathRow<Options>(),

    tools::Heading<Options>("Comparing engines", "engines"),
    {{"against", "", Takes::kValue, "LIST",
      "compare with onnxruntime, openvino, pytorch, torch.compile, one-thread (default: none)",
      tools::Times::kAny},
     [](Options& o, const Given& g) { return ReadEngines(g, o.against); }},
    {{"python", "", Takes::kValue, "PATH", "run the engines with this Python (default: python3)"},
     [](Options& o, const Given& g) { return Set(o.python, g.value); }},
    tools::AtolRow<Options>("absolute tolerance (default: 1e-4, f16 2e-3, bf16 1.6e-2)"),
    tools::RtolRow<Options>("relative tolerance (default: 1e-3, f16 2e-3, bf16 1.6e-2)"),

    tools::Heading<Options>("Measuring", "measuring"),
    tools::DeviceRow<Options>("run every engine on the first GPU (default: cpu)"),
    tools::ThreadsRow<Options>("threads of each engine, 1 to 1024 (default: 1)"),
    {{"rounds", "", Takes::kValue, "N", "number of rounds (default: 21)"},
     [](Options& o, const Given& g) { return tools::ReadCount(g, 1, 100000, o.rounds); }},
    {{"turn", "", Takes::kValue, "MS",
      "milliseconds of timed runs of an engine in a round (default: 40)"},
     [](Options& o, const Given& g) { return tools::ReadNonNegative(g, o.turn_ms); }},
    {{"time", "", Takes::kValue, "S", "start no round after S seconds (default: 60)"},
     [](Options& o, const Given& g) { return tools::ReadNonNegative(g, o.seconds); }},
    {{"warmup", "", Takes::kValue, "N", "runs of each engine before the first round (default: 3)"},
     [](Options& o, const Given& g) { return tools::ReadCount(g, 1, 100000, o.warmup); }},
    {{"pin", "", Takes::kNothing, "", "run every engine on the same processors, one per thread"},
     [](Options& o, const Given&) { return Set(o.pin, true); }},
    {{"neighbor", "neighbour", Takes::kOptional, "MS",
      "keep a processor busy; MS alternates work and sleep"},
     [](Options& o, const Given& g) {
       o.neighbour = true;
       return g.has_value ? tools::ReadNonNegative(g, o.neighbour_ms) : absl::OkStatus();
     }},

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

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments) {
  Options options;
  TENON_RETURN_IF_ERROR(
      tools::ReadModelCommandLine(kOptions, arguments, options, tools::TakeModel));
  if (options.action != Options::Action::kRun) return options;
  if (options.model.empty())
    return Wrong("no model (expected ir-bench MODEL; --help lists the options)");
  if (!options.inputs.empty() && !options.dims.empty())
    return Wrong("--inputs and --dim both say the sizes (expected one of them)");
  TENON_RETURN_IF_ERROR(tools::RefuseFastMath(options.given, options.level));
  const bool compares = !options.against.empty();
  const bool in_python = std::any_of(options.against.begin(), options.against.end(),
                                     [](const std::string& name) { return name != kOneThread; });
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, compares, "atol", "without --against"));
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, compares, "rtol", "without --against"));
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, in_python, "python",
                                            "without an engine of Python in --against"));
  tools::ChooseTolerances(1e-4, 1e-3, options);
  options.ulps = tools::kNarrowUlps;
  return options;
}

absl::StatusOr<std::string> HelpText(std::string_view form) {
  const tools::HelpParts parts = {
      .program = "ir-bench",
      .usage = "ir-bench MODEL [options]",
      .intro = R"(Times a model, alone or in turns with other engines.
MODEL is an ONNX file, IR text, a binary module or a saved program. "-" is standard input.
Other engines read ONNX only.
)",
      .statuses = R"(  0  every engine ran, and their outputs agree
  1  an output differs
  2  the command line or a file is wrong, a limit is exceeded, or an output cannot be written
  3  the model uses an operation that Tenon cannot run
  4  the device is missing, or another engine is missing or cannot run the model
)",
      .examples = R"(  ir-bench model.onnx --dim=batch=1,seq=128 --threads=4
  ir-bench model.onnx --inputs=data --json=bench.json
  ir-bench model.onnx --pin --against=onnxruntime,openvino --python=engines/bin/python
)",
      .guides = R"(  docs/guide/benchmark.md
)",
  };
  return tools::HelpIn(form, parts, tools::FormsOf(kOptions));
}

}  // namespace tenon::ir_bench
