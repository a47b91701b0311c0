#include "frontends/onnx/file/test_data.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <climits>
#include <utility>

#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/file/tensor.h"
#include "frontends/onnx/file/wire.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"

namespace tenon::onnx {
namespace {

absl::Status AtFile(const std::string& path, const absl::Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  return absl::Status(status.code(), fmt::format("{}: {}", path, message));
}

// Fields of SequenceProto and OptionalProto, which agree in them.
constexpr uint32_t kName = 1, kTensors = 3, kSequence = 5;

// Calls `see(field, bytes)` for each field that has bytes; false if the message is malformed.
template <typename See>
bool WalkFields(std::span<const std::byte> message, See see) {
  if (message.size() > INT_MAX) return false;
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t*>(message.data()),
                                            static_cast<int>(message.size()));
  while (const uint32_t tag = in.ReadTag()) {
    uint64_t number = 0;
    uint32_t size = 0;
    switch (tag & 7) {
      case 0:
        if (!in.ReadVarint64(&number)) return false;
        break;
      case 2: {
        if (!in.ReadVarint32(&size)) return false;
        const auto at = static_cast<size_t>(in.CurrentPosition());
        if (size > message.size() - at) return false;
        see(tag >> 3, message.subspan(at, size));
        if (!in.Skip(static_cast<int>(size))) return false;
        break;
      }
      default:
        return false;
    }
  }
  return in.ConsumedEntireMessage();
}

// A TensorProto that is a part of the file.
absl::StatusOr<NamedTensor> DecodePart(const FileBytes& file, std::span<const std::byte> part) {
  onnxpb::TensorProto proto;
  TENON_RETURN_IF_ERROR(ParseTensor(part, proto));
  FileBytes source = file;
  source.bytes = part;
  NamedTensor result;
  TENON_ASSIGN_OR_RETURN(static_cast<TensorData&>(result),
                         DecodeTensor(proto, TensorSource{.file = source}));
  result.name = proto.name();
  return result;
}

absl::Status ReadSequence(const FileBytes& file, std::span<const std::byte> message, bool optional,
                          SequenceData& sequence) {
  absl::Status status;
  sequence.present = !optional;
  const bool whole = WalkFields(message, [&](uint32_t field, std::span<const std::byte> bytes) {
    if (!status.ok()) return;
    if (field == kName) {
      sequence.name.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else if (field == kTensors && !optional) {
      absl::StatusOr<NamedTensor> tensor = DecodePart(file, bytes);
      if (tensor.ok()) sequence.elements.push_back(*std::move(tensor));
      status = tensor.status();
    } else if (field == kSequence && optional) {
      const std::string name = sequence.name;
      status = ReadSequence(file, bytes, false, sequence);
      sequence.name = name;
    } else {
      status = absl::UnimplementedError(
          "has elements that are no tensors (expected a sequence of tensors)");
    }
  });
  if (!status.ok() || whole) return status;
  return absl::InvalidArgumentError("is no SequenceProto or OptionalProto");
}

onnxpb::TensorProto ToProto(const NamedTensor& tensor) {
  onnxpb::TensorProto proto;
  proto.mutable_dims()->Assign(tensor.dims.begin(), tensor.dims.end());
  proto.set_data_type(OnnxTypeOf(tensor.dtype));
  if (!tensor.name.empty()) proto.set_name(tensor.name);
  const std::shared_ptr<const Blob> bytes = OnnxBytes(tensor.dtype, tensor.blob);
  proto.set_raw_data(bytes->bytes().data(), bytes->size());
  return proto;
}

}  // namespace

absl::StatusOr<SequenceData> ReadSequenceProto(const std::string& path, bool optional,
                                               const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const FileBytes file, MapFile(path, limits.stream_bytes));
  SequenceData sequence;
  if (absl::Status status = ReadSequence(file, file.bytes, optional, sequence); !status.ok()) {
    return AtFile(path, status);
  }
  return sequence;
}

absl::Status WriteSequenceProto(const std::string& path, const SequenceData& sequence,
                                bool optional) {
  size_t size = 0;
  onnxpb::SequenceProto proto;
  proto.set_elem_type(onnxpb::SequenceProto::TENSOR);
  for (const NamedTensor& tensor : sequence.elements) {
    size += tensor.blob->size();
    if (size > INT_MAX / 2) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: tensors of more than {} bytes do not fit a SequenceProto", path, INT_MAX / 2));
    }
    *proto.add_tensor_values() = ToProto(tensor);
  }
  if (!optional) {
    proto.set_name(sequence.name);
    return WriteFile(path, proto.SerializeAsString());
  }
  onnxpb::OptionalProto outer;
  outer.set_name(sequence.name);
  outer.set_elem_type(sequence.present ? onnxpb::SequenceProto::SEQUENCE
                                       : onnxpb::SequenceProto::UNDEFINED);
  if (sequence.present) *outer.mutable_sequence_value() = std::move(proto);
  return WriteFile(path, outer.SerializeAsString());
}

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
  return WriteFile(path, ToProto(tensor).SerializeAsString());
}

absl::StatusOr<StringData> ReadStringTensorProto(const std::string& path, const Limits& limits) {
  TENON_ASSIGN_OR_RETURN(const FileBytes file, MapFile(path, limits.stream_bytes));
  onnxpb::TensorProto proto;
  if (absl::Status status = ParseTensor(file.bytes, proto); !status.ok()) {
    return AtFile(path, status);
  }
  if (proto.data_type() != onnxpb::TensorProto::STRING) {
    return absl::InvalidArgumentError(fmt::format("{}: has elements of {} (expected strings)", path,
                                                  OnnxTypeName(proto.data_type())));
  }
  absl::StatusOr<StringData> data = DecodeStrings(proto);
  return data.ok() ? data : AtFile(path, data.status());
}

absl::Status WriteStringTensorProto(const std::string& path, const StringData& strings) {
  onnxpb::TensorProto proto;
  proto.mutable_dims()->Assign(strings.dims.begin(), strings.dims.end());
  proto.set_data_type(onnxpb::TensorProto::STRING);
  if (!strings.name.empty()) proto.set_name(strings.name);
  size_t size = 0;
  for (const std::string& string : strings.strings) {
    size += string.size();
    if (size > INT_MAX / 2) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: strings of more than {} bytes do not fit a TensorProto", path, INT_MAX / 2));
    }
    proto.add_string_data(string);
  }
  return WriteFile(path, proto.SerializeAsString());
}

}  // namespace tenon::onnx
