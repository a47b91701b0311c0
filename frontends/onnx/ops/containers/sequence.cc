// Sequences of tensors.
#include <fmt/format.h>

#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "frontends/onnx/ops/control/loop_body.h"
#include "ir/base/check.h"
#include "ir/dialect/ctl_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;

// A SequenceMap over more elements becomes a loop.
constexpr size_t kMaxUnrolled = 64;

absl::StatusOr<Container> SequenceInput(const Node& node, int i) {
  if (const std::optional<Container> c = Unwrap(node.input(i));
      c && c->kind == ContainerType::Kind::kSequence) {
    return *c;
  }
  return node.Error(fmt::format("input {} of {} must be a sequence", i, node.op_type()));
}

absl::Status TensorInput(const Node& node, int i) {
  if (!node.input(i) || node.input(i).type().is_tensor()) return absl::OkStatus();
  return node.Error(fmt::format("input {} of {} must be a tensor", i, node.op_type()));
}

// A position: one integer.
absl::Status PositionInput(const Node& node, int i) {
  TENON_RETURN_IF_ERROR(TensorInput(node, i));
  if (!node.input(i)) return absl::OkStatus();
  const Type type = node.input(i).type();
  if (IsInt(type.dtype()) && (!type.is_static() || type.num_elements() == 1)) {
    return absl::OkStatus();
  }
  return node.Error(
      fmt::format("the position of {} must be one integer, got {}", node.op_type(), type.text()));
}

absl::StatusOr<DType> ElementType(const Node& node, int64_t onnx_type) {
  const DType dtype = onnx_type == static_cast<int32_t>(onnx_type)
                          ? DTypeOf(static_cast<int32_t>(onnx_type))
                          : DType::kInvalid;
  if (dtype != DType::kInvalid) return dtype;
  return node.Unsupported(
      fmt::format("elements of {}", OnnxTypeName(static_cast<int32_t>(onnx_type))),
      "booleans, floats of 16 to 64 bits or integers of 8 to 64 bits");
}

// What `apply` makes of a sequence and a position in it. The node has `least` inputs or 2.
template <typename Result, typename Sequence>
absl::Status ImportAtPosition(Node& node, int least,
                              Result (SequenceFormula::*apply)(Sequence, Value)) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(least, 2));
  TENON_ASSIGN_OR_RETURN(const Container sequence, SequenceInput(node, 0));
  TENON_RETURN_IF_ERROR(PositionInput(node, 1));
  SequenceFormula formula(node);
  return formula.Return((formula.*apply)(sequence, node.input(1)));
}

}  // namespace

absl::Status ImportSequenceConstruct(Node& node) {
  if (node.num_inputs() == 0) return node.Error("SequenceConstruct needs an input");
  Container list;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.input(i))
      return node.Error(fmt::format("input {} of SequenceConstruct is missing", i));
    const Type type = node.input(i).type();
    if (i == 0) list.dtype = type.dtype();
    if (type.dtype() != list.dtype) {
      return node.Error(fmt::format("SequenceConstruct of {} and {} (expected one element type)",
                                    Name(list.dtype), Name(type.dtype())));
    }
    list.element = JoinElements(list.element, type);
    list.parts.push_back(node.input(i));
  }
  return node.Return(Wrap(node.builder(), node.location(), list));
}

absl::Status ImportSequenceEmpty(Node& node) {
  TENON_ASSIGN_OR_RETURN(const int64_t type, node.Int("dtype", onnxpb::TensorProto::FLOAT));
  Container list;
  TENON_ASSIGN_OR_RETURN(list.dtype, ElementType(node, type));
  return node.Return(Wrap(node.builder(), node.location(), list));
}

absl::Status ImportSequenceLength(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const Container sequence, SequenceInput(node, 0));
  SequenceFormula formula(node);
  return formula.Return(formula.Length(sequence));
}

absl::Status ImportSequenceAt(Node& node) {
  return ImportAtPosition(node, 2, &SequenceFormula::At);
}

absl::Status ImportSequenceInsert(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 3));
  TENON_ASSIGN_OR_RETURN(const Container sequence, SequenceInput(node, 0));
  TENON_RETURN_IF_ERROR(TensorInput(node, 1));
  TENON_RETURN_IF_ERROR(PositionInput(node, 2));
  SequenceFormula formula(node);
  return formula.Return(formula.Insert(sequence, node.input(1), node.input(2)));
}

absl::Status ImportSequenceErase(Node& node) {
  return ImportAtPosition(node, 1, &SequenceFormula::Erase);
}

absl::Status ImportConcatFromSequence(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const Container sequence, SequenceInput(node, 0));
  if (node.Find("axis") == nullptr) return node.Error("ConcatFromSequence needs an axis");
  TENON_ASSIGN_OR_RETURN(const int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(const bool new_axis, node.Flag("new_axis", false));
  SequenceFormula formula(node);
  return formula.Return(formula.Join(sequence, axis, new_axis));
}

absl::Status ImportSplitToSequence(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 2));
  const Value x = node.input(0), sizes = node.input(1);
  TENON_ASSIGN_OR_RETURN(int64_t axis, node.Int("axis", 0));
  TENON_ASSIGN_OR_RETURN(axis, node.Axis(axis, x.type().rank()));
  TENON_ASSIGN_OR_RETURN(const bool keep, node.Flag("keepdims", true));
  if (sizes && (!IsInt(sizes.type().dtype()) || sizes.type().rank() > 1)) {
    return node.Error(
        fmt::format("the sizes of SplitToSequence must be integers, one or a vector, "
                    "got {}",
                    sizes.type().text()));
  }
  SequenceFormula formula(node);
  return formula.Return(formula.Split(x, axis, sizes, keep));
}

