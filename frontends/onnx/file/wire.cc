#include "frontends/onnx/file/wire.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>

#include <climits>
#include <cstdint>
#include <string>

#include "ir/base/check.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

// The messages on the way from a model to its tensors; all others are copied as they are.
enum class Message : uint8_t {
  kOther,
  kModel,
  kGraph,
  kNode,
  kAttribute,
  kFunction,
  kTraining,
  kSparse,
  kTensor,
};

struct Edge {
  Message parent;
  uint32_t field;
  Message child;
};

constexpr Edge kEdges[] = {
    {Message::kModel, onnxpb::ModelProto::kGraphFieldNumber, Message::kGraph},
    {Message::kModel, onnxpb::ModelProto::kTrainingInfoFieldNumber, Message::kTraining},
    {Message::kModel, onnxpb::ModelProto::kFunctionsFieldNumber, Message::kFunction},
    {Message::kTraining, onnxpb::TrainingInfoProto::kInitializationFieldNumber, Message::kGraph},
    {Message::kTraining, onnxpb::TrainingInfoProto::kAlgorithmFieldNumber, Message::kGraph},
    {Message::kFunction, onnxpb::FunctionProto::kNodeFieldNumber, Message::kNode},
    {Message::kFunction, onnxpb::FunctionProto::kAttributeProtoFieldNumber, Message::kAttribute},
    {Message::kGraph, onnxpb::GraphProto::kNodeFieldNumber, Message::kNode},
    {Message::kGraph, onnxpb::GraphProto::kInitializerFieldNumber, Message::kTensor},
    {Message::kGraph, onnxpb::GraphProto::kSparseInitializerFieldNumber, Message::kSparse},
    {Message::kNode, onnxpb::NodeProto::kAttributeFieldNumber, Message::kAttribute},
    {Message::kAttribute, onnxpb::AttributeProto::kTFieldNumber, Message::kTensor},
    {Message::kAttribute, onnxpb::AttributeProto::kGFieldNumber, Message::kGraph},
    {Message::kAttribute, onnxpb::AttributeProto::kTensorsFieldNumber, Message::kTensor},
    {Message::kAttribute, onnxpb::AttributeProto::kGraphsFieldNumber, Message::kGraph},
    {Message::kAttribute, onnxpb::AttributeProto::kSparseTensorFieldNumber, Message::kSparse},
    {Message::kAttribute, onnxpb::AttributeProto::kSparseTensorsFieldNumber, Message::kSparse},
    {Message::kSparse, onnxpb::SparseTensorProto::kValuesFieldNumber, Message::kTensor},
    {Message::kSparse, onnxpb::SparseTensorProto::kIndicesFieldNumber, Message::kTensor},
};

Message ChildOf(Message parent, uint32_t field) {
  for (const Edge& edge : kEdges) {
    if (edge.parent == parent && edge.field == field) return edge.child;
  }
  return Message::kOther;
}

void AppendVarint(uint64_t value, std::string& out) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void AppendField(uint32_t field, std::string_view bytes, std::string& out) {
  AppendVarint(uint64_t{field} << 3 | 2, out);
  AppendVarint(bytes.size(), out);
  out.append(bytes);
}

class Walker {
 public:
  Walker(std::span<const std::byte> file, int most_depth)
      : data_(reinterpret_cast<const char*>(file.data())),
        size_(file.size()),
        most_depth_(most_depth) {}

