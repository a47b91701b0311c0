// Any bytes as a file of one TensorProto: a tensor whose bytes can be read, or an error.
#include <span>

#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/file/wire.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/constants/blob.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/seed_files.h"

namespace tenon::fuzz {
namespace {

absl::StatusOr<onnx::TensorData> Read(std::string_view bytes) {
  onnx::FileBytes file;
  file.bytes = std::as_bytes(std::span(bytes.data(), bytes.size()));
  onnxpb::TensorProto proto;
  if (absl::Status status = onnx::ParseTensor(file.bytes, proto); !status.ok()) return status;
  return onnx::DecodeTensor(proto, onnx::TensorSource{.file = file});
}

}  // namespace

std::string CheckTensor(std::string_view bytes, bool* accepted) {
  const absl::StatusOr<onnx::TensorData> tensor = Read(bytes);
  if (accepted != nullptr) *accepted = tensor.ok();
  return CheckTensorData(tensor);
}

std::vector<std::string> TensorSeeds() { return FilesBelow("models", ".pb", 20'000); }

}  // namespace tenon::fuzz
