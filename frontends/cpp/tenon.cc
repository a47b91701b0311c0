#include "frontends/cpp/tenon.h"

#include <cstdlib>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "executor/evaluator.h"
#include "executor/lowering/fallbacks.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/loading.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/rules/explain.h"
#include "frontends/cpp/rules/given_rules.h"
#include "frontends/cpp/rules/rule_names.h"
#include "frontends/debug/main_function.h"
#include "ir/base/check.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/builder.h"
#include "ir/dialect/fused_ops.h"
#include "kernels/cpu/gemm/bf16.h"
#include "pass/pass_manager.h"
#include "transforms/rules/rule_cache.h"

namespace tenon {

std::shared_ptr<const kernels::KernelRegistry> KernelsOf(const Extension* extension) {
  if (extension == nullptr) return MakeKernelRegistry();
  return MakeKernelRegistry(extension->kernels);
}

namespace {

// The passes that apply rules.
constexpr std::string_view kRulePasses[] = {"canonicalize", "fuse", "final-rules", "apply-rules"};

const std::vector<drr::Rule>& HostRulesOf(const Model& model) {
  static const auto* const none = new std::vector<drr::Rule>();
  return model.extension() == nullptr ? *none : model.extension()->rules;
}

// Reads the rules that the pipeline is given, and returns their names.
absl::Status CheckRules(const Model& model, std::string_view text,
                        const std::vector<std::string>& rule_files, RuleCache& cache,
                        std::vector<std::string>& names) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry, model.extension().get()));
  PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline(text));
  TENON_ASSIGN_OR_RETURN(GivenRuleReport report, CheckGivenRules(HostRulesOf(model), rule_files,
                                                                 manager, model.context(), &cache));
  names = std::move(report.names);
  if (!rule_files.empty()) {
    for (const std::string& warning : report.warnings)
      EmitWarning(model.context(), model.module()->location(), warning);
  }
  return absl::OkStatus();
}

// InvalidArgument if `option` is about rules and no pass of the pipeline can apply any. Passes of
// the host may.
absl::Status CheckAppliesRules(const Model& model, std::string_view text, std::string_view option) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry, model.extension().get()));
  PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline(text));
  const auto has = [&](std::string_view pass) { return !manager.OptionsOf(pass).empty(); };
  if (std::ranges::any_of(kRulePasses, has)) return absl::OkStatus();
  if (model.extension() != nullptr) {
    for (const PassInfo& pass : model.extension()->passes) {
      if (has(pass.name)) return absl::OkStatus();
    }
  }
  return absl::InvalidArgumentError(
      fmt::format("{} has no effect: no pass of '{}' applies rules (expected one of {})", option,
                  text, fmt::join(kRulePasses, ", ")));
}

// Adds the passes of the host that --explain may ask for.
void AddExplainedPasses(const Model& model, std::vector<std::string>& names) {
  if (model.extension() == nullptr) return;
  for (const PassInfo& pass : model.extension()->passes) {
    if (pass.explains) names.push_back(pass.name);
  }
}

absl::Status RunPipeline(const Model& model, std::string_view text, PassContext& context,
                         bool verify_each, int threads = 1) {
  PassRegistry registry;
  TENON_RETURN_IF_ERROR(RegisterAllPasses(registry, model.extension().get()));
  PassManager manager(registry);
  TENON_RETURN_IF_ERROR(manager.AddPipeline(text));
  PassManagerOptions options;
  options.verify_each = verify_each;
  options.threads = threads;
  return manager.Run(model.module(), context, options).status();
}

std::shared_ptr<const kernels::KernelRegistry> KernelsOf(const Model& model) {
  return KernelsOf(model.extension().get());
}

bool HasCompressedLinear(const Model& model) {
  bool found = false;
  model.module()->Walk([&](Operation* op) { found |= Isa<fused::CompressedLinearOp>(op); });
  return found;
}

// What the CPU has of what is wished for; says so where that is less.
Precision AvailablePrecision(const Model& model, Precision wished) {
  if (wished != Precision::kBf16 || kernels::cpu::HasBf16()) return wished;
  EmitWarning(model.context(), model.module()->location(),
              "this CPU has no bf16 products: the program stays in fp32");
  return Precision::kFp32;
}

