#include "tools/ir-run/options.h"

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "fmt/format.h"
#include "frontends/cpp/files/saved_program.h"
#include "ir/base/check.h"
#include "tools/command_line/help.h"
#include "tools/command_line/option_table.h"
#include "tools/command_line/progress.h"

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

// MODULE=NAME, where "^T" behind the name says that the weight is [inputs, outputs], and "^N" that
// it is not.
absl::Status ReadAdapterWeight(const Given& given, Options& options) {
  const size_t equals = given.value.find('=');
  if (equals == std::string_view::npos || equals == 0 || equals + 1 == given.value.size())
    return Wrong(fmt::format("--adapter-weight is '{}' (expected MODULE=NAME)", given.value));
  const std::string module(given.value.substr(0, equals));
  AdapterWeight weight;
  std::string_view name = given.value.substr(equals + 1);
  if (name.ends_with("^T") || name.ends_with("^N")) {
    weight.transposed = name.back() == 'T';
    name.remove_suffix(2);
  }
  weight.parameter = std::string(name);
  if (!options.adapter_weights.emplace(module, std::move(weight)).second)
    return Wrong(fmt::format("--adapter-weight names {} twice (expected once)", module));
  return absl::OkStatus();
}

absl::Status ReadEngine(const Given& given, std::string& engine) {
  if (given.value != "onnxruntime")
    return Wrong(fmt::format("--compare is '{}' (expected onnxruntime)", given.value));
  return Set(engine, given.value);
}

absl::Status ReadOnnxTest(const Given& given, Options& options) {
  options.action = Options::Action::kOnnxTest;
  if (given.has_value) options.onnx_tests.emplace_back(given.value);
  if (!options.model.empty()) options.onnx_tests.push_back(std::move(options.model));
  options.model.clear();
  return absl::OkStatus();
}

