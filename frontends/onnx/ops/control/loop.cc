// Loop.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "frontends/onnx/ops/control/loop_body.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;

bool IsTrue(Value value) {
  const core::ConstantOp constant = DefinedBy<core::ConstantOp>(value);
  return constant && constant.value().ElementAsInt(0) != 0;
}

// Carried values of Loop's body: its condition, then the model's.
constexpr unsigned kCondition = 0;

// What a Loop node says, with the absent parts filled in.
struct LoopParams {
  Value trips;      // null: no bound
  Value condition;  // at the start; a constant if the node has none
  LoopSpec spec;
  // For each carried value of the model its type, if it is a sequence or an optional value.
  std::vector<std::optional<ContainerType>> containers;
};

// Sets what is carried at first, and for a container the types that it has in all iterations.
absl::Status CarryContainer(Node& node, int input, const onnxpb::ValueInfoProto& declared,
                            LoopParams& params) {
  SequenceFormula formula(node);
  ContainerType type = *Unwrap(node.input(input));
  type.element = LooseElement(type.element);
  // A carried value that is a sequence at first may be an optional one later. What the body
  // declares also tells the rank where there is no element at first.
  const auto expected = node.importer().ConvertContainer(declared.type());
  if (expected && expected->kind != type.kind) {
    const auto joined = JoinContainers(type, {expected->kind, type.dtype, type.element});
    if (joined) type = *joined;
  }
  if (expected && !type.element && expected->dtype == type.dtype) type.element = expected->element;
  for (const std::string& name : PackedNames(declared.name(), type)) {
    params.spec.names.push_back(name);
  }
  for (const Value part : formula.PackedAs(node.input(input), type)) {
    params.spec.inits.push_back(part);
  }
  params.containers.back() = type;
  return formula.status();
}

// The values that the model's graph sees of the tensors that are carried, or of those at the end.
std::vector<Value> WrapCarried(Node& node, OpBuilder& builder, const LoopParams& params,
                               std::span<const Value> tensors) {
  std::vector<Value> values;
  for (const std::optional<ContainerType>& type : params.containers) {
    const size_t count = type ? PackedTypes(node.context(), *type).size() : 1;
    values.push_back(type ? Wrap(builder, node.location(), FromPacked(*type, tensors.first(count)))
                          : tensors.front());
    tensors = tensors.subspan(count);
  }
  values.insert(values.end(), tensors.begin(), tensors.end());
  return values;
}

// The tensors that are carried on of the outputs of the body, and those that are stacked. Notes in
// `params` what a sequence holds from now on.
absl::StatusOr<std::vector<Value>> UnwrapCarried(Node& node, OpBuilder& builder,
                                                 std::span<const Value> outputs, bool& again,
                                                 LoopParams& params) {
  const InsertionScope scope(node, builder);
  SequenceFormula formula(node);
  std::vector<Value> tensors;
  for (size_t i = 0; i < outputs.size(); ++i) {
    // Output 0 is the condition.
    const bool carried = i > 0 && i <= params.containers.size() && params.containers[i - 1];
    if (!carried) {
      tensors.push_back(outputs[i]);
      continue;
    }
    ContainerType& type = *params.containers[i - 1];
    const std::optional<Container> next = Unwrap(outputs[i]);
    const auto joined = next ? JoinContainers(type, *next)
                        : outputs[i].type().is_tensor()
                            ? JoinContainers(type, OptionalOf(outputs[i].type()))
                            : std::nullopt;
    if (!joined || joined->kind != type.kind) {
      return node.Unsupported(
          fmt::format("a carried value that is {} at first and {} later", type.text(),
                      next ? next->text() : outputs[i].type().text()),
          "the same kind of value in each iteration");
    }
    const Type element = LooseElement(joined->element);
    again |= element != type.element;
    type.element = element;
    for (const Value part : formula.PackedAs(outputs[i], type)) tensors.push_back(part);
  }
  if (!formula.ok()) return formula.status();
  return tensors;
}

