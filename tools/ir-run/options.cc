#include "tools/ir-run/options.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "fmt/format.h"
#include "ir/core/check.h"
#include "tools/command_line/option_table.h"

namespace tenon::ir_run {
namespace {

using tools::Given;
using tools::Set;
using tools::Takes;

absl::Status Wrong(std::string message) { return absl::InvalidArgumentError(std::move(message)); }

absl::Status ReadProfile(const Given& given, Options& options) {
  if (given.has_value && !given.value.ends_with(".json")) {
    return Wrong(
        fmt::format("--profile is '{}' (expected FILE.json or FILE.trace.json)", given.value));
  }
  options.profile = true;
  return Set(options.profile_file, given.value);
}

absl::Status ReadInput(const Given& given,
                       std::vector<std::pair<std::string, std::string>>& inputs) {
  const size_t equals = given.value.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == given.value.size())
    return Wrong(fmt::format("--input is '{}' (expected name=file.npy)", given.value));
  const std::string_view name = given.value.substr(0, equals);
  for (const auto& [before, file] : inputs) {
    if (before == name) return Wrong(fmt::format("--input names {} twice (expected once)", name));
  }
  inputs.emplace_back(name, given.value.substr(equals + 1));
  return absl::OkStatus();
}

absl::Status ReadOnnxTest(const Given& given, Options& options) {
  options.action = Options::Action::kOnnxTest;
  if (given.has_value) options.onnx_tests.emplace_back(given.value);
  if (!options.model.empty()) options.onnx_tests.push_back(std::move(options.model));
  options.model.clear();
  return absl::OkStatus();
}

constexpr tools::Option<Options> kTable[] = {
    {{"check", "", Takes::kValue, "DIR",
      "inputs and expected outputs: input_N.pb and output_N.pb as in ONNX's test data, in DIR or "
      "in its folders test_data_set_N"},
     [](Options& o, const Given& g) { return Set(o.check, g.value); }},
    tools::AtolRow<Options>(
        "an output passes if |a-b| <= A*max(1, max|b|) + R*|b| everywhere, with shape, element "
        "type, NaNs and infinities as expected (5e-5, of f16 2e-3, of bf16 1.6e-2; with "
        "--onnx-test "
        "1e-7)"),
    tools::RtolRow<Options>("the R of --atol (1e-4, of f16 2e-3, of bf16 1.6e-2; with --onnx-test "
                            "1e-3, of bf16 1.6e-2)"),
    tools::PrecisionRow<Options>(
        "of linear layers in the optimised program: fp32; bf16, where the CPU multiplies it; int8, "
        "weights only. The tolerances are then 3e-2, for int8 5e-2, unless given"),
    tools::RulesRow<Options>(),
    tools::FastMathRow<Options>(),
    tools::ThreadsRow<Options>("threads (one per core)"),
    {{"weight-cache", "", Takes::kValue, "DIR",
      "keeps packed weights there for the next start (what TENON_WEIGHT_CACHE names)"},
     [](Options& o, const Given& g) { return Set(o.weight_cache, g.value); }},
    {{"verify-weights", "", Takes::kFlag, "",
      "hashes the model's files and the kept weights, whatever is noted of them"},
     [](Options& o, const Given& g) { return Set(o.verify_weights, g.on); }},
    tools::MaxMemoryRow<Options>(),
    tools::MaxInputRow<Options>(),
    tools::MaxTripsRow<Options>(),
    tools::MaxNestingRow<Options>(),
    tools::MaxMessageRow<Options>(),
    tools::DeviceRow<Options>(
        "cuda: the optimised program on the first GPU, compared with the original on the CPU; what "
        "falls back to the CPU is named"),
    {{"reference", "", Takes::kNothing, "", "the readable reference kernels alone, as the oracle"},
     [](Options& o, const Given&) { return Set(o.reference, true); }},
    tools::JsonRow<Options>(),
    {{"input", "", Takes::kValue, "NAME=FILE",
      "an input from a .npy file (or a TensorProto file); repeat for each", tools::Times::kAny},
     [](Options& o, const Given& g) { return ReadInput(g, o.inputs); }},
    {{"shape", "dim", Takes::kValue, "a=1,b=128",
      "sizes of the model's named dimensions (1 if the name has \"batch\" in it, 8 otherwise, or "
      "what operations demand)",
      tools::Times::kAny},
     [](Options& o, const Given& g) { return tools::ReadSizes(g, o.shape); }},
    {{"seed", "", Takes::kValue, "N",
      "of the random values of inputs that are not given (0): floats from -1 to 1; integers from 0 "
      "to 7, but ones for masks, zeros for token types, and 0, 1, 2, … for positions, told by the "
      "name"},
     [](Options& o, const Given& g) {
       return tools::ReadInteger(g, 0, std::numeric_limits<int64_t>::max(), o.seed);
     }},
    {{"save-outputs", "", Takes::kValue, "DIR",
      "writes input_N.pb and the optimised program's output_N.pb"},
     [](Options& o, const Given& g) { return Set(o.save_outputs, g.value); }},
    {{"runs", "", Takes::kValue, "N",
      "timed runs of each program (as many as fit a second, at least 3)"},
     [](Options& o, const Given& g) { return tools::ReadCount(g, 1, 1000000, o.runs); }},
    {{"profile", "", Takes::kOptional, "FILE",
      "where the optimised program's time goes: by node, kernel and layer, with GFLOP/s and GB/s. "
      "In FILE.json all of it; in FILE.trace.json a trace that Perfetto (ui.perfetto.dev) and "
      "chrome://tracing open"},
     [](Options& o, const Given& g) { return ReadProfile(g, o); }},
    {{"check-memory", "", Takes::kNothing, "",
      "fills memory that holds nothing with NaNs, so that a wrong memory plan shows in the "
      "results"},
     [](Options& o, const Given&) { return Set(o.check_memory, true); }},
    {{"onnx-test", "", Takes::kOptional, "DIR",
      "the models named are cases of ONNX's backend test suite: folders of model.onnx and "
      "test_data_set_N, or folders of such folders",
      tools::Times::kAny},
     [](Options& o, const Given& g) { return ReadOnnxTest(g, o); }},
    tools::HelpRow<Options>(),
    tools::VersionRow<Options>(),
};
constexpr std::span<const tools::Option<Options>> kOptions(kTable);

// An option that would change nothing is an error.
absl::Status RefuseIgnored(const Options& options) {
  const tools::GivenNames& given = options.given;
  if (options.action == Options::Action::kOnnxTest) {
    if (options.onnx_tests.empty())
      return Wrong(
          "--onnx-test without cases (expected folders of model.onnx and test_data_set_N)");
    TENON_RETURN_IF_ERROR(tools::RefuseBeside(
        given, "onnx-test",
        {"check", "input", "json", "profile", "runs", "save-outputs", "seed", "shape"}));
  }
  if (!options.check.empty()) TENON_RETURN_IF_ERROR(tools::RefuseBeside(given, "check", {"seed"}));
  if (options.reference) {
    // Reference kernels pack nothing and run on one thread.
    TENON_RETURN_IF_ERROR(tools::RefuseBeside(given, "reference", {"threads", "weight-cache"}));
    if (options.cuda) return Wrong("--reference has no effect beside --device=cuda");
  }
  if (options.profile && options.profile_file.empty() && options.json == "-") {
    return Wrong(
        "--profile without a file has no effect beside --json=- (expected "
        "--profile=FILE.json)");
  }
  const char* const folder = std::getenv("TENON_WEIGHT_CACHE");
  const bool has_cache = !options.weight_cache.empty() || (folder != nullptr && *folder != '\0');
  return tools::RefuseUnless(given, has_cache && !options.reference, "verify-weights",
                             "without --weight-cache or TENON_WEIGHT_CACHE");
}

absl::Status Operand(Options& options, const std::string& argument) {
  if (options.action == Options::Action::kOnnxTest) {
    options.onnx_tests.push_back(argument);
    return absl::OkStatus();
  }
  return tools::TakeModel(options, argument);
}

}  // namespace

