#include "frontends/cpp/files/saved_program.h"

#include <sys/stat.h>

#include <limits>
#include <map>
#include <set>
#include <utility>

#include "executor/lowering/fallbacks.h"
#include "executor/session.h"
#include "executor/weights/build_identity.h"
#include "fmt/format.h"
#include "frontends/cpp/files/replaced_constants.h"
#include "frontends/cpp/loading.h"
#include "frontends/cpp/version.h"
#include "frontends/debug/main_function.h"
#include "frontends/onnx/file/mapped_file.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"
#include "ir/base/out_of_memory.h"
#include "ir/base/shown_text.h"
#include "ir/base/write_file.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/serialize/binary_program.h"
#include "kernels/cpu/isa.h"

namespace tenon {
namespace {

// What must be the same for a program to run as it was saved: names and values.
using Facts = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view kIsaFact = "isa", kVersionFact = "version", kBuildFact = "build",
                           kKernelsFact = "kernels", kDeviceFact = "device";

// Names and ranks of all kernels, those of the host included.
std::string HashOfKernels(const kernels::KernelRegistry& registry) {
  std::string text;
  for (const std::string& op : registry.ops()) {
    for (const kernels::Kernel& kernel : registry.Find(op))
      text += fmt::format("{} {} {}\n", op, kernel.name, kernel.priority);
  }
  return fmt::format("{:016x}", XXH3_64bits(text.data(), text.size()));
}

Facts FactsHere(const kernels::KernelRegistry& registry, bool gpu) {
  return {{std::string(kIsaFact), std::string(kernels::cpu::Name(kernels::cpu::ActiveIsa()))},
          {std::string(kVersionFact), TENON_VERSION},
          {std::string(kBuildFact), std::string(BuildIdentity())},
          {std::string(kKernelsFact), HashOfKernels(registry)},
          {std::string(kDeviceFact), gpu ? "cuda" : "cpu"}};
}

// Why a program with these facts does not fit here; empty if it does.
std::string WhyNotAsSaved(std::span<const std::string_view> saved, const Facts& here) {
  std::map<std::string_view, std::string_view> values;
  for (size_t i = 0; i + 1 < saved.size(); i += 2) values.emplace(saved[i], saved[i + 1]);
  const auto differs = [&](std::string_view name, std::string_view value) {
    const auto found = values.find(name);
    return found == values.end() || found->second != value;
  };
  for (const auto& [name, value] : here) {
    if (!differs(name, value)) continue;
    const std::string was = ShownName(values[name]);
    if (name == kDeviceFact)
      return fmt::format("it was saved for the device {}, and this is {}", was, value);
    if (name == kIsaFact)
      return fmt::format("it was saved for the instruction set {}, and this is {}", was, value);
    if (name == kVersionFact)
      return fmt::format("it was saved by version {}, and this is {}", was, value);
    if (name == kBuildFact) return "it was saved by a build with other kernels";
    return "it was saved with other kernels of the host";
  }
  return values.size() == here.size() ? "" : "it was saved by another version";
}

LoadOptions LoadOptionsOf(const LoadProgramOptions& options) {
  LoadOptions load;
  load.on_diagnostic = options.on_diagnostic;
  load.limits = options.limits;
  load.extension = options.extension;
  return load;
}

absl::StatusOr<Program> LowerAgain(const std::string& path, const LoadProgramOptions& options,
                                   LoadProgramReport& report) {
  TENON_ASSIGN_OR_RETURN(Model model, Load(path, LoadOptionsOf(options)));
  CompileOptions compile;
  compile.threads = options.threads;
  compile.verify_weights = options.verify_weights;
  compile.on_fallback = options.on_fallback;
  compile.gpu = options.gpu;
  compile.check_memory = options.check_memory;
  compile.limits = options.limits;
  report.weights = compile.weights = MakePackedWeights(model, "", options.verify_weights);
  return Compile(std::move(model), compile);
}

// Compares all constants of a file with their checksums.
absl::Status VerifyConstants(Context& context, const FoundProgram& found,
                             const onnx::FileBytes& file, const std::string& path) {
  for (const FoundProgram::Checked& constant : found.constants) {
    if (XXH3_64bits(constant.bytes.data(), constant.bytes.size()) == constant.checksum) continue;
    return EmitError(
        context, Location::Name(context, path),
        fmt::format("the constant at byte {} is damaged: its checksum is another",
                    reinterpret_cast<const std::byte*>(constant.bytes.data()) - file.bytes.data()));
  }
  return absl::OkStatus();
}

// The packed weights of a file, which `file` keeps mapped.
absl::StatusOr<std::shared_ptr<const SavedWeights>> SavedWeightsOf(Context& context,
                                                                   const FoundProgram& found,
                                                                   const onnx::FileBytes& file,
                                                                   const std::string& path,
                                                                   bool verify) {
  std::vector<SavedWeight> weights;
  for (const FoundProgram::Data& data : found.data) {
    if (data.user > static_cast<uint64_t>(std::numeric_limits<int>::max())) continue;  // of nobody
    if (verify && XXH3_64bits(data.bytes.data(), data.bytes.size()) != data.checksum) {
      return EmitError(
          context, Location::Name(context, path),
          fmt::format("the packed weights at byte {} are damaged: their checksum is "
                      "another",
                      reinterpret_cast<const std::byte*>(data.bytes.data()) - file.bytes.data()));
    }
    weights.push_back(
        {static_cast<int>(data.user), std::string(data.name), data.bytes.size(),
         kernels::PackedBytes(file.owner, reinterpret_cast<const std::byte*>(data.bytes.data()))});
  }
  return std::make_shared<const SavedWeights>(std::move(weights));
}

absl::StatusOr<Program> LoadSaved(const std::string& path, const LoadProgramOptions& options,
                                  LoadProgramReport& report) {
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes file,
                         onnx::MapFile(path, options.limits.stream_bytes));
  if (file.source.bytes.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: a program is loaded from a regular file, which is mapped (expected a file)", path));
  }
  const std::string_view bytes(reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  if (!LooksLikeBinaryProgram(bytes)) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: the file holds no program (expected one that SaveProgram or ir-run --save-program "
        "wrote)",
        path));
  }
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<Context> context,
                         MakeContext(LoadOptionsOf(options)));
  ReadBinaryOptions read;
  read.file_name = path;
  read.owner = file.owner;
  read.mapped = true;
  TENON_ASSIGN_OR_RETURN(const FoundProgram found, FindBinaryProgram(*context, bytes, read));
  if (options.verify_weights) TENON_RETURN_IF_ERROR(VerifyConstants(*context, found, file, path));
  const std::shared_ptr<const kernels::KernelRegistry> kernels = KernelsOf(options.extension.get());
  report.lowered_again = WhyNotAsSaved(found.facts, FactsHere(*kernels, options.gpu != nullptr));
  if (!report.lowered_again.empty()) {
    EmitWarning(*context, Location::Name(*context, path),
                fmt::format("the program is lowered again: {}", report.lowered_again));
    return LowerAgain(path, options, report);
  }
  PackedWeights::Options weights;
  weights.files = {file.source};
  weights.warn = [context, path](const std::string& message) {
    EmitWarning(*context, Location::Name(*context, path), message);
  };
  TENON_ASSIGN_OR_RETURN(weights.saved,
                         SavedWeightsOf(*context, found, file, path, options.verify_weights));
  TENON_ASSIGN_OR_RETURN(const OwnedOp module, ReadBinaryProgram(*context, bytes, read));
  Operation* const main = MainFunction(*module);
  if (main == nullptr) {
    return EmitError(*context, Location::Name(*context, path),
                     "the program has no function to run (expected @main)");
  }
  if (options.on_fallback) {
    for (const std::string& note : FallbackNotes(module.get(), options.gpu != nullptr))
      options.on_fallback(note);
  }
  ProgramOptions program;
  program.threads = options.threads;
  program.kernels = kernels;
  program.weights = report.weights = std::make_shared<PackedWeights>(std::move(weights));
  program.gpu = options.gpu;
  program.check_memory = options.check_memory;
  program.limits = options.limits;
  program.context = context;
  return Program::Compile(main, program);
}

