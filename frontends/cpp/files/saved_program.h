// Programs as files that start without ONNX, passes and packing.
//
//   absl::Status saved = tenon::SaveProgram(optimized_model, "model.tnp", {.runs = {inputs}});
//   absl::StatusOr<tenon::Program> program = tenon::LoadProgram("model.tnp");
#ifndef TENON_FRONTENDS_CPP_FILES_SAVED_PROGRAM_H_
#define TENON_FRONTENDS_CPP_FILES_SAVED_PROGRAM_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/program.h"
#include "executor/tensor.h"
#include "executor/weights/packed_weights.h"
#include "frontends/cpp/tenon.h"
#include "ir/base/limits.h"
#include "ir/core/context/context.h"

namespace tenon {

// How SaveProgram works.
struct SaveProgramOptions {
  // Inputs of runs, each in the order of the program's inputs. The file holds the weights that
  // these runs pack. Without any, or for sizes that pack otherwise, a loaded program packs in its
  // first run.
  std::vector<std::vector<Tensor>> runs{};
  int threads = 0;  // of these runs; 0: one per core
  Limits limits{};  // of these runs
  // As CompileOptions::gpu: lowers for this device, and makes the runs on it. The file has no copy
  // of what lies in device memory.
  std::shared_ptr<kernels::gpu::Device> gpu{};
};

// What SaveProgram wrote.
struct SaveProgramReport {
  size_t weights = 0,      // packed weights; equal ones count for each operation that reads them
      weight_bytes = 0;    // their size, the same bytes once
  size_t replaced = 0,     // constants that the file holds only as packed weights
      replaced_bytes = 0;  // their size in the model
};

// Lowers a copy of the model's main function, makes the runs, and writes one file: the
// model, the lowered program with its memory plan, and the packed weights. The file is a binary
// module (binary_module.h), which Load reads as the model. It replaces `path` once it is whole.
//
// A weight lies in the file once, as it is packed, if all of its readers pack it in these runs and
// packing only moves its elements. Whoever reads it otherwise unpacks it, exactly. Other weights
// lie in the file as the model has them, and once more as they are packed. Values of
// Program::ReplaceParameters are not in it. Errors are those of Compile, of a run and of WriteFile
// (ir/base/write_file.h). `report` may be null.
absl::Status SaveProgram(const Model& model, const std::string& path,
                         const SaveProgramOptions& options = {},
                         SaveProgramReport* report = nullptr);

// How LoadProgram works.
struct LoadProgramOptions {
  int threads = 0;  // per session, with the caller's, at most kMaxThreads; 0: one per core
  // Compares all constants and packed weights with their checksums, which reads the whole file.
  bool verify_weights = false;
  bool check_memory = false;  // as CompileOptions::check_memory
  Limits limits{};            // of the file and of runs
  // The extension with which the model was loaded. May be null.
  std::shared_ptr<const Extension> extension{};
  // As LoadOptions::on_diagnostic. A warning says why a program is lowered again.
  std::function<void(const Context&, const Diagnostic&)> on_diagnostic{};
  std::function<void(std::string_view line)> on_fallback{};  // as CompileOptions::on_fallback
  // As CompileOptions::gpu. Null: a CPU program.
  std::shared_ptr<kernels::gpu::Device> gpu{};
};

// How a program was loaded.
struct LoadProgramReport {
  std::string lowered_again;               // why; empty if it runs as it was saved
  std::shared_ptr<PackedWeights> weights;  // the store of the program
};

// Returns the program of a file. It is mapped: processes share its weights, and it must not be
// truncated while the program is used.
//
// A program that was saved for another device or instruction set (kernels/cpu/isa.h), by another
// build or with other kernels is not used: the model in the file is lowered again, and a warning
// says so.
// InvalidArgument for a file that is damaged or holds no program, and for one that is not a regular
// file. NotFound if it cannot be read. Other errors are those of Load and Compile. `report` may be
// null.
absl::StatusOr<Program> LoadProgram(const std::string& path, const LoadProgramOptions& options = {},
                                    LoadProgramReport* report = nullptr);

// True if the file at `path` says that it holds a program. False also if it cannot be read.
bool IsSavedProgram(const std::string& path);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_SAVED_PROGRAM_H_
