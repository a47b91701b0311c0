#include "frontends/onnx/test_data.h"

#include <fmt/format.h>

#include <climits>

#include "frontends/onnx/mapped_file.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/tensor.h"
#include "frontends/onnx/wire.h"
#include "ir/core/check.h"
#include "ir/core/write_file.h"

namespace tenon::onnx {
namespace {

absl::Status AtFile(const std::string& path, const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  return absl::Status(status.code(), fmt::format("{}: {}", path, message));
}

}  // namespace

absl::StatusOr<NamedTensor> ReadTensorProto(const std::string& path, const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const FileBytes file, MapFile(path, limits.stream_bytes));
  onnxpb::TensorProto proto;
  if (absl::Status status = ParseTensor(file.bytes, proto); !status.ok()) {
    return AtFile(path, status);
  }
  absl::StatusOr<TensorData> data = DecodeTensor(proto, TensorSource{.file = file});
  if (!data.ok()) return AtFile(path, data.status());
  NamedTensor result;
  static_cast<TensorData&>(result) = *std::move(data);
  result.name = proto.name();
  return result;
}

absl::Status WriteTensorProto(const std::string& path, const NamedTensor& tensor) {
  if (tensor.blob->size() > INT_MAX / 2) {
    return absl::InvalidArgumentError(fmt::format(
        "{}: a tensor of {} bytes does not fit a TensorProto", path, tensor.blob->size()));
  }
  onnxpb::TensorProto proto;
  proto.mutable_dims()->Assign(tensor.dims.begin(), tensor.dims.end());
  proto.set_data_type(OnnxTypeOf(tensor.dtype));
  if (!tensor.name.empty()) proto.set_name(tensor.name);
  const std::shared_ptr<const Blob> bytes = OnnxBytes(tensor.dtype, tensor.blob);
  proto.set_raw_data(bytes->bytes().data(), bytes->size());
  return WriteFile(path, proto.SerializeAsString());
}

}  // namespace tenon::onnx
