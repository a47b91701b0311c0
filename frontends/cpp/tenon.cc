#include "frontends/cpp/tenon.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "absl/cleanup/cleanup.h"
#include "executor/evaluator.h"
#include "executor/lowering/fallbacks.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "frontends/cpp/extension.h"
#include "frontends/cpp/files/looks_like_text.h"
#include "frontends/cpp/loading.h"
#include "frontends/cpp/parameters/parameters.h"
#include "frontends/cpp/parameters/weight_axes.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/rules/explain.h"
#include "frontends/cpp/rules/given_rules.h"
#include "frontends/cpp/rules/rule_names.h"
#include "frontends/debug/main_function.h"
#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/importer.h"
#include "ir/base/check.h"
#include "ir/base/check_limits.h"
#include "ir/base/out_of_memory.h"
#include "ir/base/shown_text.h"
#include "ir/core/builder.h"
#include "ir/core/context/context_limits.h"
#include "ir/core/text/parse_mapped.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/fused_ops.h"
#include "ir/serialize/binary_module.h"
#include "kernels/cpu/gemm/bf16.h"
#include "pass/pass_manager.h"
#include "transforms/rules/rule_cache.h"

namespace tenon {

absl::StatusOr<std::shared_ptr<Context>> MakeContext(const LoadOptions& options) {
  TENON_RETURN_IF_ERROR(CheckLimits(options.limits));
  auto context = std::make_shared<Context>();
  RegisterAllDialects(*context);
  context->set_allow_unregistered_dialects(options.allow_unregistered_dialects);
  // What the importer made of a model reads back as text.
  context->AllowUnregisteredDialect(onnx::kOpaqueDialect);
  SetLimits(*context, options.limits);
  if (options.on_diagnostic) {
    Context* raw = context.get();
    context->diagnostics().SetHandler(
        [raw, f = options.on_diagnostic](const Diagnostic& d) { f(*raw, d); });
  }
  if (options.extension != nullptr) {
    TENON_RETURN_IF_ERROR(RegisterExtension(*options.extension, *context));
  }
  return context;
}

std::shared_ptr<const kernels::KernelRegistry> KernelsOf(const Extension* extension) {
  if (extension == nullptr) return MakeKernelRegistry();
  return MakeKernelRegistry(extension->kernels);
}

namespace {

absl::StatusOr<std::shared_ptr<Context>> ContextFor(const LoadOptions& options) {
  return options.context != nullptr ? options.context : MakeContext(options);
}

absl::Status CheckNoEdit(const LoadOptions& options, const std::string& name,
                         std::string_view format) {
  if (options.edit.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format(
      "{}: only an ONNX model has parts and sizes to choose, and this is {}", name, format));
}

// `mapped`: the text is a read-only mapping of a file.
absl::StatusOr<Model> LoadText(std::string_view text, const std::string& name,
                               const LoadOptions& options, bool mapped) {
  TENON_RETURN_IF_ERROR(CheckNoEdit(options, name, "IR text"));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  ParseOptions parse;
  parse.file_name = name;
  parse.keep_names = options.keep_names;
  TENON_ASSIGN_OR_RETURN(OwnedOp module, mapped ? ParseMappedModule(*context, text, parse)
                                                : ParseModule(*context, text, parse));
  return Model(std::move(context), std::move(module), {}, options.extension);
}

// `file` keeps the bytes; null: large constants are copied.
absl::StatusOr<Model> LoadBinary(std::string_view bytes, const std::string& name,
                                 const LoadOptions& options, const onnx::FileBytes* file) {
  TENON_RETURN_IF_ERROR(CheckNoEdit(options, name, "a binary module"));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  ReadBinaryOptions read;
  read.file_name = name;
  std::vector<SourceFile> files;
  if (file != nullptr) {
    read.owner = file->owner;
    read.mapped = !file->source.bytes.empty();
    if (!file->source.path.empty()) files.push_back(file->source);
  }
  TENON_ASSIGN_OR_RETURN(OwnedOp module, ReadBinaryModule(*context, bytes, read));
  return Model(std::move(context), std::move(module), std::move(files), options.extension);
}

onnx::ImportOptions ImportOptionsOf(const LoadOptions& options) {
  onnx::ImportOptions import;
  import.external_data_root = options.external_data_root;
  import.allow_external_data_links = options.allow_external_data_links;
  import.edit = options.edit;
  return import;
}

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

bool HasModelExtension(std::string_view name) {
  return name.ends_with(".onnx") || name.ends_with(".pb");
}

// White space aside, what text does not have: control characters, bytes that are never UTF-8.
bool IsBinary(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte < 0x20) return c != '\n' && c != '\r' && c != '\t' && c != '\f';
  return byte == 0x7f || byte == 0xc0 || byte == 0xc1 || byte > 0xf4;
}

// A file that is named as a model and is not one, such as a page that a server sent in its place.
absl::Status CheckIsModel(std::string_view bytes, const std::string& name) {
  constexpr size_t kProbe = 512, kShown = 60;
  const std::string_view probe = bytes.substr(0, kProbe);
  if (!HasModelExtension(name) || std::any_of(probe.begin(), probe.end(), IsBinary))
    return absl::OkStatus();
  if (bytes.starts_with("version https://git-lfs")) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: a pointer of Git LFS, not an ONNX model ('git lfs pull' fetches the model)", name));
  }
  return absl::InvalidArgumentError(fmt::format(
      "{}: text, not an ONNX model; it begins with '{}' (IR text has names like m.mlir)", name,
      ShownName(bytes.substr(0, std::min(bytes.find('\n'), kShown)))));
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

bool LooksLikeText(std::string_view bytes, std::string_view name) {
  if (HasModelExtension(name) || LooksLikeBinaryModule(bytes)) return false;
  constexpr size_t kProbe = size_t{1} << 16;
  const size_t probe = name.ends_with(".mlir") ? 1 : kProbe;
  return std::none_of(bytes.begin(), bytes.begin() + std::min(probe, bytes.size()), IsBinary);
}

namespace {

absl::StatusOr<Model> LoadBytes(std::string_view bytes, const std::string& name,
                                const LoadOptions& options) {
  if (bytes.empty()) return absl::InvalidArgumentError(fmt::format("{}: the file is empty", name));
  if (LooksLikeBinaryModule(bytes)) return LoadBinary(bytes, name, options, nullptr);
  if (LooksLikeText(bytes, name)) return LoadText(bytes, name, options, false);
  TENON_RETURN_IF_ERROR(CheckIsModel(bytes, name));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  onnx::ImportOptions import = ImportOptionsOf(options);
  import.name = name;
  const auto info = std::make_shared<onnx::ModelInfo>();
  import.info = info.get();
  TENON_ASSIGN_OR_RETURN(
      OwnedOp module,
      onnx::ImportOnnxFromBytes(*context, std::as_bytes(std::span(bytes)), nullptr, import));
  return Model(std::move(context), std::move(module), {}, options.extension, info);
}

absl::StatusOr<Model> LoadPath(const std::string& path, const LoadOptions& options) {
  // Opened once: what comes through a pipe cannot be read again.
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes file,
                         onnx::MapFile(path, options.limits.stream_bytes));
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  if (path == "-") return LoadBytes(bytes, "<stdin>", options);
  if (bytes.empty()) return absl::InvalidArgumentError(fmt::format("{}: the file is empty", path));
  if (LooksLikeBinaryModule(bytes)) return LoadBinary(bytes, path, options, &file);
  if (LooksLikeText(bytes, path)) return LoadText(bytes, path, options, !file.source.bytes.empty());
  TENON_RETURN_IF_ERROR(CheckIsModel(bytes, path));
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<Context> context, ContextFor(options));
  std::vector<SourceFile> files;
  onnx::ImportOptions import = ImportOptionsOf(options);
  import.files = &files;
  const auto info = std::make_shared<onnx::ModelInfo>();
  import.info = info.get();
  TENON_ASSIGN_OR_RETURN(OwnedOp module, onnx::ImportOnnxFromFile(*context, file, path, import));
  return Model(std::move(context), std::move(module), std::move(files), options.extension, info);
}