absl::Status WriteSaved(const Model& model, const Model& lowered, const std::string& path,
                        const ProgramOptions& compiled, SaveProgramReport& report) {
  BinaryProgram program;
  program.module = lowered.module();
  for (const auto& [name, value] : FactsHere(*compiled.kernels, compiled.gpu != nullptr)) {
    program.facts.push_back(name);
    program.facts.push_back(value);
  }
  const std::vector<SavedWeight> weights = compiled.weights->uses()->weights();
  std::set<const std::byte*> counted;
  for (const SavedWeight& weight : weights) {
    program.data.push_back({static_cast<uint64_t>(weight.instruction),
                            weight.name,
                            {weight.data.get(), weight.bytes}});
    if (counted.insert(weight.data.get()).second) report.weight_bytes += weight.bytes;
  }
  report.weights = weights.size();
  TENON_ASSIGN_OR_RETURN(program.packed,
                         ReplacedConstants(*lowered.module(), *compiled.weights->uses(), weights));
  for (const BinaryProgram::Packed& packed : program.packed) {
    ++report.replaced;
    report.replaced_bytes += StoredBytes(packed.constant);
  }
  return WriteFile(
      path, [&](TextSink sink) { return WriteBinaryProgram(*model.module(), program, sink); });
}

absl::Status Save(const Model& model, const std::string& path, const SaveProgramOptions& options,
                  SaveProgramReport& report) {
  TENON_RETURN_IF_ERROR(CheckWritable(path));
  const Model lowered = model.Clone();
  TENON_RETURN_IF_ERROR(LowerModel(lowered, /*reference=*/false, options.gpu != nullptr));
  PackedWeights::Options weights;
  weights.files = model.files();
  weights.uses = std::make_shared<PackedUses>();
  ProgramOptions compile;
  compile.threads = options.threads;
  compile.kernels = KernelsOf(model.extension().get());
  compile.gpu = options.gpu;
  compile.weights = std::make_shared<PackedWeights>(std::move(weights));
  compile.limits = options.limits;
  compile.context = model.shared_context();
  TENON_ASSIGN_OR_RETURN(const Program program, Program::Compile(lowered.main(), compile));
  for (const std::vector<Tensor>& inputs : options.runs)
    TENON_RETURN_IF_ERROR(program.Run(inputs).status());
  return WriteSaved(model, lowered, path, compile, report);
}

}  // namespace

absl::Status SaveProgram(const Model& model, const std::string& path,
                         const SaveProgramOptions& options, SaveProgramReport* report) {
  SaveProgramReport saved;
  const absl::Status status =
      WithoutBadAlloc("saving a program", [&] { return Save(model, path, options, saved); });
  if (report != nullptr) *report = saved;
  return status;
}

absl::StatusOr<Program> LoadProgram(const std::string& path, const LoadProgramOptions& options,
                                    LoadProgramReport* report) {
  LoadProgramReport unused;
  return WithoutBadAlloc(
      path, [&] { return LoadSaved(path, options, report != nullptr ? *report : unused); });
}

bool IsSavedProgram(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return false;
  const absl::StatusOr<onnx::FileBytes> file = onnx::MapFile(path);
  return file.ok() && LooksLikeBinaryProgram(
                          {reinterpret_cast<const char*>(file->bytes.data()), file->bytes.size()});
}

}  // namespace tenon