absl::StatusOr<Options> ParseCommandLine(const std::vector<std::string>& arguments) {
  Options options;
  TENON_RETURN_IF_ERROR(tools::ReadModelCommandLine(kOptions, arguments, options, Operand));
  if (options.action == Options::Action::kHelp || options.action == Options::Action::kVersion)
    return options;
  if (options.action == Options::Action::kRun && options.model.empty())
    return Wrong("no model (expected ir-run MODEL.onnx; --help lists the options)");
  if (!options.check.empty() && (!options.inputs.empty() || !options.shape.empty()))
    return Wrong("--check and --input or --shape both give inputs (expected one of them)");
  TENON_RETURN_IF_ERROR(RefuseIgnored(options));
  if (options.action == Options::Action::kOnnxTest) {
    // Those of ONNX's own runner.
    tools::ChooseTolerances(1e-7, 1e-3, options);
    options.bf16_rtol = 0x1p-6;
  } else {
    // Fifty convolutions in f32 are 3e-5 of the largest result away from other engines.
    tools::ChooseTolerances(5e-5, 1e-4, options);
    options.ulps = tools::kNarrowUlps;
  }
  return options;
}

std::string HelpText() {
  return fmt::format(
      R"(ir-run MODEL [options]: runs a model as it is and optimised, compares and times both.
MODEL is an ONNX file or IR text; "-" is standard input.

  -O0 … -O3                       optimisation level (2)
{}
Exit status: 0 ok; 1 an output differs; 2 bad input, or an output that cannot be written; 3 the model uses what Tenon cannot
run (the message names it); 4 the device is not there (the message says what is missing).
)",
      tools::HelpOf(kOptions));
}

}  // namespace tenon::ir_run
