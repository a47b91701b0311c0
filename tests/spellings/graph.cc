#include "tests/spellings/graph.h"

#include <cmath>
#include <numeric>

#include "kernels/half.h"

namespace tenon::spellings {
namespace {

int32_t OnnxType(DType dtype) {
  switch (dtype) {
    case DType::kF16:
      return onnxpb::TensorProto::FLOAT16;
    case DType::kF64:
      return onnxpb::TensorProto::DOUBLE;
    case DType::kI64:
      return onnxpb::TensorProto::INT64;
    case DType::kI32:
      return onnxpb::TensorProto::INT32;
    case DType::kBool:
      return onnxpb::TensorProto::BOOL;
    default:
      return onnxpb::TensorProto::FLOAT;
  }
}

void Write(DType dtype, double value, size_t i, void* data) {
  switch (dtype) {
    case DType::kF16:
      static_cast<uint16_t*>(data)[i] = kernels::Half(value).bits;
      break;
    case DType::kF64:
      static_cast<double*>(data)[i] = value;
      break;
    case DType::kI64:
      static_cast<int64_t*>(data)[i] = static_cast<int64_t>(value);
      break;
    case DType::kI32:
      static_cast<int32_t*>(data)[i] = static_cast<int32_t>(value);
      break;
    case DType::kBool:
      static_cast<uint8_t*>(data)[i] = value != 0;
      break;
    default:
      static_cast<float*>(data)[i] = static_cast<float>(value);
  }
}

void SetAttribute(onnxpb::AttributeProto& to, const std::string& name, const Attribute& value) {
  using onnxpb::AttributeProto;
  to.set_name(name);
  if (const auto* i = std::get_if<int64_t>(&value)) {
    to.set_type(AttributeProto::INT);
    to.set_i(*i);
  } else if (const auto* f = std::get_if<double>(&value)) {
    to.set_type(AttributeProto::FLOAT);
    to.set_f(static_cast<float>(*f));
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    to.set_type(AttributeProto::STRING);
    to.set_s(*s);
  } else {
    const Ints& ints = std::get<Ints>(value);
    to.set_type(AttributeProto::INTS);
    to.mutable_ints()->Assign(ints.begin(), ints.end());
  }
}

int64_t Product(const Ints& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

}  // namespace

Graph::Graph(const Style& style) : style_(style), graph_(*model_.mutable_graph()) {
  model_.set_ir_version(8);
  model_.add_opset_import()->set_version(style.opset);
  graph_.set_name("spelling");
}

V Graph::In(const std::vector<Extent>& shape) { return In(shape, dtype()); }

V Graph::In(const std::vector<Extent>& shape, DType dtype) {
  V value(Fresh());
  onnxpb::ValueInfoProto& info = *graph_.add_input();
  info.set_name(value.name);
  auto& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(OnnxType(dtype));
  Ints extents;
  for (const Extent& extent : shape) {
    auto& dim = *type.mutable_shape()->add_dim();
    if (extent.name.empty()) {
      dim.set_dim_value(extent.value);
    } else {
      dim.set_dim_param(extent.name);
    }
    extents.push_back(extent.value);
  }
  Tensor tensor = Tensor::Make(dtype, extents);
  std::uniform_real_distribution<double> draw(-3, 3);
  for (int64_t i = 0; i < tensor.numel(); ++i)
    Write(dtype, draw(random_), static_cast<size_t>(i), tensor.data());
  inputs_.push_back(std::move(tensor));
  return value;
}

V Graph::Ids(const std::vector<Extent>& shape, int64_t limit) {
  V value = In(shape, DType::kI64);
  Tensor& tensor = inputs_.back();
  for (int64_t i = 0; i < tensor.numel(); ++i)
    tensor.as<int64_t>()[i] = std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  return value;
}

V Graph::Initializer(DType dtype, const Ints& shape, const std::vector<double>& values) {
  V value(Fresh());
  onnxpb::TensorProto& tensor = *graph_.add_initializer();
  tensor.set_name(value.name);
  tensor.set_data_type(OnnxType(dtype));
  tensor.mutable_dims()->Assign(shape.begin(), shape.end());
  std::string bytes(values.size() * SizeOf(dtype), '\0');
  for (size_t i = 0; i < values.size(); ++i) Write(dtype, values[i], i, bytes.data());
  tensor.set_raw_data(bytes);
  return value;
}

V Graph::Param(const Ints& shape, double low, double high) {
  std::vector<double> values(static_cast<size_t>(Product(shape)));
  std::uniform_real_distribution<double> draw(low, high);
  for (double& value : values) value = draw(random_);
  return Initializer(dtype(), shape, values);
}

V Graph::Fill(const Ints& shape, double value) {
  return Initializer(dtype(), shape,
                     std::vector<double>(static_cast<size_t>(Product(shape)), value));
}

V Graph::Index(const Ints& values, bool scalar) {
  return Initializer(DType::kI64, scalar ? Ints{} : Ints{static_cast<int64_t>(values.size())},
                     {values.begin(), values.end()});
}

V Graph::Number(double value, DType dtype) {
  switch (style_.form) {
    case Style::Form::kScalar:
      return Initializer(dtype, {}, {value});
    case Style::Form::kVector:
      return Initializer(dtype, {1}, {value});
    case Style::Form::kMatrix:
      return Initializer(dtype, {1, 1}, {value});
    case Style::Form::kComputed:
      return Op("Cast", {Initializer(DType::kF64, {}, {value})},
                {{"to", int64_t{OnnxType(dtype)}}});
    case Style::Form::kNode:
      break;
  }
  V result(Fresh());
  onnxpb::NodeProto& node = *graph_.add_node();
  node.set_op_type("Constant");
  node.add_output(result.name);
  onnxpb::AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnxpb::AttributeProto::TENSOR);
  std::string bytes(SizeOf(dtype), '\0');
  Write(dtype, value, 0, bytes.data());
  attribute.mutable_t()->set_data_type(OnnxType(dtype));
  attribute.mutable_t()->set_raw_data(bytes);
  return result;
}

void Graph::Out(const V& value) { graph_.add_output()->set_name(value.name); }

V Graph::Op(const std::string& type, const std::vector<V>& inputs, const Attributes& attributes) {
  return Ops(type, inputs, 1, attributes)[0];
}

std::vector<V> Graph::Ops(const std::string& type, const std::vector<V>& inputs, int results,
                          const Attributes& attributes) {
  std::vector<std::string> names;
  for (const V& input : inputs)
    names.push_back(input.is_number ? Number(input.number, dtype()).name : input.name);
  onnxpb::NodeProto& node = *graph_.add_node();
  const size_t domain = type.find("::");
  if (domain != std::string::npos) {
    node.set_domain(type.substr(0, domain));
    if (model_.opset_import_size() == 1) {
      model_.add_opset_import()->set_domain(node.domain());
      model_.mutable_opset_import(1)->set_version(1);
    }
  }
  node.set_op_type(domain == std::string::npos ? type : type.substr(domain + 2));
  node.set_name(type + "_" + std::to_string(counter_));
  for (const std::string& name : names) node.add_input(name);
  std::vector<V> out;
  for (int i = 0; i < results; ++i) {
    out.emplace_back(Fresh());
    node.add_output(out.back().name);
  }
  for (const auto& [name, value] : attributes) SetAttribute(*node.add_attribute(), name, value);
  return out;
}

V Graph::WithAxes(const std::string& type, const V& x, const Ints& axes, int since,
                  Attributes attributes) {
  if (style_.opset >= since) return Op(type, {x, Index(axes)}, attributes);
  attributes.emplace_back("axes", axes);
  return Op(type, {x}, attributes);
}

V Graph::Reduce(const std::string& type, const V& x, Ints axes, int rank, bool keepdims) {
  for (int64_t& axis : axes) axis = style_.positive_axes ? axis + rank : axis;
  return WithAxes(type, x, axes, type == "ReduceSum" ? 13 : 18, {{"keepdims", int64_t{keepdims}}});
}

V Graph::Slice(const V& x, int64_t start, int64_t end, int64_t axis) {
  return Op("Slice", {x, Index({start}), Index({end}), Index({axis}), Index({1})});
}

std::vector<V> Graph::Halves(const V& x, int64_t axis, int64_t extent) {
  if (style_.opset >= 18)
    return Ops("Split", {x}, 2, {{"axis", axis}, {"num_outputs", int64_t{2}}});
  if (style_.opset >= 13)
    return Ops("Split", {x, Index({extent / 2, extent / 2})}, 2, {{"axis", axis}});
  return Ops("Split", {x}, 2, {{"axis", axis}});
}

V Graph::Cast(const V& x, DType to) { return Op("Cast", {x}, {{"to", int64_t{OnnxType(to)}}}); }

}  // namespace tenon::spellings
