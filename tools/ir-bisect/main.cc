// ir-bisect: finds the step of optimization that changes the results of a model. See --help.
#include <filesystem>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/files/test_cases.h"
#include "frontends/cpp/rules/explain.h"
#include "frontends/cpp/samples/sample_inputs.h"
#include "frontends/debug/bisect.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"
#include "tools/command_line/help.h"
#include "tools/command_line/program.h"
#include "tools/ir-bisect/options.h"

namespace tenon::ir_bisect {
namespace {

constexpr int kWrongBefore = 5;  // the results are wrong without any step

absl::StatusOr<Model> LoadModel(const Options& options, std::vector<std::string>& errors) {
  LoadOptions load;
  load.extension = options.added.extension;
  load.limits = options.limits.library;
  tools::SetExternalData(options.external_data, load);
  load.on_diagnostic = [&errors](const Context& context, const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kError)
      errors.push_back(FormatDiagnostic(context, diagnostic));
  };
  TENON_ASSIGN_OR_RETURN(Model model, Load(options.model, load));
  TENON_RETURN_IF_ERROR(options.outputs.CheckFiles(model.files()));
  return model;
}

// Of files, or samples of all kinds that suit the model.
absl::StatusOr<std::vector<BisectCase>> MakeCases(const Options& options, const Model& model,
                                                  const CompileOptions& compile) {
  std::vector<BisectCase> cases;
  if (!options.check.empty()) {
    Model plain = model.Clone();
    OptimizeOptions none;
    none.level = 0;
    TENON_RETURN_IF_ERROR(Optimize(plain, none));
    TENON_ASSIGN_OR_RETURN(const Program program, Compile(std::move(plain), compile));
    TENON_ASSIGN_OR_RETURN(std::vector<TestCase> read,
                           ReadTestCases(options.check, program, options.limits.library));
    for (TestCase& one : read) cases.push_back({std::move(one.inputs), std::move(one.expected)});
    return cases;
  }
  if (model.main() == nullptr) {
    return absl::InvalidArgumentError(
        "there is nothing to run (expected a function @main, or one function with a body)");
  }
  if (!options.inputs.empty()) {
    TENON_ASSIGN_OR_RETURN(Sample sample,
                           ReadInputs(model.main(), options.inputs, options.limits.library));
    cases.push_back({std::move(sample.inputs), {}});
    return cases;
  }
  absl::Status why;
  for (int kind = 0; kind <= kLongSample; ++kind) {
    absl::StatusOr<Sample> sample = SampleInputs(model.main(), kind, options.shape);
    if (sample.ok()) {
      cases.push_back({std::move(sample->inputs), {}});
    } else if (why.ok()) {
      why = sample.status();
    }
  }
  if (!cases.empty()) return cases;
  return absl::InvalidArgumentError(
      fmt::format("no sample inputs suit the model: {} (expected --inputs=DIR or --check=DIR)",
                  std::string(why.message())));
}

std::string TextReport(const BisectResult& result, bool with_programs) {
  std::string text = fmt::format("step {} of {} changes the results: {}\n", result.step,
                                 result.steps, ShownMessage(result.difference));
  const std::string what = result.kind == "fold" ? "a fold" : result.kind + " " + result.name;
  text +=
      fmt::format("  {}{}\n", what, result.place.empty() ? "" : fmt::format(" ({})", result.place));
  text += fmt::format("  in pass {} on @{}\n", result.pass, ShownName(result.function));
  if (!result.op.empty()) text += fmt::format("  applied to {}\n", ShownMessage(result.op));
  text += fmt::format("found in {} runs\n", result.runs);
  if (result.reduced) {
    text += fmt::format("smallest program: {} operation{}; {}\n", result.ops,
                        result.ops == 1 ? "" : "s", ShownMessage(result.example));
  }
  if (with_programs && result.reduced)
    text += fmt::format("before:\n{}\nafter:\n{}", result.before, result.after);
  return text;
}

std::string JsonReport(const BisectResult& result) {
  std::string nodes;
  for (const std::string& node : result.nodes)
    nodes += fmt::format("{}{}", nodes.empty() ? "" : ", ", JsonQuoted(node));
  return fmt::format(
      "{{\"step\": {}, \"steps\": {}, \"runs\": {}, \"kind\": {}, \"name\": {}, \"place\": {}, "
      "\"pass\": {}, \"function\": {}, \"op\": {}, \"nodes\": [{}], \"difference\": {}, "
      "\"reduced\": {}, \"ops\": {}, \"example\": {}, \"before\": {}, \"after\": {}}}\n",
      result.step, result.steps, result.runs, JsonQuoted(result.kind), JsonQuoted(result.name),
      JsonQuoted(result.place), JsonQuoted(result.pass), JsonQuoted(result.function),
      JsonQuoted(result.op), nodes, JsonQuoted(result.difference),
      result.reduced ? "true" : "false", result.ops, JsonQuoted(result.example),
      JsonQuoted(result.before), JsonQuoted(result.after));
}

// The two programs; if they are reduced, also inputs that show the difference, and right outputs.
absl::Status WritePrograms(const BisectResult& result, const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return absl::InvalidArgumentError(fmt::format("{}: {}", folder, error.message()));
  for (const auto& [name, text] :
       {std::pair("before.mlir", &result.before), std::pair("after.mlir", &result.after)}) {
    TENON_RETURN_IF_ERROR(WriteFile((std::filesystem::path(folder) / name).string(),
                                    [&](TextSink sink) { return sink(*text); }));
  }
  if (!result.reduced) return absl::OkStatus();
  TENON_ASSIGN_OR_RETURN(Model before, LoadFromBytes(result.before, "before.mlir"));
  OptimizeOptions plain;
  plain.level = 0;
  TENON_RETURN_IF_ERROR(Optimize(before, plain));
  TENON_ASSIGN_OR_RETURN(const Program program, Compile(std::move(before)));
  return SaveTestCase(folder, program, result.inputs, result.outputs);
}

int RunOn(const Options& options) {
  std::vector<std::string> errors;
  const auto fail = [&](const absl::Status& status) {
    return tools::Fail("ir-bisect", status, errors);
  };
  if (const absl::Status status = tools::CheckReportFile(options.json, tools::OutputFormat::kJson);
      !status.ok()) {
    return fail(status);
  }
  const absl::StatusOr<Model> model = LoadModel(options, errors);
  if (!model.ok()) return fail(model.status());
  BisectOptions bisect;
  bisect.optimize.level = options.level;
  bisect.optimize.pipeline = options.pipeline;
  bisect.optimize.rule_files = options.rule_files;
  bisect.optimize.disabled_rules = options.disabled_rules;
  bisect.optimize.fast_math = options.fast_math;
  bisect.compile.reference = options.reference;
  bisect.compile.threads = options.threads;
  bisect.compile.limits = options.limits.library;
  bisect.compare = [&options](const Tensor& actual, const Tensor& expected) {
    return tools::CompareOutput(options, actual, expected);
  };
  bisect.reduce = options.reduce;
  bisect.progress = [](std::string_view line) { tools::PrintError(line); };
  absl::StatusOr<std::vector<BisectCase>> cases = MakeCases(options, *model, bisect.compile);
  if (!cases.ok()) return fail(cases.status());
  bisect.cases = *std::move(cases);
  const absl::StatusOr<BisectResult> result = Bisect(*model, bisect);
  if (!result.ok()) return fail(result.status());
  switch (result->outcome) {
    case BisectResult::Outcome::kNoDifference:
      tools::PrintText(fmt::format("no output differs: the results are right after all {} steps\n",
                                   result->steps));
      return tools::kDone;
    case BisectResult::Outcome::kWrongBefore:
      tools::PrintError(
          fmt::format("ir-bisect: the results are wrong without any step: {} (a kernel, the import "
                      "or the expected results are wrong)",
                      result->difference));
      return kWrongBefore;
    case BisectResult::Outcome::kStep:
      break;
  }
  if (!options.output.empty()) {
    if (const absl::Status status = WritePrograms(*result, options.output); !status.ok())
      return fail(status);
  }
  const absl::Status printed = tools::PrintReport(TextReport(*result, options.output.empty()),
                                                  JsonReport(*result), options.json);
  return printed.ok() ? tools::kFailed : fail(printed);
}

int Main(const std::vector<std::string>& arguments) {
  const absl::StatusOr<Options> options = ParseCommandLine(arguments);
  if (!options.ok()) return tools::Fail("ir-bisect", options.status());
  tools::ApplyLimits(options->limits);
  switch (options->action) {
    case Options::Action::kHelp:
      return tools::PrintHelp("ir-bisect", options->help, HelpText(options->help),
                              options->added.extension.get());
    case Options::Action::kVersion:
      tools::PrintText("ir-bisect (Tenon) " TENON_VERSION "\n");
      return tools::kDone;
    case Options::Action::kRun:
      break;
  }
  return RunOn(*options);
}

}  // namespace
}  // namespace tenon::ir_bisect

int main(int argc, char** argv) {
  return tenon::tools::RunMain("ir-bisect", argc, argv, tenon::ir_bisect::Main);
}
