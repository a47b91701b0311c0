#include "frontends/onnx/export/writer.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "absl/functional/function_ref.h"
#include "fmt/format.h"
#include "frontends/onnx/export/graph_writer.h"
#include "frontends/onnx/file/tensor.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"
#include "ir/base/check.h"
#include "ir/base/write_file.h"
#include "ir/core/constants/constant_bytes.h"

namespace tenon::onnx {
namespace {

using onnxpb::ModelProto;
using onnxpb::TensorProto;

// Weights of fewer bytes stay in the model file.
constexpr int64_t kLeastExternal = 1024;
// Weights in a file begin at a multiple of this, so that they can be mapped.
constexpr int64_t kAlignment = 4096;

// The file format that an opset came with.
int64_t IrVersionOf(int64_t opset) {
  struct Row {
    int64_t opset, ir;
  };
  constexpr Row kRows[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11},
                           {21, 10}, {19, 9},  {15, 8},  {0, 7}};
  for (const Row& row : kRows) {
    if (opset >= row.opset) return row.ir;
  }
  return 7;
}
// The first one with functions of the model.
constexpr int64_t kIrVersionOfFunctions = 8;

// ---- pieces of protobuf's format

std::string Varint(uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7) text += static_cast<char>((value & 0x7f) | 0x80);
  return text + static_cast<char>(value);
}

// The beginning of a field of `size` bytes.
std::string FieldHead(int number, uint64_t size) {
  constexpr uint64_t kLengthDelimited = 2;
  return Varint((static_cast<uint64_t>(number) << 3) | kLengthDelimited) + Varint(size);
}

int64_t BytesOf(Attribute value) {
  return static_cast<int64_t>(
      OnnxByteSize(value.type().dtype(), static_cast<size_t>(value.type().num_elements())));
}

// An initializer without its bytes.
struct Tensor {
  std::string head;  // the message in front of raw_data
  Attribute value;
  int64_t offset = -1;  // in the file of weights; -1: in the model

  uint64_t raw_size() const { return offset < 0 ? static_cast<uint64_t>(BytesOf(value)) : 0; }
  uint64_t size() const {
    if (offset >= 0) return head.size();
    return head.size() + FieldHead(TensorProto::kRawDataFieldNumber, raw_size()).size() +
           raw_size();
  }
};

TensorProto HeadOf(const Initializer& initializer) {
  TensorProto head;
  head.set_name(initializer.name);
  head.set_data_type(OnnxTypeOf(initializer.value.type().dtype()));
  for (const DimExpr dim : initializer.value.type().dims()) head.add_dims(dim.constant());
  return head;
}

void AddExternal(std::string_view key, std::string value, TensorProto& head) {
  onnxpb::StringStringEntryProto& entry = *head.add_external_data();
  entry.set_key(std::string(key));
  entry.set_value(std::move(value));
}

// The same message always gives the same bytes.
std::string Serialized(const google::protobuf::MessageLite& message) {
  std::string text;
  google::protobuf::io::StringOutputStream stream(&text);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializeToCodedStream(&coded);
  return (coded.Trim(), text);
}

absl::Status WriteBytes(Attribute value, TextSink sink) {
  return ForEachPiece(value, [&](std::span<const std::byte> piece) {
    const std::shared_ptr<const Blob> blob =
        OnnxBytes(value.type().dtype(), Blob::Borrow(piece, nullptr));
    return sink({reinterpret_cast<const char*>(blob->bytes().data()), blob->size()});
  });
}

