// Tenon in four calls: Load, Optimize, Compile, Run.
//
//   absl::StatusOr<tenon::Model> model = tenon::Load("bert.onnx");
//   absl::Status optimized = tenon::Optimize(*model);
//   absl::StatusOr<tenon::Program> program = tenon::Compile(*model);
//   absl::StatusOr<std::vector<tenon::Tensor>> outputs = program->Run(inputs);
#ifndef TENON_FRONTENDS_CPP_TENON_H_
#define TENON_FRONTENDS_CPP_TENON_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/gpu/cuda_plugin.h"
#include "executor/io_binding.h"
#include "executor/program.h"
#include "executor/session.h"
#include "executor/tensor.h"
#include "executor/weights/packed_weights.h"
#include "frontends/cpp/version.h"
#include "frontends/onnx/edit/model_edit.h"
#include "ir/base/limits.h"
#include "ir/base/source_file.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"

namespace tenon {

namespace onnx {
struct ModelInfo;
}  // namespace onnx
struct Extension;
struct RuleLog;
struct RewriteStep;
class RewriteObserver;

// A module and the Context that owns it. Movable; Clone copies it. Several threads may read and
// compile one model at the same time, but only one may optimize it. Clones share the Context, and
// other threads may use and optimize them at the same time. The Context lives as long as a model or
// program uses it.
class Model {
 public:
  // Takes ownership of `module`, which must belong to `context`. `files` are mapped files that hold
  // constants of the module; `info` is what an ONNX model says about itself.
  Model(std::shared_ptr<Context> context, OwnedOp module, std::vector<SourceFile> files = {},
        std::shared_ptr<const Extension> extension = nullptr,
        std::shared_ptr<const onnx::ModelInfo> info = nullptr)
      : context_(std::move(context)),
        module_(std::move(module)),
        files_(std::move(files)),
        extension_(std::move(extension)),
        info_(std::move(info)) {}
  Model(Model&&) = default;
  Model& operator=(Model&& other) noexcept {
    // The old module goes before its Context.
    module_ = std::move(other.module_);
    context_ = std::move(other.context_);
    files_ = std::move(other.files_);
    extension_ = std::move(other.extension_);
    info_ = std::move(other.info_);
    return *this;
  }

  // The Context of the module.
  Context& context() const { return *context_; }
  // The same, for those who keep it longer than the model.
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  // The builtin.module.
  Operation* module() const { return module_.get(); }
  // The function from which a program is compiled: @main, or the only function with a body. Null if
  // there is none.
  Operation* main() const;
  // A deep copy of the module in the same Context. Constants are shared.
  Model Clone() const;
  // Mapped files that hold constants of the module.
  const std::vector<SourceFile>& files() const { return files_; }
  // The extension given to Load; Optimize and Compile use it. May be null.
  const std::shared_ptr<const Extension>& extension() const { return extension_; }
  // What the ONNX model said about itself (frontends/onnx/file/model_info.h). Null for other
  // models.
  const std::shared_ptr<const onnx::ModelInfo>& info() const { return info_; }

