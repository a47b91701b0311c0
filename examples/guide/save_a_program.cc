// docs/guide/save-a-program.md: a program as a file, and from it.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "tenon/frontends/cpp/files/saved_program.h"
#include "tenon/frontends/cpp/tenon.h"
#include "tenon/ir/base/check.h"

namespace {

constexpr char kModel[] = R"(
func.func() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2x3xf32>):
  %0 = ten.abs(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  func.return(%0) : (tensor<2x3xf32>) -> ()
}) : () -> ()
)";

absl::StatusOr<tenon::Program> SaveAndLoad(const tenon::Model& model, const std::string& path,
                                           const std::vector<tenon::Tensor>& inputs) {
  tenon::SaveProgramOptions save;
  save.runs = {inputs};  // what they pack is in the file
  TENON_RETURN_IF_ERROR(tenon::SaveProgram(model, path, save));
  return tenon::LoadProgram(path);
}

absl::Status Run() {
  TENON_ASSIGN_OR_RETURN(tenon::Model model, tenon::LoadFromBytes(kModel, "model.mlir"));
  TENON_RETURN_IF_ERROR(tenon::Optimize(model));
  const int64_t shape[] = {2, 3};
  const float values[] = {-1, 2, -3, 4, -5, 6};
  const std::vector<tenon::Tensor> inputs = {
      tenon::Tensor::Copy(tenon::DType::kF32, shape, values)};
  const std::string path =
      std::filesystem::temp_directory_path() / ("guide." + std::to_string(getpid()) + ".tnp");
  const absl::StatusOr<tenon::Program> program = SaveAndLoad(model, path, inputs);
  std::filesystem::remove(path);  // the mapped file stays
  TENON_RETURN_IF_ERROR(program.status());
  TENON_ASSIGN_OR_RETURN(const std::vector<tenon::Tensor> outputs, program->Run(inputs));
  for (int i = 0; i < 6; ++i) std::printf("%g\n", outputs[0].as<float>()[i]);
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (status.ok()) return EXIT_SUCCESS;
  std::fprintf(stderr, "%s\n", std::string(status.message()).c_str());
  return EXIT_FAILURE;
}
