#include "tools/ir-run/runner.h"

#include <algorithm>
#include <chrono>

#include "executor/profile/profile_report.h"
#include "fmt/format.h"
#include "frontends/cpp/files/saved_program.h"
#include "frontends/debug/compare_outputs.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"
#include "tools/command_line/device.h"
#include "tools/command_line/program.h"
#include "tools/command_line/progress.h"
#include "tools/command_line/saved_program.h"
#include "tools/ir-run/attention_note.h"
#include "tools/ir-run/replacements.h"

namespace tenon::ir_run {
namespace {

OpCounts CountOps(Operation* module) {
  OpCounts counts;
  module->Walk([&](Operation* op) {
    const std::string_view dialect = op->info().dialect();
    if (dialect != "builtin" && dialect != "func") ++counts[std::string(op->name())];
  });
  return counts;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

// A program with inputs and memory for its results.
class Timed {
 public:
  static absl::StatusOr<Timed> Make(const Program& program, std::span<const Tensor> inputs) {
    Timed t(program.NewSession());
    for (const Tensor& input : inputs) t.inputs_.push_back(input.view());
    TENON_ASSIGN_OR_RETURN(const std::vector<ResultShape> shapes,
                           t.session_.OutputShapes(t.inputs_));
    for (const ResultShape& shape : shapes) {
      TENON_ASSIGN_OR_RETURN(t.outputs_.emplace_back(), Tensor::TryMake(shape.dtype, shape.shape));
    }
    for (const Tensor& output : t.outputs_) t.views_.push_back(output.view());
    return t;
  }
  absl::StatusOr<double> RunMs(Profiler* profiler = nullptr) {
    const auto start = std::chrono::steady_clock::now();
    TENON_RETURN_IF_ERROR(session_.Run(inputs_, views_, {.cancel = nullptr, .profiler = profiler}));
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  }
  const Session::Stats& stats() const { return session_.stats(); }

 private:
  explicit Timed(Session session) : session_(std::move(session)) {}
  Session session_;
  std::vector<kernels::TensorView> inputs_, views_;
  std::vector<Tensor> outputs_;
};

// Interleaved, so that both programs meet the same disturbances; one run of each is not counted.
absl::Status Time(const Options& options, const Programs& programs, const Case& c, Report& report) {
  constexpr double kEnoughMs = 1000;
  constexpr int kLeast = 3, kMost = 200, kProfiled = 20;
  TENON_ASSIGN_OR_RETURN(Timed original, Timed::Make(programs.original_program, c.inputs));
  TENON_ASSIGN_OR_RETURN(Timed optimized, Timed::Make(programs.optimized_program, c.inputs));
  std::vector<double> a, b;
  double total = 0;
  for (int run = -1;; ++run) {
    TENON_ASSIGN_OR_RETURN(const double original_ms, original.RunMs());
    TENON_ASSIGN_OR_RETURN(const double optimized_ms, optimized.RunMs());
    if (run < 0) continue;
    a.push_back(original_ms);
    b.push_back(optimized_ms);
    total += original_ms + optimized_ms;
    const int done = run + 1;
    if (options.runs > 0 ? done >= options.runs
                         : done >= kMost || (done >= kLeast && total >= kEnoughMs))
      break;
  }
  report.runs = static_cast<int>(a.size());
  report.original_ms = Median(std::move(a));
  report.optimized_ms = Median(std::move(b));
  report.memory = optimized.stats();
  if (!options.profile) return absl::OkStatus();
  Profiler profiler;
  for (int run = 0; run < std::min(report.runs, kProfiled); ++run) {
    TENON_RETURN_IF_ERROR(optimized.RunMs(&profiler).status());
  }
  report.profile = ProfileTable(profiler);
  if (options.profile_file.empty()) return absl::OkStatus();
  return WriteFile(options.profile_file, options.profile_file.ends_with(".trace.json")
                                             ? ProfileTrace(profiler)
                                             : ProfileJson(profiler));
}

}  // namespace

bool Report::pass() const {
  for (const CaseReport& c : cases) {
    for (const OutputReport& output : c.outputs) {
      if (!output.pass()) return false;
    }
  }
  return true;
}

namespace {

// Warnings of a model or program that is running, for people; errors come with a status.
void PrintWarnings(const Context& context, const Diagnostic& diagnostic) {
  if (diagnostic.severity == Severity::kWarning)
    tools::PrintError(FormatDiagnostic(context, diagnostic));
}

// The program of a file in place of an optimized one. `model` is what the file holds beside it.
absl::StatusOr<Programs> CompareWithSaved(const Options& options, const std::string& path,
                                          Model original, Model model, Report report,
                                          std::vector<std::string>& errors) {
  TENON_RETURN_IF_ERROR(tools::RefuseForSavedProgram(options));
  report.ops_after = CountOps(model.module());
  CompileOptions compile;
  compile.limits = options.limits.library;
  compile.threads = options.threads;
  compile.check_memory = options.check_memory;
  tools::Progress::Begin("compiling the program as it is");
  TENON_ASSIGN_OR_RETURN(Program original_program, Compile(original, compile));
  LoadProgramOptions load;
  if (options.cuda) {
    TENON_ASSIGN_OR_RETURN(load.gpu, tools::OpenDevice());
  }
  load.threads = options.threads;
  load.verify_weights = options.verify_weights;
  load.check_memory = options.check_memory;
  load.limits = options.limits.library;
  load.extension = options.added.extension;
  load.on_diagnostic = [&errors](const Context& context, const Diagnostic& diagnostic) {
    PrintWarnings(context, diagnostic);
    if (diagnostic.severity == Severity::kError)
      errors.push_back(FormatDiagnostic(context, diagnostic));
  };
  load.on_fallback = [&report](std::string_view op) { report.notes.emplace_back(op); };
  LoadProgramReport loaded;
  tools::Progress::Begin("loading the program");
  TENON_ASSIGN_OR_RETURN(Program program, LoadProgram(path, load, &loaded));
  report.notes.push_back(loaded.lowered_again.empty()
                             ? "the program runs as it was saved"
                             : "the saved program is lowered again: " + loaded.lowered_again);
  return Programs{std::move(original), std::move(model), std::move(original_program),
                  std::move(program), std::move(report)};
}

absl::StatusOr<Programs> LoadAndCompile(const Options& options, const std::string& path,
                                        std::vector<std::string>& errors,
                                        std::vector<std::string>& remarks) {
  LoadOptions load;
  load.extension = options.added.extension;
  load.on_diagnostic = [&](const Context& context, const Diagnostic& diagnostic) {
    if (diagnostic.severity == Severity::kRemark) {
      remarks.push_back(FormatDiagnostic(context, diagnostic));
      return;
    }
    std::string text = FormatDiagnostic(context, diagnostic);
    if (diagnostic.severity == Severity::kError) {
      errors.push_back(std::move(text));
    } else {
      tools::PrintError(text);
    }
  };
  std::shared_ptr<kernels::gpu::Device> gpu;
  if (options.cuda) {
    TENON_ASSIGN_OR_RETURN(gpu, tools::OpenDevice());
  }
  load.limits = options.limits.library;
  tools::SetExternalData(options.external_data, load);
  TENON_ASSIGN_OR_RETURN(const Replacements replacements, Replacements::Read(options));
  load.replaceable = replacements.Names();
  tools::Progress::Begin("reading " + path);
  TENON_ASSIGN_OR_RETURN(Model original, Load(path, load));
  TENON_RETURN_IF_ERROR(options.outputs.CheckFiles(original.files()));
  if (original.main() == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("{}: nothing to run (expected a function @main, or one with a body)", path));
  }
  Report report;
  report.ops_before = CountOps(original.module());
  Model optimized = original.Clone();
  OptimizeOptions optimize;
  optimize.level = 0;
  TENON_RETURN_IF_ERROR(Optimize(original, optimize));
  if (IsSavedProgram(path)) {
    return CompareWithSaved(options, path, std::move(original), std::move(optimized),
                            std::move(report), errors);
  }
  optimize.level = options.level;
  optimize.precision = options.precision;
  optimize.rule_files = options.rule_files;
  optimize.disabled_rules = options.disabled_rules;
  optimize.fast_math = options.fast_math;
  optimize.observer = tools::Progress::Observer();
  OptimizeReport rules;
  TENON_RETURN_IF_ERROR(Optimize(optimized, optimize, &rules));
  report.rules = std::move(rules.rules);
  report.precision = rules.precision;
  report.ops_after = CountOps(optimized.module());
  if (options.level >= 2) {
    for (std::string& line : AttentionNotes(optimized.module()))
      report.notes.push_back(std::move(line));
  }
  CompileOptions compile;
  compile.limits = options.limits.library;
  compile.threads = options.threads;
  compile.reference = options.reference;
  compile.weights = MakePackedWeights(original, options.weight_cache, options.verify_weights);
  compile.check_memory = options.check_memory;
  tools::Progress::Begin("compiling the program as it is");
  TENON_ASSIGN_OR_RETURN(Program original_program, Compile(original, compile));
  compile.gpu = std::move(gpu);
  compile.on_fallback = [&](std::string_view op) { report.notes.push_back(std::string(op)); };
  tools::Progress::Begin("compiling the optimized program");
  TENON_ASSIGN_OR_RETURN(Program optimized_program, Compile(optimized, compile));
  TENON_RETURN_IF_ERROR(replacements.Apply(original_program));
  TENON_RETURN_IF_ERROR(replacements.Apply(optimized_program));
  for (const std::string& note : replacements.notes()) report.notes.push_back(note);
  // What the first run packs and keeps may still be worth a warning; its errors come with a status.
  Context* context = &original.context();
  context->diagnostics().SetHandler(
      [context](const Diagnostic& diagnostic) { PrintWarnings(*context, diagnostic); });
  return Programs{std::move(original), std::move(optimized), std::move(original_program),
                  std::move(optimized_program), std::move(report)};
}

}  // namespace

absl::StatusOr<Programs> Prepare(const Options& options, const std::string& path,
                                 std::vector<std::string>& errors) {
  std::vector<std::string> remarks;
  absl::StatusOr<Programs> programs = LoadAndCompile(options, path, errors, remarks);
  // Why operations were not imported matters only when the model cannot be run.
  if (absl::IsUnimplemented(programs.status())) {
    errors.insert(errors.end(), remarks.begin(), remarks.end());
  }
  return programs;
}

absl::StatusOr<CaseReport> RunCase(const Options& options, const Programs& programs, const Case& c,
                                   std::vector<Tensor>* outputs) {
  tools::Progress::Begin("running");
  const RunOptions run{.seed = static_cast<uint64_t>(options.seed)};
  TENON_ASSIGN_OR_RETURN(const std::vector<Tensor> original,
                         programs.original_program.Run(c.inputs, run));
  TENON_ASSIGN_OR_RETURN(std::vector<Tensor> optimized,
                         programs.optimized_program.Run(c.inputs, run));
  CaseReport report;
  report.name = c.name;
  const OutputComparer comparer(programs.optimized_program.outputs(),
                                [&](const Tensor& actual, const Tensor& expected) {
                                  return tools::CompareOutput(options, actual, expected);
                                });
  for (size_t i = 0; i < optimized.size(); ++i) {
    OutputReport output;
    output.name = programs.optimized_program.outputs()[i].name;
    output.type = optimized[i].type_text();
    output.has_expected = i < c.expected.size() && static_cast<bool>(c.expected[i]);
    if (output.has_expected) {
      output.original = comparer.Compare(original, c.expected, i);
      output.optimized = comparer.Compare(optimized, c.expected, i);
    }
    output.between = comparer.Compare(optimized, original, i);
    report.outputs.push_back(std::move(output));
  }
  if (outputs != nullptr) *outputs = std::move(optimized);
  return report;
}

namespace {

// --save-program: the weights that the cases pack are in the file.
absl::Status SaveWithRuns(const Options& options, const Model& model, std::span<const Case> cases,
                          Report& report) {
  SaveProgramOptions save;
  save.threads = options.threads;
  save.limits = options.limits.library;
  if (options.cuda) {
    TENON_ASSIGN_OR_RETURN(save.gpu, tools::OpenDevice());
  }
  for (const Case& c : cases) save.runs.push_back(c.inputs);
  SaveProgramReport saved;
  tools::Progress::Begin("saving the program");
  TENON_RETURN_IF_ERROR(SaveProgram(model, options.save_program, save, &saved));
  report.notes.push_back(fmt::format("saved to {} with {} packed weights of {:.1f} KiB",
                                     options.save_program, saved.weights,
                                     static_cast<double>(saved.weight_bytes) / 1024));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Report> RunModel(const Options& options, std::vector<std::string>& errors) {
  TENON_ASSIGN_OR_RETURN(Programs programs, Prepare(options, options.model, errors));
  Report& report = programs.report;
  std::vector<Case> cases;
  if (!options.check.empty()) {
    TENON_ASSIGN_OR_RETURN(
        cases, ReadTestCases(options.check, programs.optimized_program, options.limits.library));
  } else {
    TENON_ASSIGN_OR_RETURN(
        Case c, MakeCase(options, programs.original, programs.optimized_program, report.notes));
    cases.push_back(std::move(c));
  }
  for (const Case& c : cases) {
    std::vector<Tensor> outputs;
    TENON_ASSIGN_OR_RETURN(CaseReport result, RunCase(options, programs, c, &outputs));
    report.cases.push_back(std::move(result));
    if (options.save_outputs.empty()) continue;
    const std::string folder =
        cases.size() == 1 ? options.save_outputs : options.save_outputs + "/" + c.name;
    TENON_RETURN_IF_ERROR(SaveTestCase(folder, programs.optimized_program, c.inputs, outputs));
  }
  if (!options.save_program.empty())
    TENON_RETURN_IF_ERROR(SaveWithRuns(options, programs.optimized, cases, report));
  if (!cases.empty()) TENON_RETURN_IF_ERROR(Time(options, programs, cases[0], report));
  return std::move(report);
}

}  // namespace tenon::ir_run