// The model, its graph and its weights, one behind the other.
absl::Status WriteModel(const ModelProto& model, const std::string& graph,
                        const std::vector<Tensor>& tensors, TextSink sink) {
  uint64_t size = graph.size();
  for (const Tensor& tensor : tensors) {
    size += FieldHead(onnxpb::GraphProto::kInitializerFieldNumber, tensor.size()).size() +
            tensor.size();
  }
  TENON_RETURN_IF_ERROR(sink(Serialized(model)));
  TENON_RETURN_IF_ERROR(sink(FieldHead(ModelProto::kGraphFieldNumber, size)));
  TENON_RETURN_IF_ERROR(sink(graph));
  for (const Tensor& tensor : tensors) {
    TENON_RETURN_IF_ERROR(
        sink(FieldHead(onnxpb::GraphProto::kInitializerFieldNumber, tensor.size())));
    TENON_RETURN_IF_ERROR(sink(tensor.head));
    if (tensor.offset >= 0) continue;
    TENON_RETURN_IF_ERROR(sink(FieldHead(TensorProto::kRawDataFieldNumber, tensor.raw_size())));
    TENON_RETURN_IF_ERROR(WriteBytes(tensor.value, sink));
  }
  return absl::OkStatus();
}

absl::Status WriteData(const std::vector<Tensor>& tensors, TextSink sink) {
  int64_t at = 0;
  for (const Tensor& tensor : tensors) {
    if (tensor.offset < 0) continue;
    TENON_RETURN_IF_ERROR(sink(std::string(static_cast<size_t>(tensor.offset - at), '\0')));
    TENON_RETURN_IF_ERROR(WriteBytes(tensor.value, sink));
    at = tensor.offset + BytesOf(tensor.value);
  }
  return absl::OkStatus();
}

// The function with the name of what it computes.
absl::StatusOr<onnxpb::FunctionProto> FunctionOf(const LocalFunction& function, int64_t opset) {
  Operation* const main = function.module->region().front().front();
  GraphWriter writer(main->context(), opset);
  onnxpb::GraphProto graph;
  TENON_RETURN_IF_ERROR(writer.Write(*main, graph));
  onnxpb::FunctionProto made;
  made.set_domain(std::string(kFunctionDomain));
  made.set_name(function.name);
  for (const onnxpb::ValueInfoProto& input : graph.input()) made.add_input(input.name());
  for (const onnxpb::ValueInfoProto& output : graph.output()) made.add_output(output.name());
  // A function has no initializers.
  for (const Initializer& initializer : writer.initializers()) {
    onnxpb::NodeProto& node = *made.add_node();
    node.set_op_type("Constant");
    node.set_name(initializer.name);
    node.add_output(initializer.name);
    onnxpb::AttributeProto& value = *node.add_attribute();
    value.set_name("value");
    value.set_type(onnxpb::AttributeProto::TENSOR);
    SetTensor(initializer.value, *value.mutable_t());
  }
  made.mutable_node()->MergeFrom(graph.node());
  onnxpb::OperatorSetIdProto& own = *made.add_opset_import();
  own.set_domain("");
  own.set_version(opset);
  return made;
}

// Adds the functions to a model, equal ones once. Returns the name of each.
absl::StatusOr<std::vector<std::string>> AddFunctions(const WriteOptions& options,
                                                      ModelProto& model) {
  std::vector<std::string> names;
  std::map<std::string, std::string> known;  // names by bytes
  std::map<std::string, int> counts;
  for (const LocalFunction& function : options.functions) {
    TENON_ASSIGN_OR_RETURN(onnxpb::FunctionProto made, FunctionOf(function, options.opset));
    std::string& name = known[Serialized(made)];
    if (name.empty()) {
      const int count = ++counts[function.name];
      name = count == 1 ? function.name : fmt::format("{}_{}", function.name, count);
      made.set_name(name);
      *model.add_functions() = std::move(made);
    }
    names.push_back(name);
  }
  return names;
}