 private:
  std::shared_ptr<Context> context_;
  OwnedOp module_;
  std::vector<SourceFile> files_;
  std::shared_ptr<const Extension> extension_;
  std::shared_ptr<const onnx::ModelInfo> info_;
};

// How models are loaded.
struct LoadOptions {
  // Receives errors, warnings and remarks of Load and of all later calls with the model. May be
  // empty: errors are in the Status, too. One thread calls it at a time.
  std::function<void(const Context&, const Diagnostic&)> on_diagnostic{};
  // Accepts ops of dialects that are not registered.
  bool allow_unregistered_dialects = false;
  // The folder in which an ONNX model's external data lies. Empty: the folder of the model file;
  // a model in memory, or of standard input, then may have no external data.
  std::string external_data_root{};
  // Accepts symbolic links and files with several hard links as external data. Such a link may lead
  // out of the folder.
  bool allow_external_data_links = false;
  // Files in the format safetensors with values of parameters and of named constants, such as the
  // initializers of an ONNX model, in place of those that the program has (parameters.h).
  std::vector<std::string> parameter_files{};
  // Parameters, and named constants such as the initializers of an ONNX model, that
  // Program::ReplaceParameters may give other values while programs run: names, or patterns such as
  // "*.weight" (replaceable.h). Optimize and Compile read no values of them, so that programs may
  // be slower than with constants.
  std::vector<std::string> replaceable{};
  // Limits of the input, and of messages.
  Limits limits{};
  // Operations, kernels, rules and passes of the host (extension.h). May be null.
  std::shared_ptr<const Extension> extension{};
  // Changes to an ONNX model before it is imported: a part of it, sizes of inputs, more outputs.
  // InvalidArgument for IR text and binary modules.
  onnx::ModelEdit edit{};
  // Whether values of IR text keep their names (Value::name). Those of an ONNX model always do.
  bool keep_names = true;
  // Reads into this Context, usually that of another model, so that operations can move between
  // the two. It must have what MakeContext gives for these options; its dialects, handler and
  // limits stay. Null: a Context of its own.
  std::shared_ptr<Context> context{};
};

// Returns a Context as Load makes it: with Tenon's dialects and those of the extension, the handler
// and the limits. Errors are those of RegisterExtension.
absl::StatusOr<std::shared_ptr<Context>> MakeContext(const LoadOptions& options = {});

// Reads an ONNX model, IR text or a binary module (binary_module.h), told apart by name and
// content; "-" is standard input. Weights stay in the mapped model file, which must not be
// truncated while the model or a program uses it. Ops without a counterpart are loaded as opaque
// ops `onnx.…`, with a remark. IR text may have such ops, too. The module is always verified.
//
// NotFound if the file cannot be read. Unimplemented if the model uses something that Tenon cannot
// represent. ResourceExhausted beyond a limit or without memory. InvalidArgument otherwise, also
// for a wrong extension. Errors of parameter files are those of LoadParameters, those of
// replaceable parameters are those of MarkReplaceable.
absl::StatusOr<Model> Load(const std::string& path, const LoadOptions& options = {});
// The same for a model in memory, which is copied. Messages call it `name`. External data is
// refused without LoadOptions::external_data_root.
absl::StatusOr<Model> LoadFromBytes(std::string_view bytes, const std::string& name,
                                    const LoadOptions& options = {});

// How the weights of linear layers are stored and multiplied. Everything else is computed as in the
// model. Optimize warns if the program has no such layer.
enum class Precision : uint8_t {
  kFp32,  // as in the model
  // Rounds weights and inputs to bf16, if the CPU multiplies bf16; otherwise Optimize warns and
  // keeps fp32.
  kBf16,
  // 8-bit weights with one factor per 32 weights of a column; inputs are not quantized.
  kInt8,
};
// All precisions.
inline constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kInt8};
// Returns "fp32", "bf16" or "int8".
std::string_view Name(Precision precision);