// Inputs that no program can be given. Of those whose type is not known, lowering names the
// operation that reads them.
absl::Status CheckInputs(const Operation& main) {
  const Block& entry = main.region().front();
  for (unsigned i = 0; i < entry.num_arguments(); ++i) {
    const Value input = entry.argument(i);
    const Type type = input.type();
    if (type.is_tensor()) continue;
    bool is_read = false;
    for (const OpOperand& use : input.uses()) is_read |= !use.owner()->Has(Trait::kTerminator);
    const bool unknown = type.is_any_tensor() || type.kind() == Type::Kind::kOpaque;
    if (unknown && is_read) continue;
    const absl::Status error =
        EmitError(main.context(), input.location(),
                  fmt::format("input {} is of type {} (expected a ranked tensor)", i, type.text()));
    return absl::UnimplementedError(error.message());
  }
  return absl::OkStatus();
}

}  // namespace

Operation* Model::main() const { return module_ == nullptr ? nullptr : MainFunction(*module_); }

Model Model::Clone() const {
  return {context_, OwnedOp(tenon::Clone(*module_)), files_, extension_, info_};
}

std::string_view Name(Precision precision) {
  switch (precision) {
    case Precision::kFp32:
      return "fp32";
    case Precision::kBf16:
      return "bf16";
    case Precision::kInt8:
      return "int8";
  }
  return "fp32";
}

namespace {

absl::Status OptimizeModel(Model& model, const OptimizeOptions& options, OptimizeReport* report) {
  if (options.level < 0 || options.level > kMaxOptLevel) {
    return absl::InvalidArgumentError(
        fmt::format("there is no level {} (expected 0 to {})", options.level, kMaxOptLevel));
  }
  const std::shared_ptr<const kernels::KernelRegistry> kernels = KernelsOf(model);
  ReferenceEvaluator evaluator(kernels, {.all = ReferenceEvaluator::kCompilingSteps});
  KernelTarget target(kernels);
  OptimizeReport unused;
  PassContext context;
  context.evaluator = &evaluator;
  context.target = &target;
  context.rule_counts = report != nullptr ? &report->rules : &unused.rules;
  context.explain_rule = options.explain_rule;
  context.report = options.report;
  context.rule_files = options.rule_files;
  context.fast_math = options.fast_math;
  context.allow_rewrite = options.allow_rewrite;
  context.observer = options.observer;
  context.rule_cache = std::make_shared<RuleCache>();
  const std::string_view text =
      options.pipeline.empty() ? OptPipeline(options.level) : options.pipeline;
  std::vector<std::string> names;
  if (!options.rule_files.empty() || !options.explain_rule.empty() ||
      !options.disabled_rules.empty()) {
    TENON_RETURN_IF_ERROR(CheckRules(model, text, options.rule_files, *context.rule_cache, names));
  }
  TENON_ASSIGN_OR_RETURN(context.disabled_rules, ReadDisabledRules(options.disabled_rules, names));
  if (options.threads < 0 || options.threads > kMaxThreads) {
    return absl::InvalidArgumentError(
        fmt::format("there are no {} threads (expected 0 to {})", options.threads, kMaxThreads));
  }
  // Level 0 is a choice among levels, and not a slip.
  if (!options.pipeline.empty() && options.fast_math)
    TENON_RETURN_IF_ERROR(CheckAppliesRules(model, text, "fast_math"));
  if (!options.pipeline.empty() && !options.disabled_rules.empty())
    TENON_RETURN_IF_ERROR(CheckAppliesRules(model, text, "disabled_rules"));
  RuleLog log;
  const auto host = std::make_shared<const std::vector<drr::Rule>>(HostRulesOf(model));
  std::optional<ChangeRecorder> changes;
  RewriteObservers observers;
  std::function<bool(std::string_view)> explained;
  if (!options.explain_rule.empty()) {
    AddExplainedPasses(model, names);
    TENON_ASSIGN_OR_RETURN(const ExplainQuery query,
                           ParseExplainQuery(options.explain_rule, names));
    TENON_ASSIGN_OR_RETURN(log, LogFor(query, model.module()));
    log.disabled = context.disabled_rules;
    context.rule_log = &log;
    TENON_RETURN_IF_ERROR(ExplainWritten(model.module(), context, host));
    changes.emplace(log);
    observers.Add(&*changes);
    observers.Add(options.observer);
    context.observer = &observers;
    explained = log.wanted;
  }
  if (options.rule_log != nullptr) {
    log.disabled = context.disabled_rules;
    log.wanted = [&explained, asked = options.rule_log->wanted](std::string_view rule) {
      return (explained && explained(rule)) || (asked && asked(rule));
    };
    log.only_near = options.explain_rule.empty() && options.rule_log->only_near;
    context.rule_log = &log;
  }
  TENON_RETURN_IF_ERROR(RunPipeline(model, text, context, options.verify_each, options.threads));
  Precision precision = AvailablePrecision(model, options.precision);
  if (precision != Precision::kFp32) {
    TENON_RETURN_IF_ERROR(RunPipeline(model, PrecisionPipeline(precision), context,
                                      options.verify_each, options.threads));
    if (!HasCompressedLinear(model)) {
      EmitWarning(
          model.context(), model.module()->location(),
          fmt::format("{} changes nothing: no linear layer of f32 has constant weights that "
                      "are finite and large enough",
                      Name(precision)));
      precision = Precision::kFp32;
    }
  }
  if (report != nullptr) report->precision = precision;
  if (options.rule_log != nullptr) {
    const auto asked = std::move(options.rule_log->wanted);
    log.only_near = options.rule_log->only_near;
    *options.rule_log = log;
    options.rule_log->wanted = asked;
    log.wanted = explained;
  }
  if (options.explain_rule.empty()) return absl::OkStatus();
  TENON_RETURN_IF_ERROR(ExplainUntried(model.module(), context, host));
  const std::string told =
      ExplainText(log, options.explain_rule.substr(0, options.explain_rule.find('@')));
  if (options.report && !told.empty()) options.report(told);
  return absl::OkStatus();
}

}  // namespace