namespace {

// What a SequenceMap reads: sequences, of which its graph gets the elements, and tensors.
struct MapInputs {
  std::vector<std::optional<Container>> sequences;  // nullopt: a tensor
  const GraphProto* body = nullptr;

  // All sequences are lists.
  bool known() const {
    for (const auto& sequence : sequences) {
      if (sequence && sequence->form != Container::Form::kList) return false;
    }
    return sequences[0]->parts.size() <= kMaxUnrolled;
  }
};

// The inputs of the graph at a position.
std::vector<Value> ElementsAt(const Node& node, const MapInputs& inputs, Value position,
                              SequenceFormula& formula) {
  std::vector<Value> values;
  for (int i = 0; i < node.num_inputs(); ++i) {
    const std::optional<Container>& sequence = inputs.sequences[static_cast<size_t>(i)];
    values.push_back(sequence ? formula.At(*sequence, position) : node.input(i));
  }
  return values;
}

absl::Status Append(const Node& node, std::span<const Value> values,
                    std::vector<Container>& outputs, SequenceFormula& formula) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!values[i].type().is_tensor()) {
      return node.Unsupported(fmt::format("elements of type {}", values[i].type().text()),
                              "tensors of known rank");
    }
    outputs[i] = formula.Insert(outputs[i], values[i], Value());
  }
  return formula.status();
}

absl::Status MapNow(Node& node, const MapInputs& inputs, std::vector<Container>& outputs) {
  SequenceFormula formula(node);
  const auto count = static_cast<int64_t>(inputs.sequences[0]->parts.size());
  for (int64_t i = 0; i < count; ++i) {
    TENON_ASSIGN_OR_RETURN(const Value position,
                           node.MakeScalar(DType::kI64, static_cast<double>(i)));
    const std::vector<Value> elements = ElementsAt(node, inputs, position, formula);
    TENON_RETURN_IF_ERROR(formula.status());
    TENON_RETURN_IF_ERROR(node.importer().CountRepeats(inputs.body->node_size(), node.location()));
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> made,
                           node.ImportGraph(*inputs.body, elements, node.builder()));
    TENON_RETURN_IF_ERROR(Append(node, made, outputs, formula));
  }
  return absl::OkStatus();
}

absl::Status MapInLoop(Node& node, const MapInputs& inputs, std::vector<Container>& outputs) {
  SequenceFormula formula(node);
  LoopSpec spec;
  spec.lower = formula.formula().Scalar(DType::kI64, 0);
  spec.step = formula.formula().Scalar(DType::kI64, 1);
  spec.upper = formula.Length(*inputs.sequences[0]);
  spec.body_nodes = inputs.body->node_size();
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputs[i] = formula.Packed(outputs[i]);
    for (const Value part : outputs[i].parts) spec.inits.push_back(part);
    for (const std::string& name :
         PackedNames(inputs.body->output(static_cast<int>(i)).name(), outputs[i])) {
      spec.names.push_back(name);
    }
  }
  TENON_RETURN_IF_ERROR(formula.status());
  spec.run = [&](OpBuilder& builder, Value counter,
                 std::span<const Value> carried) -> absl::StatusOr<std::vector<Value>> {
    const InsertionScope scope(node, builder);
    SequenceFormula inner(node);
    const std::vector<Value> elements = ElementsAt(node, inputs, counter, inner);
    TENON_RETURN_IF_ERROR(inner.status());
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> made,
                           node.ImportGraph(*inputs.body, elements, builder));
    for (size_t i = 0; i < outputs.size(); ++i) {
      outputs[i] = FromPacked(outputs[i], carried.subspan(3 * i, 3));
    }
    TENON_RETURN_IF_ERROR(Append(node, made, outputs, inner));
    std::vector<Value> next;
    for (const Container& output : outputs) {
      next.insert(next.end(), output.parts.begin(), output.parts.end());
    }
    return next;
  };
  TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node, node.builder(), spec));
  node.importer().Register(loop);
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::vector<Value> parts;
    for (size_t k = 0; k < 3; ++k) parts.push_back(loop->result(static_cast<unsigned>(3 * i + k)));
    outputs[i] = FromPacked(outputs[i], parts);
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ImportSequenceMap(Node& node) {
  if (node.num_inputs() == 0) return node.Error("SequenceMap needs a sequence");
  MapInputs inputs;
  TENON_ASSIGN_OR_RETURN(inputs.body, node.Graph("body"));
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.input(i)) return node.Error(fmt::format("input {} of SequenceMap is missing", i));
    const bool is_tensor = i > 0 && node.input(i).type().is_tensor();
    inputs.sequences.emplace_back();
    if (is_tensor) continue;
    TENON_ASSIGN_OR_RETURN(inputs.sequences.back(), SequenceInput(node, i));
  }
  if (inputs.body->output_size() < node.num_outputs()) {
    return node.Error(fmt::format("the body of SequenceMap has {} outputs, expected {}",
                                  inputs.body->output_size(), node.num_outputs()));
  }
  std::vector<Container> outputs(static_cast<size_t>(node.num_outputs()));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto& declared = inputs.body->output(static_cast<int>(i)).type().tensor_type();
    TENON_ASSIGN_OR_RETURN(outputs[i].dtype, ElementType(node, declared.elem_type()));
  }
  TENON_RETURN_IF_ERROR(inputs.known() ? MapNow(node, inputs, outputs)
                                       : MapInLoop(node, inputs, outputs));
  for (size_t i = 0; i < outputs.size(); ++i) {
    node.SetOutput(static_cast<int>(i), Wrap(node.builder(), node.location(), outputs[i]));
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
