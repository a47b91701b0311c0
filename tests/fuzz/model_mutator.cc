#include "tests/fuzz/model_mutator.h"

#include <algorithm>

#include "ir/base/check.h"

namespace tenon::fuzz {
namespace {

constexpr size_t kLargeWeight = 64;

}  // namespace

ModelMutator::ModelMutator(const std::string& bytes, uint32_t seed) : random_(seed) {
  TENON_CHECK(original_.ParseFromString(bytes));
  onnxpb::ModelProto skeleton = original_;
  for (onnxpb::TensorProto& tensor : *skeleton.mutable_graph()->mutable_initializer()) {
    if (tensor.raw_data().size() < kLargeWeight) continue;
    weights_[tensor.name()] = tensor.raw_data();
    tensor.clear_raw_data();
  }
  skeleton_ = skeleton.SerializeAsString();
}

std::string ModelMutator::Next() { return Below(2) == 0 ? ChangedBytes() : ChangedMessage(); }

std::string ModelMutator::ChangedBytes() {
  std::string bytes = skeleton_;
  for (size_t changes = 1 + Below(2); changes > 0; --changes) {
    const size_t at = Below(bytes.size());
    switch (Below(5)) {
      case 0:
        bytes[at] = static_cast<char>(Below(256));
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << Below(8)));
        break;
      case 2:
        bytes.erase(at, 1 + Below(4));
        break;
      case 3:
        bytes.insert(at, 1, static_cast<char>(Below(256)));
        break;
      default:
        bytes[at] = static_cast<char>(Below(2) == 0 ? 0xff : 0x00);
    }
  }
  if (Below(40) == 0) bytes.resize(Below(bytes.size()));
  onnxpb::ModelProto model;
  if (!model.ParseFromString(bytes)) return bytes;
  for (onnxpb::TensorProto& tensor : *model.mutable_graph()->mutable_initializer()) {
    const auto it = weights_.find(tensor.name());
    if (it != weights_.end() && tensor.raw_data().empty()) tensor.set_raw_data(it->second);
  }
  return model.SerializeAsString();
}

std::string ModelMutator::ChangedMessage() {
  onnxpb::ModelProto model = original_;
  for (size_t changes = 1 + Below(2); changes > 0; --changes) ChangeNode(*model.mutable_graph());
  return model.SerializeAsString();
}

void ModelMutator::ChangeNode(onnxpb::GraphProto& graph) {
  const auto any = [this](int size) {
    return static_cast<int>(Below(static_cast<size_t>(std::max(size, 1))));
  };
  if (graph.node_size() == 0) return;
  onnxpb::NodeProto& node = *graph.mutable_node(any(graph.node_size()));
  const onnxpb::NodeProto other = graph.node(any(graph.node_size()));
  switch (Below(9)) {
    case 0:
      if (node.input_size() == 0 || other.output_size() == 0) break;
      node.set_input(any(node.input_size()), other.output(0));
      break;
    case 1:
      node.set_op_type(other.op_type());
      break;
    case 2:
      *node.mutable_attribute() = other.attribute();
      break;
    case 3:
      if (node.input_size() > 0) node.mutable_input()->RemoveLast();
      break;
    case 4:
      *node.mutable_input() = other.input();
      break;
    case 5: {
      if (node.attribute_size() == 0) break;
      onnxpb::AttributeProto& attribute = *node.mutable_attribute(any(node.attribute_size()));
      attribute.set_i(Below(4) == 0 ? INT64_MIN : any(9) - 4);
      for (int k = 0; k < attribute.ints_size(); ++k) attribute.set_ints(k, any(9) - 4);
      break;
    }
    case 6:
      if (node.input_size() < 2) break;
      node.mutable_input()->SwapElements(any(node.input_size()), any(node.input_size()));
      break;
    case 7: {  // an extent of an input
      if (graph.input_size() == 0) break;
      auto* shape = graph.mutable_input(any(graph.input_size()))
                        ->mutable_type()
                        ->mutable_tensor_type()
                        ->mutable_shape();
      if (shape->dim_size() > 0) shape->mutable_dim(any(shape->dim_size()))->set_dim_value(any(9));
      break;
    }
    default:
      if (graph.initializer_size() == 0) break;
      graph.mutable_initializer(any(graph.initializer_size()))->set_data_type(any(30));
  }
}

}  // namespace tenon::fuzz