// The model with the values of LoadOptions::parameter_files, and with LoadOptions::replaceable.
absl::StatusOr<Model> WithParameters(absl::StatusOr<Model> loaded, const LoadOptions& options) {
  if (!loaded.ok()) return loaded;
  if (options.parameter_files.empty() && options.replaceable.empty()) {
    NoteWeightAxes(*loaded->module());
    return loaded;
  }
  const ConstantNames* const read =
      loaded->info() == nullptr ? nullptr : &loaded->info()->read_constants;
  std::vector<SourceFile> files = loaded->files();
  for (const std::string& file : options.parameter_files) {
    SourceFile source;
    TENON_RETURN_IF_ERROR(LoadParameters(*loaded->module(), file, options.limits, &source, read));
    if (!source.path.empty()) files.push_back(std::move(source));
  }
  TENON_RETURN_IF_ERROR(MarkReplaceable(*loaded->module(), options.replaceable, read));
  NoteWeightAxes(*loaded->module());
  // Values that decide shapes may not fit.
  TENON_RETURN_IF_ERROR(Verify(loaded->module()));
  OwnedOp module(tenon::Clone(*loaded->module()));
  return Model(loaded->shared_context(), std::move(module), std::move(files), loaded->extension(),
               loaded->info());
}

}  // namespace

absl::StatusOr<Model> LoadFromBytes(std::string_view bytes, const std::string& name,
                                    const LoadOptions& options) {
  return WithoutBadAlloc(name,
                         [&] { return WithParameters(LoadBytes(bytes, name, options), options); });
}

absl::StatusOr<Model> Load(const std::string& path, const LoadOptions& options) {
  return WithoutBadAlloc(path, [&] { return WithParameters(LoadPath(path, options), options); });
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
  RuleLog log;
  const auto host = std::make_shared<const std::vector<drr::Rule>>(HostRulesOf(model));
  std::optional<ChangeRecorder> changes;
  RewriteObservers observers;
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