absl::StatusOr<LoopParams> ReadLoop(Node& node, const GraphProto& body) {
  LoopParams params;
  if (node.input(0)) {
    TENON_ASSIGN_OR_RETURN(params.trips, ToScalar(node, node.input(0)));
    if (params.trips.type().dtype() != DType::kI64) {
      return node.Error(
          fmt::format("the trip count of Loop must be i64, got {}", params.trips.type().text()));
    }
  }
  if (node.input(1)) {
    TENON_ASSIGN_OR_RETURN(params.condition, ToScalar(node, node.input(1)));
    if (params.condition.type().dtype() != DType::kBool) {
      return node.Error(fmt::format("the condition of Loop must be a boolean, got {}",
                                    params.condition.type().text()));
    }
  } else {
    TENON_ASSIGN_OR_RETURN(params.condition, node.MakeScalar(DType::kBool, 1));
  }
  LoopSpec& spec = params.spec;
  const int num_carried = std::max(node.num_inputs() - 2, 0);
  if (body.input_size() != 2 + num_carried) {
    return node.Error(fmt::format("the body of Loop has {} inputs, expected {}", body.input_size(),
                                  2 + num_carried));
  }
  if (body.output_size() < 1 + num_carried || node.num_outputs() > body.output_size() - 1) {
    return node.Error(fmt::format("the body of Loop has {} outputs, expected {}",
                                  body.output_size(),
                                  1 + std::max(num_carried, node.num_outputs())));
  }
  spec.inits.push_back(params.condition);
  spec.names.push_back(body.input(1).name());
  for (int i = 0; i < num_carried; ++i) {
    if (!node.input(2 + i)) return node.Error(fmt::format("input {} of Loop is missing", 2 + i));
    params.containers.emplace_back();
    if (Unwrap(node.input(2 + i))) {
      TENON_RETURN_IF_ERROR(CarryContainer(node, 2 + i, body.input(2 + i), params));
      continue;
    }
    spec.inits.push_back(node.input(2 + i));
    spec.names.push_back(body.input(2 + i).name());
  }
  spec.scans.resize(static_cast<size_t>(body.output_size() - 1 - num_carried));
  spec.body_nodes = body.node_size();
  return params;
}

absl::Status SetOutputs(Node& node, const LoopParams& params, std::span<const Value> results) {
  const std::vector<Value> values = WrapCarried(node, node.builder(), params, results);
  for (int i = 0; i < node.num_outputs(); ++i) node.SetOutput(i, values[static_cast<size_t>(i)]);
  return absl::OkStatus();
}

// Every run wants another one.
bool AlwaysContinues(Operation* loop) {
  const Block& body = loop->region().front();
  const Value next = body.back()->operand(kCondition);
  return IsTrue(loop->operand(3 + kCondition)) &&
         (IsTrue(next) || next == body.argument(1 + kCondition));
}

std::vector<Value> ResultsFrom(Operation* op, unsigned first) {
  std::vector<Value> results;
  for (unsigned i = first; i < op->num_results(); ++i) results.push_back(op->result(i));
  return results;
}

// The loop without its condition, which is true. Returns its results.
absl::StatusOr<std::vector<Value>> DropCondition(Node& node, Operation* loop) {
  Block& body = loop->region().front();
  Value condition = body.argument(1 + kCondition);
  condition.ReplaceAllUsesWith(loop->operand(3 + kCondition));
  body.back()->EraseOperand(kCondition);
  body.EraseArgument(1 + kCondition);
  const std::vector<Value> inits = ctl::ForOp(loop).inits();
  std::vector<Type> types;
  for (unsigned i = 1; i < loop->num_results(); ++i) types.push_back(loop->result(i).type());
  const std::vector<LoopScan> scans = PartsOfLoop(*loop).scans;
  TENON_ASSIGN_OR_RETURN(
      ctl::ForOp made,
      ctl::ForOp::Create(node.builder(), node.location(), loop->operand(0), loop->operand(1),
                         loop->operand(2), std::span(inits).subspan(1),
                         std::span<const Type>(types), ScanAttrs<ctl::ForOp::Attrs>(scans)));
  made.body().TakeBody(loop->region());
  node.importer().Erase(loop);
  node.importer().Register(made.op());
  return ResultsFrom(made.op(), 0);
}

}  // namespace