constexpr tools::Option<Options> kTable[] = {
    tools::Heading<Options>("Input and output", "files"),
    {{"input", "", Takes::kInput, "NAME=FILE",
      "read input NAME from a .npy or TensorProto file; repeatable", tools::Times::kAny},
     [](Options& o, const Given& g) { return ReadInput(g, o.inputs); }},
    {{"shape", "dim", Takes::kValue, "a=1,b=128",
      "set named dimensions (default: 1 for \"batch\", else 8)", tools::Times::kAny},
     [](Options& o, const Given& g) { return tools::ReadSizes(g, o.shape); }},
    {{"seed", "", Takes::kValue, "N",
      "seed the values of other inputs, and random operations (default: 0)"},
     [](Options& o, const Given& g) {
       return tools::ReadInteger(g, 0, std::numeric_limits<int64_t>::max(), o.seed);
     }},
    {{"save-outputs", "", Takes::kOutput, "DIR",
      "write input_N.pb and the optimized output_N.pb to DIR"},
     [](Options& o, const Given& g) { return Set(o.save_outputs, g.value); }},
    {{"save-program", "", Takes::kOutput, "FILE",
      "write the optimized program to FILE, with its packed weights"},
     [](Options& o, const Given& g) { return Set(o.save_program, g.value); }},
    tools::ExternalDataRow<Options>(),
    tools::ExternalDataLinksRow<Options>(),
    tools::ParamsRow<Options>(),
    {{"replace-params", "", Takes::kInput, "FILE",
      "once compiled, replace weights by those of FILE, as safetensors; repeatable",
      tools::Times::kAny, true},
     [](Options& o, const Given& g) {
       o.replaced_params.emplace_back(g.value);
       return absl::OkStatus();
     }},
    {{"adapter", "", Takes::kInput, "FILE",
      "once compiled, add the low-rank adapter of FILE, as PEFT saves it; repeatable",
      tools::Times::kAny, true},
     [](Options& o, const Given& g) {
       o.adapters.emplace_back(g.value);
       return absl::OkStatus();
     }},
    {{"adapter-weight", "", Takes::kValue, "MODULE=NAME",
      "the weight of a module of the adapter, if it is not MODULE.weight; NAME^T or NAME^N: "
      "with inputs or outputs first; repeatable",
      tools::Times::kAny, true},
     [](Options& o, const Given& g) { return ReadAdapterWeight(g, o); }},
    tools::JsonRow<Options>(),

    tools::Heading<Options>("Optimization", "passes"),
    tools::LevelsRow<Options>("optimization level (default: 2)"),
    tools::PrecisionRow<Options>("weights of linear layers: fp32, bf16 or int8 (default: fp32)"),
    tools::LoadOpsRow<Options>(),
    tools::LoadPluginRow<Options>(),
    tools::RulesRow<Options>(),
    tools::DisableRulesRow<Options>(),
    tools::FastMathRow<Options>(),

    tools::Heading<Options>("Checking results", "checks"),
    {{"check", "", Takes::kInput, "DIR",
      "read input_N.pb of DIR, and compare the results with output_N.pb"},
     [](Options& o, const Given& g) { return Set(o.check, g.value); }},
    tools::AtolRow<Options>("absolute tolerance (default: 5e-5, f16 2e-3, bf16 1.6e-2)"),
    tools::RtolRow<Options>("relative tolerance (default: 1e-4, f16 2e-3, bf16 1.6e-2)"),
    {{"compare", "", Takes::kValue, "onnxruntime",
      "compare nodes with ONNX Runtime, and name the first that differs"},
     [](Options& o, const Given& g) { return ReadEngine(g, o.compare); }},
    {{"python", "", Takes::kValue, "PATH",
      "run the other engine with this Python (default: python3)", tools::Times::kOnce, true},
     [](Options& o, const Given& g) { return Set(o.python, g.value); }},
    {{"onnx-test", "", Takes::kOptional, "DIR",
      "run ONNX's backend tests in DIR, with --atol=1e-7 --rtol=1e-3", tools::Times::kAny},
     [](Options& o, const Given& g) { return ReadOnnxTest(g, o); }},
    {{"reference", "", Takes::kNothing, "", "run the slow reference kernels alone"},
     [](Options& o, const Given&) { return Set(o.reference, true); }},
    {{"check-memory", "", Takes::kNothing, "",
      "fill unused memory with NaNs to expose a wrong memory plan"},
     [](Options& o, const Given&) { return Set(o.check_memory, true); }},

    tools::Heading<Options>("Performance", "performance"),
    tools::DeviceRow<Options>("run the optimized program on the first GPU (default: cpu)"),
    tools::ThreadsRow<Options>("number of threads, 1 to 1024 (default: one per core)"),
    {{"runs", "", Takes::kValue, "N",
      "timed runs of each program (default: 1 second, at least 3 runs)"},
     [](Options& o, const Given& g) { return tools::ReadCount(g, 1, 1000000, o.runs); }},
    {{"profile", "", Takes::kOptionalOutput, "FILE",
      "report the time of each node; also write FILE.json or .trace.json"},
     [](Options& o, const Given& g) { return ReadProfile(g, o); }},
    {{"weight-cache", "", Takes::kValue, "DIR",
      "keep packed weights for later starts (default: TENON_WEIGHT_CACHE)"},
     [](Options& o, const Given& g) { return Set(o.weight_cache, g.value); }},
    {{"verify-weights", "", Takes::kFlag, "",
      "hash the model and the weight cache at every start (default: off)"},
     [](Options& o, const Given& g) { return Set(o.verify_weights, g.on); }},

    tools::Heading<Options>("Limits", "limits"),
    tools::MaxMemoryRow<Options>(),
    tools::MaxInputRow<Options>(),
    tools::MaxTripsRow<Options>(),
    tools::MaxNestingRow<Options>(),
    tools::MaxMessageRow<Options>(),

    tools::Heading<Options>("General", "general"),
    tools::QuietRow<Options>(),
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
        {"adapter", "check", "compare", "input", "json", "profile", "replace-params", "runs",
         "save-outputs", "save-program", "seed", "shape"}));
  }
  if (!options.compare.empty()) {
    TENON_RETURN_IF_ERROR(
        tools::RefuseBeside(given, "compare",
                            {"adapter", "check", "check-memory", "external-data", "profile",
                             "replace-params", "runs", "save-outputs", "save-program"}));
    if (options.model == "-") return Wrong("--compare needs a model in a file, not '-'");
  }
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(given, !options.compare.empty(), "python", "without --compare"));
  TENON_RETURN_IF_ERROR(
      tools::RefuseUnless(given, !options.adapters.empty(), "adapter-weight", "without --adapter"));
  if (!options.save_program.empty()) {
    // The file has the program that Compile makes, and the weights of the model.
    TENON_RETURN_IF_ERROR(
        tools::RefuseBeside(given, "save-program", {"adapter", "reference", "replace-params"}));
    if (options.save_program == "-") return Wrong("--save-program needs a file, not '-'");
  }
  TENON_RETURN_IF_ERROR(tools::RefuseFastMath(given, options.level));
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
  const bool has_packed = has_cache || IsSavedProgram(options.model);
  return tools::RefuseUnless(given, has_packed && !options.reference, "verify-weights",
                             "without --weight-cache, TENON_WEIGHT_CACHE or a saved program");
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

absl::StatusOr<std::string> HelpText(std::string_view form) {
  const tools::HelpParts parts = {
      .program = "ir-run",
      .usage = "ir-run MODEL [options]",
      .intro = R"(Runs a model twice, as it is and optimized, and compares results and times.
MODEL is an ONNX file, IR text, a binary module or a saved program. "-" is standard input.
)",
      .statuses = R"(  0  every check passed
  1  an output differs
  2  the command line or a file is wrong, a limit is exceeded, or an output cannot be written
  3  the model uses an operation that Tenon cannot run
  4  the device or the other engine is missing
)",
      .examples = R"(  ir-run model.onnx                         # random inputs
  ir-run model.onnx --shape=batch=2,seq=32  # the same with other sizes
  ir-run model.onnx --check=data            # data holds input_N.pb and output_N.pb
  ir-run model.onnx --runs=1 --profile      # where the time goes
  ir-run model.onnx --compare=onnxruntime   # the first node that differs
)",
      .guides = R"(  docs/guide/run-a-model.md, docs/guide/profile.md, docs/guide/save-a-program.md
)",
  };
  return tools::HelpIn(form, parts, tools::FormsOf(kOptions));
}

}  // namespace tenon::ir_run
