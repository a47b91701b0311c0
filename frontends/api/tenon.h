// Tenon in four calls: Load, Optimize, Compile, Run.
//
//   absl::StatusOr<tenon::Model> model = tenon::Load("bert.onnx");
//   absl::Status optimized = tenon::Optimize(*model);
//   absl::StatusOr<tenon::Program> program = tenon::Compile(*model);
//   absl::StatusOr<std::vector<tenon::Tensor>> outputs = program->Run(inputs);
#ifndef TENON_FRONTENDS_API_TENON_H_
#define TENON_FRONTENDS_API_TENON_H_

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
#include "executor/packed_weights.h"
#include "executor/program.h"
#include "executor/session.h"
#include "executor/tensor.h"
#include "ir/core/context.h"
#include "ir/core/limits.h"
#include "ir/core/operation.h"
#include "ir/core/source_file.h"

namespace tenon {

struct Extension;

// A module and the Context that owns it. Movable. Models cloned from each other share their
// Context, and may be used from different threads.
class Model {
 public:
  // `files`: where constants of the module lie, if in mapped files.
  Model(std::shared_ptr<Context> context, OwnedOp module, std::vector<SourceFile> files = {},
        std::shared_ptr<const Extension> extension = nullptr)
      : context_(std::move(context)),
        module_(std::move(module)),
        files_(std::move(files)),
        extension_(std::move(extension)) {}
  Model(Model&&) = default;
  Model& operator=(Model&& other) noexcept {
    // The old module goes before its Context.
    module_ = std::move(other.module_);
    context_ = std::move(other.context_);
    files_ = std::move(other.files_);
    extension_ = std::move(other.extension_);
    return *this;
  }

  Context& context() const { return *context_; }
  const std::shared_ptr<Context>& shared_context() const { return context_; }
  Operation* module() const { return module_.get(); }
  // The function that a program is made of: @main, or the only function with a body. Null if there
  // is none.
  Operation* main() const;
  Model Clone() const;
  const std::vector<SourceFile>& files() const { return files_; }
  // What Load was given; Optimize and Compile use it. May be null.
  const std::shared_ptr<const Extension>& extension() const { return extension_; }

 private:
  std::shared_ptr<Context> context_;
  OwnedOp module_;
  std::vector<SourceFile> files_;
  std::shared_ptr<const Extension> extension_;
};

struct LoadOptions {
  // Receives errors, warnings and remarks, now and later. May be empty: errors are in the Status
  // too.
  std::function<void(const Context&, const Diagnostic&)> on_diagnostic{};
  bool allow_unregistered_dialects = false;
  Limits limits{};  // of the input
  // Operations, kernels, rules and passes of the host's own (extension.h). May be null.
  std::shared_ptr<const Extension> extension{};
};

// Reads an ONNX model or IR text, told apart by content; "-" is standard input. Errors: NotFound if
// the file cannot be read, Unimplemented if the model uses what Tenon has not, InvalidArgument
// otherwise, also where the extension is wrong.
absl::StatusOr<Model> Load(const std::string& path, const LoadOptions& options = {});
absl::StatusOr<Model> LoadFromBytes(std::string_view bytes, const std::string& name,
                                    const LoadOptions& options = {});

// How numbers of linear layers are kept and multiplied; everything else is computed as the model
// says. A warning where a program has no such layer.
enum class Precision : uint8_t {
  kFp32,  // as the model says
  kBf16,  // weights and inputs rounded to bf16, where the CPU multiplies it; otherwise a warning
  kInt8,  // weights of 8 bits with a factor for each 32 of a column; inputs as they are
};
inline constexpr Precision kPrecisions[] = {Precision::kFp32, Precision::kBf16, Precision::kInt8};
// "fp32", "bf16", "int8".
std::string_view Name(Precision precision);

struct OptimizeOptions {
  int level = 2;           // 0 to 3, see StandardPipelines()
  std::string pipeline{};  // pipeline text instead of a level
  Precision precision = Precision::kFp32;
  // Files of rules in text (docs/guide/write-a-rule.md), which `fuse` and `final-rules` apply
  // behind those of the extension. Read here; what is wrong in them is an InvalidArgument that says
  // where, and a rule that no pass of the pipeline applies is a warning.
  std::vector<std::string> rule_files{};
  // Rules that may overflow, or mistake infinities or the sign of zeros, need no proof that they do
  // not (`ir-opt --list-rules` names them).
  bool fast_math = false;
  bool verify_each = false;
  std::string
      explain_rule{};  // RULE[@NODE] (see explain.h): where it fired or nearly did, to `report`
  std::function<void(std::string_view line)> report{};
};
struct OptimizeReport {
  std::map<std::string, int64_t, std::less<>> rules;  // hits of each rule that fired
  Precision precision = Precision::kFp32;             // what the program is left in
};

// Changes the model in place; dimension names, inputs and outputs stay. Results change within
// rounding (from level 2 on), and as `precision` says. `report` may be null. InvalidArgument: wrong
// options. After any other error the module may be half changed: load it again.
absl::Status Optimize(Model& model, const OptimizeOptions& options = {},
                      OptimizeReport* report = nullptr);

struct CompileOptions {
  int threads = 0;         // 0: one per core
  bool reference = false;  // with the readable reference kernels alone
  // Folder where weights, once packed, are kept for the next start. Empty: what TENON_WEIGHT_CACHE
  // in the environment names, if anything.
  std::string weight_cache{};
  // Reads the model's files and the kept weights again, whatever is noted of them.
  bool verify_weights = false;
  // Shared by programs whose weights are to be packed once. Null: the program's own. Goes before
  // `weight_cache`.
  std::shared_ptr<PackedWeights> weights{};
  // On a GPU: what has a CUDA kernel runs on the device, the rest on the CPU, with copies between.
  // Null: on the CPU. OpenCudaDevice (executor/gpu/cuda_plugin.h) gives the machine's own.
  std::shared_ptr<kernels::gpu::Device> gpu{};
  // Told, a line for each kind, what runs on a reference kernel although it is not trivial, what
  // runs on the CPU in a program for a GPU, and how many values such a program copies. See
  // FallbackNotes (executor/fallbacks.h). Not called for what `reference` asks for.
  std::function<void(std::string_view line)> on_fallback{};
  bool check_memory = false;  // see ProgramOptions
  Limits limits{};            // of each run
};

// A store for CompileOptions::weights, for programs made of this model and its clones.
std::shared_ptr<PackedWeights> MakePackedWeights(const Model& model,
                                                 const std::string& weight_cache = {},
                                                 bool verify_weights = false);

// Lowers a copy of the model's main function and makes a program of it. Unimplemented, with the
// operation and its node, if no kernel runs it.
absl::StatusOr<Program> Compile(const Model& model, const CompileOptions& options = {});
// The same of a model that is not needed any more, also if this fails: the program alone holds the
// constants then, and gives up what it has packed.
absl::StatusOr<Program> Compile(Model&& model, const CompileOptions& options = {});

// Programs are run by Program::Run, or by a Session per thread; an IoBinding keeps inputs and
// outputs bound from run to run.

}  // namespace tenon

#endif  // TENON_FRONTENDS_API_TENON_H_