absl::Status Optimize(Model& model, const OptimizeOptions& options, OptimizeReport* report) {
  return WithoutBadAlloc("optimizing", [&] { return OptimizeModel(model, options, report); });
}

std::shared_ptr<PackedWeights> MakePackedWeights(const Model& model,
                                                 const std::string& weight_cache,
                                                 bool verify_weights) {
  PackedWeights::Options options;
  options.verify_weights = verify_weights;
  options.files = model.files();
  options.cache_folder = weight_cache;
  const char* folder = std::getenv("TENON_WEIGHT_CACHE");
  if (weight_cache.empty() && folder != nullptr) options.cache_folder = folder;
  options.warn = [context = model.shared_context()](const std::string& message) {
    EmitWarning(*context, Location::Unknown(), message);
  };
  return std::make_shared<PackedWeights>(std::move(options));
}

namespace {

absl::StatusOr<Program> CompileModel(Model&& model, const CompileOptions& options) {
  const std::shared_ptr<Context> shared_context = model.shared_context();
  // Behind the module: what only its constants hold goes.
  const absl::Cleanup release = [&] { shared_context->ReleaseUnusedBlobs(); };
  const Model lowered = std::move(model);
  const std::shared_ptr<const kernels::KernelRegistry> kernels = KernelsOf(lowered);
  TENON_RETURN_IF_ERROR(LowerModel(lowered, options.reference, options.gpu != nullptr));
  // Speed is no concern of reference kernels.
  if (options.on_fallback && (!options.reference || options.gpu != nullptr)) {
    for (const std::string& note : FallbackNotes(lowered.module(), options.gpu != nullptr))
      options.on_fallback(note);
  }
  ProgramOptions program;
  program.threads = options.threads;
  program.kernels = kernels;
  program.weights = options.weights != nullptr
                        ? options.weights
                        : MakePackedWeights(lowered, options.weight_cache, options.verify_weights);
  program.gpu = options.gpu;
  program.check_memory = options.check_memory;
  program.limits = options.limits;
  program.context = shared_context;
  return Program::Compile(lowered.main(), program);
}

}  // namespace

absl::Status LowerModel(const Model& model, bool reference, bool gpu) {
  const Operation* const main = model.main();
  if (main == nullptr) {
    return absl::InvalidArgumentError(
        "there is nothing to run (expected a function @main, or one function with a body)");
  }
  TENON_RETURN_IF_ERROR(CheckInputs(*main));
  ReferenceEvaluator evaluator(KernelsOf(model), {.all = ReferenceEvaluator::kCompilingSteps});
  PassContext context;
  context.evaluator = &evaluator;
  return RunPipeline(model, LowerPipeline(reference, gpu), context, false);
}

absl::StatusOr<Program> Compile(const Model& model, const CompileOptions& options) {
  return WithoutBadAlloc("compiling", [&] { return CompileModel(model.Clone(), options); });
}

absl::StatusOr<Program> Compile(Model&& model, const CompileOptions& options) {
  return WithoutBadAlloc("compiling", [&] { return CompileModel(std::move(model), options); });
}

}  // namespace tenon
