#include "tools/ir-bench/options.h"

#include <algorithm>
#include <string_view>

#include "fmt/format.h"
#include "ir/core/check.h"
#include "tools/command_line/option_table.h"

namespace tenon::ir_bench {
namespace {

using tools::Given;
using tools::Set;
using tools::Takes;

constexpr std::string_view kEngines[] = {"onnxruntime", "openvino", kOneThread};

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
    {{"against", "", Takes::kValue, "LIST",
      "onnxruntime, openvino: Python packages that run the same model on the same inputs with as "
      "many threads, round by round in turns with Tenon; outputs are compared. one-thread: Tenon "
      "itself on one thread",
      tools::Times::kAny},
     [](Options& o, const Given& g) { return ReadEngines(g, o.against); }},
    {{"python", "", Takes::kValue, "PATH", "the Python that has them (python3)"},
     [](Options& o, const Given& g) { return Set(o.python, g.value); }},
    tools::RulesRow<Options>(),
    tools::FastMathRow<Options>(),
    tools::ThreadsRow<Options>("threads of each engine (1)"),
    tools::MaxMemoryRow<Options>(),
    tools::MaxInputRow<Options>(),
    tools::MaxTripsRow<Options>(),
    tools::MaxNestingRow<Options>(),
    tools::MaxMessageRow<Options>(),
    tools::DeviceRow<Options>(
        "cuda: Tenon on the first GPU, from inputs in the host's memory to results there; what "
        "falls back to the CPU is named"),
    {{"dim", "shape", Takes::kValue, "B=1,S=128",
      "sizes of the model's named dimensions (1 if the name has \"batch\" in it, 128 otherwise, or "
      "what operations demand)",
      tools::Times::kAny},
     [](Options& o, const Given& g) { return tools::ReadSizes(g, o.dims); }},
    {{"inputs", "", Takes::kValue, "DIR",
      "inputs from DIR/input_N.pb or .npy, as in ONNX's test data"},
     [](Options& o, const Given& g) { return Set(o.inputs, g.value); }},
    {{"rounds", "", Takes::kValue, "N", "rounds (21)"},
     [](Options& o, const Given& g) { return tools::ReadCount(g, 1, 100000, o.rounds); }},
    {{"turn", "", Takes::kValue, "MS", "timed runs of an engine in a round: for so long (40)"},
     [](Options& o, const Given& g) { return tools::ReadNonNegative(g, o.turn_ms); }},
    {{"time", "", Takes::kValue, "S", "no round begins after S seconds (60)"},
     [](Options& o, const Given& g) { return tools::ReadNonNegative(g, o.seconds); }},
    {{"warmup", "", Takes::kValue, "N", "runs of each engine before the first round (3)"},
     [](Options& o, const Given& g) { return tools::ReadCount(g, 1, 100000, o.warmup); }},
    {{"pin", "", Takes::kNothing, "",
      "every engine on the first N of the processors allowed, N being --threads"},
     [](Options& o, const Given&) { return Set(o.pin, true); }},
    {{"neighbour", "", Takes::kOptional, "MS",
      "with a process that keeps the last of the processors busy, always or for MS milliseconds in "
      "turns with as many of sleep"},
     [](Options& o, const Given& g) {
       o.neighbour = true;
       return g.has_value ? tools::ReadNonNegative(g, o.neighbour_ms) : absl::OkStatus();
     }},
    tools::AtolRow<Options>("outputs agree if |a-b| <= A*max(1, max|b|) + R*|b| everywhere (1e-4, "
                            "of f16 2e-3, of bf16 1.6e-2)"),
    tools::RtolRow<Options>("the R of --atol (1e-3, of f16 2e-3, of bf16 1.6e-2)"),
    tools::PrecisionRow<Options>(
        "of Tenon's linear layers: fp32; bf16, where the CPU multiplies "
        "it; int8, weights only. The "
        "others stay at fp32, and outputs agree within 3e-2, for int8 5e-2, unless --atol "
        "and --rtol say otherwise"),
    tools::JsonRow<Options>(),
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
  const bool compares = !options.against.empty();
  const bool in_python = std::any_of(options.against.begin(), options.against.end(),
                                     [](const std::string& name) { return name != kOneThread; });
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, compares, "atol", "without --against"));
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, compares, "rtol", "without --against"));
  TENON_RETURN_IF_ERROR(tools::RefuseUnless(options.given, in_python, "python",
                                            "without --against=onnxruntime or openvino"));
  tools::ChooseTolerances(1e-4, 1e-3, options);
  options.ulps = tools::kNarrowUlps;
  return options;
}

std::string HelpText() {
  return fmt::format(
      R"(ir-bench MODEL [options]: times a model, alone or in turns with other engines.
MODEL is an ONNX file or IR text (ONNX with --against).

  -O0 … -O3                       optimisation level (2)
{}
A round is one run that is not counted, then timed runs for --turn, at least one; then it is the next engine's turn, once
all threads of the one before sleep. Ratios are medians over rounds of (median of theirs / median of ours), with a
95 % interval.

Exit status: 0 ok; 1 an output differs; 2 bad input, or an output that cannot be written; 3 the model uses what Tenon cannot run;
4 another engine is not installed or does not run the model, or the device is not there.
)",
      tools::HelpOf(kOptions));
}

}  // namespace tenon::ir_bench