// How Optimize works.
struct OptimizeOptions {
  int level = 2;                           // from 0 to 3; see StandardPipelines()
  std::string pipeline{};                  // pipeline text in place of a level
  Precision precision = Precision::kFp32;  // of the weights of linear layers
  // Files of rules in text notation (docs/guide/write-a-rule.md). `fuse` and `final-rules` apply
  // them after those of the extension. Optimize reads them: InvalidArgument points at a mistake,
  // and a rule that no pass of the pipeline applies is a warning (LoadOptions::on_diagnostic).
  std::vector<std::string> rule_files{};
  // Rules that are not applied, built-in or given: names, families ("attention"), or patterns
  // ("pack-*"). InvalidArgument, with the nearest name, if one of them names no rule, and if no
  // pass of `pipeline` applies rules.
  std::vector<std::string> disabled_rules{};
  // Applies rules that may overflow, or change infinities or the sign of zeros, without a proof
  // that they do not. `ir-opt --list-rules` names them. InvalidArgument if no pass of `pipeline`
  // applies rules.
  bool fast_math = false;
  // Verifies the IR after each pass.
  bool verify_each = false;
  // Threads that share out the functions of the model, at most kMaxThreads; 0: one per core. The
  // result is the same for any number. With allow_rewrite, observer, explain_rule or rule_log, one
  // does all.
  int threads = 1;
  // Asked before each step of optimization (pass/rewrite_step.h): false leaves it out. May be
  // empty.
  std::function<bool(const RewriteStep& step)> allow_rewrite{};
  // Told of each step; the caller owns it. May be null.
  RewriteObserver* observer = nullptr;
  // RULE[@NODE] as for --explain (explain.h). Empty: nothing is explained.
  std::string explain_rule{};
  // Receives the lines of that report: where the rule fired or nearly matched.
  std::function<void(std::string_view line)> report{};
  // Receives what all rules did, and where those nearly matched that its `wanted` names
  // (pass/rule_log.h); the caller owns it. Null records nothing. One thread then does all.
  RuleLog* rule_log = nullptr;
};
// What Optimize did.
struct OptimizeReport {
  std::map<std::string, int64_t, std::less<>> rules;  // applications of each rule that fired
  Precision precision = Precision::kFp32;             // of the optimized program
};

// Optimizes the model in place. Names of dimensions, inputs and outputs do not change. From level 2
// on, results change within rounding; `precision` can change them more. `report` may be null.
//
// InvalidArgument for wrong options or rule files, NotFound for a rule file that cannot be read:
// the module has not changed then. After other errors the module may be partly changed: load it
// again.
absl::Status Optimize(Model& model, const OptimizeOptions& options = {},
                      OptimizeReport* report = nullptr);

// How Compile works.
struct CompileOptions {
  int threads = 0;         // per session, with the caller's, at most kMaxThreads; 0: one per core
  bool reference = false;  // uses the reference kernels only
  // Folder that keeps packed weights for the next start. Empty: the folder that TENON_WEIGHT_CACHE
  // in the environment names, if it is set.
  std::string weight_cache{};
  // Checks the model's files and the kept weights again, instead of trusting recorded identities.
  bool verify_weights = false;
  // Store of packed weights, for programs that share them (MakePackedWeights). Null: a store for
  // this program. It overrides `weight_cache`.
  std::shared_ptr<PackedWeights> weights{};
  // Device for a GPU program (OpenCudaDevice in executor/gpu/cuda_plugin.h). Operations without a
  // CUDA kernel run on the CPU, with copies in between. Null: a CPU program.
  std::shared_ptr<kernels::gpu::Device> gpu{};
  // Receives one line per kind of fallback: operations on a reference kernel that are not trivial,
  // and operations of a GPU program that run on the CPU. Also one line for large values that each
  // run computes from constants alone, such as unpacked weights, and for a GPU how many values each
  // run copies. See FallbackNotes (executor/lowering/fallbacks.h). Not called for kernels that
  // `reference` asks for.
  std::function<void(std::string_view line)> on_fallback{};
  // Fills bytes of the arena that hold no value with NaN, to find errors in memory plans.
  bool check_memory = false;
  Limits limits{};  // for each run
};

// Returns a store for CompileOptions::weights, for programs compiled from this model and its
// clones.
std::shared_ptr<PackedWeights> MakePackedWeights(const Model& model,
                                                 const std::string& weight_cache = {},
                                                 bool verify_weights = false);

// Lowers a copy of the model's main function and compiles it. The program keeps the Context, and
// does not need the model. InvalidArgument if there is no main function, and for wrong options.
// Unimplemented, with the operation and its node, if no kernel supports a call.
absl::StatusOr<Program> Compile(const Model& model, const CompileOptions& options = {});
// The same for a model that is not needed afterward, also if this fails. The program then holds the
// only copy of the constants, and frees those that it has packed.
absl::StatusOr<Program> Compile(Model&& model, const CompileOptions& options = {});

// Run programs with Program::Run, or with one Session per thread. An IoBinding keeps inputs and
// outputs bound from run to run.

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_TENON_H_