// The ctl.while carries the counter, too.
absl::StatusOr<std::vector<Value>> ToWhile(Node& node, Operation* loop, Value trips) {
  Context& context = node.context();
  const std::vector<Value> carried = ctl::ForOp(loop).inits();
  std::vector<Value> inits = {loop->operand(0)};
  inits.insert(inits.end(), carried.begin(), carried.end());
  const Type counter_type = Type::Tensor(context, DType::kI64, std::span<const int64_t>());
  std::vector<Type> types = {counter_type};
  for (unsigned i = 0; i < loop->num_results(); ++i) types.push_back(loop->result(i).type());
  const std::vector<LoopScan> scans = PartsOfLoop(*loop).scans;
  TENON_ASSIGN_OR_RETURN(
      ctl::WhileOp made,
      ctl::WhileOp::Create(node.builder(), node.location(), inits, std::span<const Type>(types),
                           ScanAttrs<ctl::WhileOp::Attrs>(scans)));
  Block& body = loop->region().front();

  Block* before = made.before().AddBlock();
  std::vector<Value> passed;
  for (unsigned i = 0; i < body.num_arguments(); ++i) {
    passed.push_back(before->AddArgument(body.argument(i).type(), body.argument(i).location()));
  }
  OpBuilder builder = OpBuilder::AtEnd(context, before);
  Value more = passed[1 + kCondition];
  if (trips) {
    TENON_ASSIGN_OR_RETURN(const ten::LessOp less,
                           ten::LessOp::Create(builder, node.location(), passed[0], trips));
    TENON_ASSIGN_OR_RETURN(const ten::AndOp both,
                           ten::AndOp::Create(builder, node.location(), less.out(), more));
    more = both.out();
  }
  TENON_RETURN_IF_ERROR(ctl::ConditionOp::Create(builder, node.location(), more, passed).status());

  Operation* yield = body.back();
  std::vector<Value> yielded;
  builder = OpBuilder::Before(yield);
  TENON_ASSIGN_OR_RETURN(
      const ten::AddOp next,
      ten::AddOp::Create(builder, node.location(), body.argument(0), loop->operand(2)));
  yielded.push_back(next.out());
  for (OpOperand& operand : yield->operands()) yielded.push_back(operand.get());
  TENON_RETURN_IF_ERROR(ctl::YieldOp::Create(builder, node.location(), yielded).status());
  yield->Erase();
  made.after().TakeBody(loop->region());
  node.importer().Erase(loop);
  node.importer().Register(made.op());
  return ResultsFrom(made.op(), 2);
}

absl::Status ImportLoop(Node& node) {
  TENON_ASSIGN_OR_RETURN(const GraphProto* body, node.Graph("body"));
  TENON_ASSIGN_OR_RETURN(LoopParams params, ReadLoop(node, *body));
  LoopSpec& spec = params.spec;
  TENON_ASSIGN_OR_RETURN(spec.lower, node.MakeScalar(DType::kI64, 0));
  TENON_ASSIGN_OR_RETURN(spec.step, node.MakeScalar(DType::kI64, 1));
  // Without a bound the body is imported under a loop that only holds it until ToWhile.
  spec.upper = params.trips ? params.trips : spec.lower;
  bool again = false;
  spec.again = &again;
  spec.run = [&](OpBuilder& builder, Value counter,
                 std::span<const Value> carried) -> absl::StatusOr<std::vector<Value>> {
    std::vector<Value> inputs = {counter, carried[kCondition]};
    for (const Value value : WrapCarried(node, builder, params, carried.subspan(1))) {
      inputs.push_back(value);
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Value> outputs, node.ImportGraph(*body, inputs, builder));
    TENON_ASSIGN_OR_RETURN(outputs, UnwrapCarried(node, builder, outputs, again, params));
    Value& next = outputs[kCondition];
    if (next.type().is_tensor() && next.type().rank() > 0) {
      TENON_ASSIGN_OR_RETURN(const ten::ReshapeOp scalar,
                             ten::ReshapeOp::Create(builder, node.location(), next, {.shape = {}}));
      next = scalar.out();
    }
    return outputs;
  };
  TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node, node.builder(), spec));
  if (AlwaysContinues(loop)) {
    if (!params.trips)
      return node.Unsupported("neither a trip count nor a condition that can end it",
                              "one of both");
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> results, DropCondition(node, loop));
    return SetOutputs(node, params, results);
  }
  // How often it runs is not known.
  for (unsigned i = static_cast<unsigned>(spec.inits.size()); i < loop->num_results(); ++i) {
    const Type type = loop->result(i).type();
    std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
    dims[0] = DimExpr::Unknown(node.context());
    loop->result(i).set_type(
        Type::Tensor(node.context(), type.dtype(), std::span<const DimExpr>(dims)));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> results, ToWhile(node, loop, params.trips));
  return SetOutputs(node, params, results);
}

}  // namespace tenon::onnx