void SetHead(const WriteOptions& options, const GraphWriter& writer, ModelProto& model) {
  const ModelInfo& info = options.info;
  const int64_t needed = options.functions.empty() ? 0 : kIrVersionOfFunctions;
  model.set_ir_version(std::max({info.ir_version, IrVersionOf(options.opset), needed}));
  model.set_producer_name("tenon");
  model.set_producer_version(options.producer_version);
  if (!info.domain.empty()) model.set_domain(info.domain);
  if (info.model_version != 0) model.set_model_version(info.model_version);
  if (!info.doc_string.empty()) model.set_doc_string(info.doc_string);
  onnxpb::OperatorSetIdProto& own = *model.add_opset_import();
  own.set_domain("");
  own.set_version(options.opset);
  for (const auto& [domain, version] : writer.domains()) {
    onnxpb::OperatorSetIdProto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  for (const auto& [key, value] : info.metadata) {
    onnxpb::StringStringEntryProto& entry = *model.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
}

// How the initializers are written; in `data`, a file beside the model, if it is named.
std::vector<Tensor> TensorsOf(const GraphWriter& writer, const std::string& data) {
  std::vector<Tensor> tensors;
  int64_t end = 0;
  for (const Initializer& initializer : writer.initializers()) {
    TensorProto head = HeadOf(initializer);
    const int64_t bytes = BytesOf(initializer.value);
    Tensor tensor{.head = "", .value = initializer.value};
    if (!data.empty() && bytes >= kLeastExternal) {
      tensor.offset = (end + kAlignment - 1) / kAlignment * kAlignment;
      end = tensor.offset + bytes;
      head.set_data_location(TensorProto::EXTERNAL);
      AddExternal("location", data, head);
      AddExternal("offset", fmt::format("{}", tensor.offset), head);
      AddExternal("length", fmt::format("{}", bytes), head);
    }
    tensor.head = Serialized(head);
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// The location of a file of weights as the model names it: relative to its folder.
absl::StatusOr<std::string> LocationOf(const std::string& data, const std::string& path,
                                       const WriteOptions& options) {
  const std::string model = ReplacedPath(path), file = ReplacedPath(data);
  if (file.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{}: weights are mapped from their file (expected a regular file)", data));
  }
  const size_t folder = model.rfind('/') + 1;
  if (model.empty() || file.substr(0, folder) != model.substr(0, folder)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: external data lies in the folder of its model, or in one below (expected "
                    "a file beside {})",
                    data, path));
  }
  if (file == model) {
    return absl::InvalidArgumentError(
        fmt::format("{}: is the model itself (expected another file for its weights)", data));
  }
  struct stat now = {};
  if (stat(file.c_str(), &now) == 0) {
    for (const SourceFile& source : options.sources) {
      if (source.device != now.st_dev || source.inode != now.st_ino) continue;
      return absl::InvalidArgumentError(
          fmt::format("{}: the model was read from this file, which another model may need "
                      "(expected a new file)",
                      data));
    }
  }
  return file.substr(folder);
}

}  // namespace

absl::Status WriteOnnx(const Operation& function, const std::string& path,
                       const WriteOptions& options) {
  onnxpb::GraphProto graph;
  graph.set_name(options.info.graph_name.empty() ? "main" : options.info.graph_name);
  ModelProto model;
  TENON_ASSIGN_OR_RETURN(std::vector<std::string> callees, AddFunctions(options, model));
  GraphWriter writer(function.context(), options.opset, std::move(callees));
  TENON_RETURN_IF_ERROR(writer.Write(function, graph));
  SetHead(options, writer, model);
  const std::string text = Serialized(graph);
  int64_t bytes = static_cast<int64_t>(text.size());
  for (const Initializer& initializer : writer.initializers()) bytes += BytesOf(initializer.value);
  std::string data = options.external_data, location;
  if (data.empty() && bytes > options.max_inline_bytes) data = path + ".data";
  if (!data.empty()) {
    if (path == "-") {
      return absl::InvalidArgumentError(
          "a model whose weights are in another file, as those of 2 GiB or more are, cannot be "
          "written to standard output (expected -o FILE)");
    }
    TENON_ASSIGN_OR_RETURN(location, LocationOf(data, path, options));
  }
  const std::vector<Tensor> tensors = TensorsOf(writer, location);
  if (!data.empty()) {
    TENON_RETURN_IF_ERROR(WriteFile(data, [&](TextSink sink) { return WriteData(tensors, sink); }));
  }
  const auto write = [&](TextSink sink) { return WriteModel(model, text, tensors, sink); };
  if (path != "-") return WriteFile(path, write);
  return write(
      [](std::string_view piece) { return WriteAll(STDOUT_FILENO, piece, "standard output"); });
}

}  // namespace tenon::onnx