  // Appends the message in [begin, end) to `out`, with slices for raw data.
  absl::Status Copy(Message kind, size_t begin, size_t end, int depth, std::string& out) {
    if (depth > most_depth_) {
      return absl::ResourceExhaustedError(fmt::format(
          "messages are nested more than {} deep (Limits::nesting or --max-nesting)", most_depth_));
    }
    for (size_t at = begin; at < end;) {
      const size_t start = at;
      uint64_t tag = 0, value = 0;
      TENON_RETURN_IF_ERROR(ReadVarint(end, at, tag));
      const uint64_t field = tag >> 3;
      if (field == 0 || field >= (1u << 29)) return Malformed(start, "field number out of range");
      switch (tag & 7) {
        case 0:
          TENON_RETURN_IF_ERROR(ReadVarint(end, at, value));
          break;
        case 1:
          TENON_RETURN_IF_ERROR(Advance(end, 8, at));
          break;
        case 2: {
          TENON_RETURN_IF_ERROR(ReadVarint(end, at, value));
          const size_t from = at;
          TENON_RETURN_IF_ERROR(Advance(end, value, at));
          TENON_ASSIGN_OR_RETURN(const bool done, CopySpecial(kind, static_cast<uint32_t>(field),
                                                              from, at, depth, out));
          if (done) continue;
          break;
        }
        case 5:
          TENON_RETURN_IF_ERROR(Advance(end, 4, at));
          break;
        default:
          // Groups exist in no version of ONNX.
          return Malformed(start, "unexpected wire type");
      }
      if (kind == Message::kTensor && field == TensorProto::kRawSliceFieldNumber) continue;
      out.append(data_ + start, at - start);
    }
    return absl::OkStatus();
  }

 private:
  // A length-delimited field that is not copied as it is.
  absl::StatusOr<bool> CopySpecial(Message kind, uint32_t field, size_t from, size_t to, int depth,
                                   std::string& out) {
    if (kind == Message::kTensor && field == TensorProto::kRawDataFieldNumber) {
      TensorProto::RawSlice slice;
      slice.set_offset(from);
      slice.set_length(to - from);
      AppendField(TensorProto::kRawSliceFieldNumber, slice.SerializeAsString(), out);
      return true;
    }
    const Message child = ChildOf(kind, field);
    if (child == Message::kOther) return false;
    std::string inner;
    TENON_RETURN_IF_ERROR(Copy(child, from, to, depth + 1, inner));
    AppendField(field, inner, out);
    return true;
  }

  absl::Status ReadVarint(size_t end, size_t& at, uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (at >= end) return Malformed(at, "the file ends within a number");
      const auto byte = static_cast<unsigned char>(data_[at++]);
      if (shift < 64) value |= uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return absl::OkStatus();
    }
    return Malformed(at, "a number has more than ten bytes");
  }

  absl::Status Advance(size_t end, uint64_t count, size_t& at) {
    if (count > end - at) {
      return Malformed(at, fmt::format("{} bytes are announced, {} are left: the file is truncated "
                                       "or not ONNX",
                                       count, end - at));
    }
    at += count;
    return absl::OkStatus();
  }

  absl::Status Malformed(size_t at, std::string_view what) {
    return absl::InvalidArgumentError(
        fmt::format("malformed ONNX protobuf at byte {} of {}: {}", at, size_, what));
  }

  const char* data_;
  size_t size_;
  int most_depth_;
};

absl::Status Parse(std::span<const std::byte> file, Message kind, int depth,
                   google::protobuf::MessageLite& message) {
  std::string stripped;
  TENON_RETURN_IF_ERROR(Walker(file, depth).Copy(kind, 0, file.size(), 1, stripped));
  if (stripped.size() > INT_MAX) {
    return absl::InvalidArgumentError(
        "the model has more than 2 GiB without its weights (expected less)");
  }
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(stripped.data()),
                                               static_cast<int>(stripped.size()));
  input.SetRecursionLimit(kMaxMessageDepth);
  if (!message.ParseFromCodedStream(&input) || !input.ConsumedEntireMessage()) {
    return absl::InvalidArgumentError("not an ONNX protobuf message");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ParseModel(std::span<const std::byte> file, onnxpb::ModelProto& model, int depth) {
  return Parse(file, Message::kModel, depth, model);
}

absl::Status ParseTensor(std::span<const std::byte> file, onnxpb::TensorProto& tensor) {
  return Parse(file, Message::kTensor, kMaxMessageDepth, tensor);
}

}  // namespace tenon::onnx
