// Any bytes as a saved program: an error, or a program that can be run.
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "fmt/format.h"
#include "frontends/cpp/files/saved_program.h"
#include "frontends/cpp/tenon.h"
#include "ir/base/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/memory_file.h"
#include "tests/fuzz/sealed.h"

namespace tenon::fuzz {
namespace {

// Zeros for an input; null if there would be too many.
Tensor Zeros(const TensorSpec& spec) {
  constexpr int64_t kMost = int64_t{1} << 16;
  std::vector<int64_t> shape;
  int64_t elements = 1;
  for (const std::string& dim : spec.dims) {
    int64_t extent = 3;
    std::from_chars(dim.data(), dim.data() + dim.size(), extent);
    if (extent < 0 || extent > kMost || elements * extent > kMost) return {};
    elements *= extent;
    shape.push_back(extent);
  }
  absl::StatusOr<Tensor> zeros = Tensor::TryMake(spec.dtype, shape);
  if (!zeros.ok()) return {};
  std::fill_n(zeros->as<char>(), zeros->num_bytes(), 0);
  return *std::move(zeros);
}

// The program of a folder of its own.
std::string SavedBytes(const char* text, int64_t rows) {
  namespace fs = std::filesystem;
  std::string folder = (fs::temp_directory_path() / "saved_fuzz.XXXXXX").string();
  TENON_CHECK(mkdtemp(folder.data()) != nullptr);
  const std::string path = folder + "/seed.tnp";
  const absl::StatusOr<Model> model = LoadFromBytes(text, "seed.mlir");
  TENON_CHECK_MSG(model.ok(), std::string(model.status().message()).c_str());
  const int64_t shape[] = {rows, 8};
  Tensor x = Tensor::Make(DType::kF32, shape);
  std::fill_n(x.as<float>(), x.numel(), 0.5f);
  const absl::Status saved = SaveProgram(*model, path, {.runs = {{std::move(x)}}, .threads = 1});
  TENON_CHECK_MSG(saved.ok(), std::string(saved.message()).c_str());
  std::ifstream in(path, std::ios::binary);
  std::string bytes{std::istreambuf_iterator<char>(in), {}};
  fs::remove_all(folder);
  return bytes;
}

}  // namespace

std::string CheckSaved(std::string_view given, bool* accepted) {
  const MemoryFile file(Sealed(std::string(given)));
  LoadProgramOptions options;
  options.threads = 1;
  options.limits.memory_bytes = int64_t{64} << 20;
  options.limits.loop_trips = 1000;
  options.on_diagnostic = [](const Context&, const Diagnostic&) {};
  const absl::StatusOr<Program> program = LoadProgram(file.path(), options);
  if (accepted != nullptr) *accepted = program.ok();
  if (!program.ok()) return program.status().message().empty() ? "an error without a message" : "";
  std::vector<Tensor> inputs;
  for (const TensorSpec& spec : program->inputs()) {
    inputs.push_back(Zeros(spec));
    if (!inputs.back()) return {};
  }
  const absl::StatusOr<std::vector<Tensor>> outputs = program->Run(inputs);
  if (!outputs.ok()) return outputs.status().message().empty() ? "an error without a message" : "";
  return outputs->size() == program->outputs().size() ? "" : "another number of outputs";
}

std::vector<std::string> SavedSeeds() {
  // Static and dynamic shapes, a weight that is packed, branches, and a loop with a state.
  return {SavedBytes(R"ir(
func.func() <{function_type = (tensor<4x8xf32>) -> tensor<4x16xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4x8xf32>):
  %w = core.constant() <{value = dense<0.5> : tensor<8x16xf32>}> : () -> tensor<8x16xf32>
  %0 = ten.matmul(%x, %w) : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
  func.return(%0) : (tensor<4x16xf32>) -> ()
}) : () -> ()
)ir",
                     4),
          SavedBytes(R"ir(
func.func() <{function_type = (tensor<?x8xf32, ["N", ""]>) -> tensor<?x16xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x8xf32, ["N", ""]>):
  %w = core.constant() <{value = dense<0.25> : tensor<8x16xf32>}> : () -> tensor<8x16xf32>
  %0 = ten.matmul(%x, %w) : (tensor<?x8xf32, ["N", ""]>, tensor<8x16xf32>) -> tensor<?x16xf32, ["N", ""]>
  %1 = ten.abs(%0) : (tensor<?x16xf32, ["N", ""]>) -> tensor<?x16xf32, ["N", ""]>
  func.return(%1) : (tensor<?x16xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir",
                     5),
          SavedBytes(R"ir(
func.func() <{function_type = (tensor<3x8xf32>) -> tensor<3x8xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<3x8xf32>):
  %c = core.constant() <{value = dense<true> : tensor<i1>}> : () -> tensor<i1>
  %r = ctl.if(%c) ({
    %w = core.constant() <{value = dense<0.5> : tensor<8x8xf32>}> : () -> tensor<8x8xf32>
    %0 = ten.matmul(%x, %w) : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
    ctl.yield(%0) : (tensor<3x8xf32>) -> ()
  }, {
    %0 = ten.neg(%x) : (tensor<3x8xf32>) -> tensor<3x8xf32>
    ctl.yield(%0) : (tensor<3x8xf32>) -> ()
  }) : (tensor<i1>) -> tensor<3x8xf32>
  func.return(%r) : (tensor<3x8xf32>) -> ()
}) : () -> ()
)ir",
                     3),
          SavedBytes(R"ir(
core.parameter() <{sym_name = "w", type = f32, value = dense<0.5> : tensor<8x8xf32>}> : () -> ()
func.func() <{function_type = (tensor<3x8xf32>) -> tensor<3x8xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<3x8xf32>):
  %w = core.get_parameter() <{name = @w}> : () -> tensor<8x8xf32>
  %0 = func.call(%x, %w) <{callee = @side}> : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  func.return(%0) : (tensor<3x8xf32>) -> ()
}) : () -> ()
func.func() <{function_type = (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>, sym_name = "side"}> ({
^bb0(%x: tensor<3x8xf32>, %w: tensor<8x8xf32>):
  %0 = ten.matmul(%x, %w) : (tensor<3x8xf32>, tensor<8x8xf32>) -> tensor<3x8xf32>
  func.return(%0) : (tensor<3x8xf32>) -> ()
}) : () -> ()
)ir",
                     3)};
}

}  // namespace tenon::fuzz
