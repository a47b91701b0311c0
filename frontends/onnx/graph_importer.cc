#include "frontends/onnx/graph_importer.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/node.h"
#include "frontends/onnx/ops/adapters.h"
#include "frontends/onnx/ops/containers/containers.h"
#include "frontends/onnx/ops/containers/strings.h"
#include "frontends/onnx/ops/control/diverging_if.h"
#include "ir/base/check.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon::onnx {
namespace {

using onnxpb::GraphProto;
using onnxpb::NodeProto;
using onnxpb::TensorProto;
using onnxpb::TypeProto;

// An array of dictionaries {core.name = "..."}, for a function's arguments or results. Where there
// is a container, its last argument says what its elements are, for made-up ones.
Attribute NameList(Context& context, std::span<const std::string> names,
                   std::span<const ContainerType* const> containers = {}) {
  std::vector<Attribute> entries;
  for (size_t i = 0; i < names.size(); ++i) {
    const ContainerType* container = i < containers.size() ? containers[i] : nullptr;
    std::vector<NamedAttribute> entry;
    if (container != nullptr) {
      entry.push_back(
          {context.Intern("core.element"), Attribute::TypeAttr(context, container->element)});
    }
    entry.push_back({context.Intern("core.name"), Attribute::Str(context, names[i])});
    if (container != nullptr && container->kind == ContainerType::Kind::kOptionalTensor) {
      entry.push_back({context.Intern("core.optional"), Attribute::Unit(context)});
    }
    entries.push_back(Attribute::Dictionary(context, entry));
  }
  return Attribute::Array(context, entries);
}

// Constants of initializers are made at the start of the scope's block, in the order of their first
// use.
OpBuilder WeightBuilder(Context& context, const Scope& scope) {
  if (scope.last_weight != nullptr) return OpBuilder::After(scope.last_weight);
  if (!scope.block->empty()) return OpBuilder::Before(scope.block->front());
  return OpBuilder::AtEnd(context, scope.block);
}

// Operators that read sequences or optional values.
bool TakesContainers(const Node& node) {
  static constexpr std::string_view kOps[] = {
      "ConcatFromSequence", "Loop",        "Optional",      "OptionalGetElement",
      "OptionalHasElement", "SequenceAt",  "SequenceErase", "SequenceInsert",
      "SequenceLength",     "SequenceMap",
  };
  return DomainOf(node.proto().domain()).empty() &&
         std::find(std::begin(kOps), std::end(kOps), node.op_type()) != std::end(kOps);
}

}  // namespace

std::string_view DomainOf(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

GraphImporter::GraphImporter(Context& context, const onnxpb::ModelProto& model,
                             const TensorSource& source, std::string name)
    : context_(context),
      model_(model),
      source_(source),
      name_(std::move(name)),
      file_location_(Location::Name(context, name_)),
      dim_namer_(nullptr) {}

absl::StatusOr<OwnedOp> GraphImporter::Run(std::map<std::string, Type>* types) {
  if (!model_.has_graph()) return Error(file_location_, "the model has no graph");
  const KeepUnusedBlobs keep(context_);
  TENON_RETURN_IF_ERROR(ReadOpsets());
  TENON_RETURN_IF_ERROR(IndexFunctions());
  const GraphProto& graph = model_.graph();
  Scope scope;
  TENON_RETURN_IF_ERROR(DeclareWeights(graph, scope));
  std::vector<Type> input_types;
  std::vector<std::string> input_names, output_names;
  TENON_ASSIGN_OR_RETURN(const std::vector<Input> inputs,
                         DeclareInputs(graph, input_types, input_names));

  OwnedOp module = CreateModule(context_, file_location_);
  Operation* function = CreateFunction(module.get(), "main",
                                       Type::Function(context_, input_types, {}), file_location_);
  scope.block = &function->region().front();
  TENON_RETURN_IF_ERROR(BindInputs(inputs, scope));
  for (size_t i = 0; i < input_names.size(); ++i) {
    input_types[i] = scope.block->argument(static_cast<unsigned>(i)).type();
  }
  OpBuilder builder = OpBuilder::AtEnd(context_, scope.block);
  const absl::Status imported = ImportBody(graph, scope, builder, main_);
  if (types != nullptr) {
    for (auto& [name, type] : *types) {
      if (const auto it = scope.values.find(name); it != scope.values.end())
        type = it->second.type();
    }
  }
  TENON_RETURN_IF_ERROR(imported);
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                         Results(graph, scope, builder, output_names));
  TENON_RETURN_IF_ERROR(func::ReturnOp::Create(builder, file_location_, outputs).status());
  EraseUnusedWraps(function);

  std::vector<Type> output_types;
  for (const Value output : outputs) output_types.push_back(output.type());
  const Type type = Type::Function(context_, input_types, output_types);
  function->SetAttr("function_type", Attribute::TypeAttr(context_, type));
  std::vector<const ContainerType*> containers(input_names.size(), nullptr);
  size_t end = 0;
  for (const Input& input : inputs) {
    end += input.arguments;
    if (input.container) containers[end - 1] = &*input.container;
  }
  function->SetAttr("arg_attrs", NameList(context_, input_names, containers));
  function->SetAttr("res_attrs", NameList(context_, output_names));
  return module;
}

absl::Status GraphImporter::ReadOpsets() {
  for (const onnxpb::OperatorSetIdProto& opset : model_.opset_import()) {
    const std::string domain(DomainOf(opset.domain()));
    // Some writers repeat an import.
    const auto [known, is_new] = main_.opsets.emplace(domain, opset.version());
    if (!is_new && known->second != opset.version()) {
      return Error(file_location_,
                   fmt::format("the model imports the opset \"{}\" as version {} and as {} "
                               "(expected one version)",
                               domain, known->second, opset.version()));
    }
  }
  if (main_.opsets.empty()) return Error(file_location_, "the model imports no opset");
  if (const auto it = main_.opsets.find("");
      it != main_.opsets.end() && it->second > kNewestOpset) {
    EmitWarning(
        context_, file_location_,
        fmt::format("opset {} is newer than {}, the newest that is known; its ops are read as "
                    "those of {}",
                    it->second, kNewestOpset, kNewestOpset));
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::DeclareWeights(const GraphProto& graph, Scope& scope) {
  for (const TensorProto& tensor : graph.initializer()) {
    if (tensor.name().empty()) return Error(file_location_, "an initializer has no name");
    if (!scope.weights.insert_or_assign(tensor.name(), &tensor).second) {
      EmitWarning(context_, Location::Name(context_, tensor.name()),
                  "there are several initializers of this name, the last one counts");
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::DeclareTypes(const GraphProto& graph, Scope& scope) {
  for (const auto* infos : {&graph.value_info(), &graph.output()}) {
    for (const onnxpb::ValueInfoProto& info : *infos) {
      TENON_RETURN_IF_ERROR(CheckSize(info));
      scope.declared.emplace(info.name(), &info.type());
    }
  }
  return absl::OkStatus();
}

absl::Status GraphImporter::ImportBody(const GraphProto& graph, Scope& scope, OpBuilder& builder,
                                       const Frame& frame) {
  TENON_RETURN_IF_ERROR(DeclareTypes(graph, scope));
  for (const auto& output : graph.output()) scope.used.insert(output.name());
  for (const onnxpb::SparseTensorProto& tensor : graph.sparse_initializer()) {
    TENON_ASSIGN_OR_RETURN(scope.values[tensor.values().name()], SparseConstant(tensor, scope));
  }
  return ImportNodes(graph.node(), scope, builder, frame);
}

absl::StatusOr<std::vector<Value>> GraphImporter::Outputs(const GraphProto& graph, Scope& scope) {
  std::vector<Value> outputs;
  for (const onnxpb::ValueInfoProto& output : graph.output()) {
    TENON_ASSIGN_OR_RETURN(const Value value, Lookup(scope, output.name()));
    if (!value) {
      return Error(file_location_,
                   fmt::format("graph output \"{}\" is not defined by any node", output.name()));
    }
    outputs.push_back(value);
  }
  if (outputs.size() > kMaxOperands) return Error(file_location_, "the graph has too many outputs");
  return outputs;
}

void GraphImporter::NoteRead(const Operation& constant) {
  const LocationData& location = Resolve(context_, constant.location());
  if (location.kind == Location::Kind::kName && IsFloat(constant.result().type().dtype()))
    read_constants_.emplace(location.text);
}

absl::StatusOr<Value> GraphImporter::Lookup(Scope& scope, const std::string& name) {
  for (Scope* s = &scope; s != nullptr; s = s->parent) {
    if (auto it = s->values.find(name); it != s->values.end()) return it->second;
    const auto it = s->weights.find(name);
    if (it == s->weights.end()) continue;
    const Location location = Location::Name(context_, name);
    if (it->second->data_type() == TensorProto::STRING) {
      OpBuilder builder = WeightBuilder(context_, *s);
      TENON_ASSIGN_OR_RETURN(const Value value,
                             StringInitializer(*this, *it->second, location, builder));
      s->last_weight = value.defining_op();
      s->values.emplace(name, value);
      return value;
    }
    absl::StatusOr<Attribute> elements = DecodeElements(context_, *it->second, source_);
    OpBuilder builder = WeightBuilder(context_, *s);
    if (absl::IsUnimplemented(elements.status())) {
      EmitRemark(context_, location, std::string(MessageOf(elements.status())));
      TENON_ASSIGN_OR_RETURN(s->last_weight, OpaqueConstant(*this, *it->second, location, builder));
    } else if (!elements.ok()) {
      return Error(location, std::string(MessageOf(elements.status())));
    } else {
      TENON_ASSIGN_OR_RETURN(core::ConstantOp op,
                             core::ConstantOp::Create(builder, location, {.value = *elements}));
      s->last_weight = op.op();
    }
    Register(s->last_weight);
    const Value value = s->last_weight->result();
    SetName(value, name);
    s->values.emplace(name, value);
    return value;
  }
  return Value();
}

absl::Status GraphImporter::ImportNodes(const NodeList& nodes, Scope& scope, OpBuilder& builder,
                                        const Frame& frame) {
  Surroundings surroundings;
  surroundings.is_own = [&scope](const std::string& name) {
    return scope.values.contains(name) || scope.weights.contains(name);
  };
  surroundings.is_visible = [&scope](const std::string& name) {
    for (const Scope* s = &scope; s != nullptr; s = s->parent) {
      if (s->values.contains(name) || s->weights.contains(name)) return true;
    }
    return false;
  };
  absl::StatusOr<GraphOrder> order = OrderNodes(nodes, surroundings);
  if (!order.ok()) return Error(file_location_, std::string(MessageOf(order.status())));
  const NameSet returned = scope.used;
  scope.used.merge(std::move(order->used));
  using State = Following::State;
  std::vector<State> states(static_cast<size_t>(nodes.size()), State::kWaiting);
  const std::span<const int> all(order->nodes);
  for (size_t i = 0; i < all.size(); ++i) {
    State& state = states[static_cast<size_t>(all[i])];
    if (state != State::kWaiting) continue;
    state = State::kImported;
    const Following following{nodes, all.subspan(i + 1), returned, states};
    TENON_RETURN_IF_ERROR(ImportNode(nodes[all[i]], scope, builder, frame, &following));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Value>> GraphImporter::ImportGraph(const GraphProto& graph,
                                                              Location location, Scope& scope,
                                                              const Frame& frame,
                                                              OpBuilder& builder) {
  if (graph_depth_ >= kMaxGraphDepth) {
    return Error(location, fmt::format("graphs are nested more than {} deep", kMaxGraphDepth));
  }
  ++graph_depth_;
  absl::Status status = ImportBody(graph, scope, builder, frame);
  --graph_depth_;
  TENON_RETURN_IF_ERROR(status);
  return Outputs(graph, scope);
}

absl::StatusOr<std::vector<Value>> GraphImporter::ImportSubgraph(const GraphProto& graph,
                                                                 Location location, Scope& outer,
                                                                 const Frame& frame,
                                                                 std::span<const Value> inputs,
                                                                 OpBuilder& builder) {
  Scope scope;
  scope.parent = &outer;
  scope.block = builder.block();
  TENON_RETURN_IF_ERROR(DeclareWeights(graph, scope));
  if (static_cast<size_t>(graph.input_size()) != inputs.size()) {
    return Error(location, fmt::format("graph \"{}\" has {} inputs, expected {}", graph.name(),
                                       graph.input_size(), inputs.size()));
  }
  for (int i = 0; i < graph.input_size(); ++i) {
    const std::string& name = graph.input(i).name();
    scope.weights.erase(name);
    if (name.empty() || !scope.values.emplace(name, inputs[static_cast<size_t>(i)]).second) {
      return Error(location,
                   fmt::format("graph \"{}\" has two inputs \"{}\", or one without a name",
                               graph.name(), name));
    }
  }
  return ImportGraph(graph, location, scope, frame, builder);
}

absl::Status GraphImporter::ImportRegion(const GraphProto& graph, Location location, Scope& outer,
                                         const Frame& frame, Region& region) {
  Scope scope;
  scope.parent = &outer;
  scope.block = region.AddBlock();
  TENON_RETURN_IF_ERROR(DeclareWeights(graph, scope));
  for (const onnxpb::ValueInfoProto& input : graph.input()) {
    if (scope.weights.contains(input.name())) continue;
    TENON_RETURN_IF_ERROR(CheckSize(input));
    const Type type = Convert(input.type(), /*binding=*/false);
    const Value argument = scope.block->AddArgument(
        type ? type : Type::Opaque(context_, "!onnx.any"), Location::Name(context_, input.name()));
    NameDims(argument, input.name());
    if (input.name().empty() || !scope.values.emplace(input.name(), argument).second) {
      return Error(location,
                   fmt::format("graph \"{}\" has two inputs \"{}\", or one without a name",
                               graph.name(), input.name()));
    }
  }
  OpBuilder builder = OpBuilder::AtEnd(context_, scope.block);
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> outputs,
                         ImportGraph(graph, location, scope, frame, builder));
  OperationState state;
  state.info = context_.GetUnregisteredOp("onnx.yield");
  state.location = location;
  state.operands.assign(outputs.begin(), outputs.end());
  builder.Create(state);
  return absl::OkStatus();
}

absl::Status GraphImporter::CountRepeats(int64_t nodes, Location location) {
  inlined_nodes_ += nodes;
  if (inlined_nodes_ <= kMaxInlinedNodes) return absl::OkStatus();
  return Error(location,
               fmt::format("calls and loops expand to more than {} nodes", kMaxInlinedNodes));
}

absl::Status GraphImporter::ImportNode(const NodeProto& proto, Scope& scope, OpBuilder& builder,
                                       const Frame& frame, const Following* following) {
  Location location = Location::Name(context_, NodeName(proto));
  if (!frame.call.is_unknown()) location = Location::CallSite(context_, location, frame.call);
  if (proto.op_type().empty()) return Error(location, "the node has no op type");
  if (proto.input_size() > static_cast<int>(kMaxOperands) ||
      proto.output_size() > static_cast<int>(kMaxResults)) {
    return Error(location, "the node has too many inputs or outputs");
  }
  Node node(*this, proto, scope, builder, frame, location);
  TENON_RETURN_IF_ERROR(node.ResolveInputs(scope));
  if (const onnxpb::FunctionProto* function = FindFunction(proto)) {
    TENON_RETURN_IF_ERROR(Inline(node, *function, scope, builder, frame));
    return Bind(node, scope);
  }
  if (keep_microsoft_ && IsOfOnnxRuntime(DomainOf(proto.domain()), proto.op_type())) {
    TENON_RETURN_IF_ERROR(ImportOpaque(*this, node, scope, frame));
    return Bind(node, scope);
  }
  Operation* last = builder.block()->back();
  absl::Status status = RunAdapter(node);
  if (absl::IsUnimplemented(status)) {
    EraseAfter(scope, *builder.block(), last);
    if (node.branches_differ() && following != nullptr) {
      TENON_ASSIGN_OR_RETURN(const bool imported,
                             ImportDivergingIf(node, scope, builder, frame, *following));
      if (imported) return absl::OkStatus();
    }
    EmitRemark(context_, location, fmt::format("{}{}", kOpaqueRemark, MessageOf(status)));
    status = ImportOpaque(*this, node, scope, frame);
  } else if (status.ok()) {
    for (const std::string& name : node.UnreadAttributes()) {
      EmitWarning(context_, location,
                  fmt::format("attribute \"{}\" of {} is ignored", name, proto.op_type()));
    }
  }
  TENON_RETURN_IF_ERROR(status);
  return Bind(node, scope);
}

void GraphImporter::Register(Operation* op) {
  dim_namer_.NameUnknownDims(op);
  shape_data_.Visit(*op);
}

void GraphImporter::Erase(Operation* op) {
  op->Walk([this](Operation* inner) { shape_data_.Forget(*inner); });
  op->Erase();
}

void GraphImporter::EraseAfter(const Scope& scope, Block& block, Operation* last) {
  // A node's graphs may have been the first to read an initializer around them: its constant stays.
  const auto is_weight = [&](const Operation* op) {
    for (const Scope* s = &scope; s != nullptr; s = s->parent) {
      if (s->last_weight == op) return true;
    }
    return false;
  };
  while (block.back() != last && !is_weight(block.back())) Erase(block.back());
}

std::string GraphImporter::DescribeInput(const std::string& name) const {
  for (const onnxpb::ValueInfoProto& input : model_.graph().input()) {
    if (input.name() != name) continue;
    if (input.type().value_case() != TypeProto::kTensorType) return "a type that is not a tensor";
    const int32_t element = input.type().tensor_type().elem_type();
    if (DTypeOf(element) != DType::kInvalid) return "unknown rank";
    return fmt::format("element type {}", OnnxTypeName(element));
  }
  return "unknown type";
}

absl::Status GraphImporter::RunAdapter(Node& node) {
  const std::string_view domain = DomainOf(node.proto().domain());
  const OpInfo* registered =
      domain.empty() ? nullptr : context_.FindOp(fmt::format("{}.{}", domain, node.op_type()));
  if (!domain.empty() && !HasAdapters(domain) && registered == nullptr)
    return node.Opaque(
        fmt::format("{} has no counterpart: domain {} is not known", node.op_type(), domain),
        "ONNX's operators, those of com.microsoft, or an Extension that "
        "defines the operation");
  // Identity passes anything on.
  if (registered == nullptr && domain.empty() && node.op_type() == "Identity" &&
      node.num_inputs() == 1)
    return node.Return(node.input(0));
  bool strings = false;
  for (int i = 0; i < node.num_inputs(); ++i) {
    if (!node.input(i) || node.input(i).type().is_tensor()) continue;
    const std::optional<Container> container = Unwrap(node.input(i));
    if (container && container->is_strings() && registered == nullptr) {
      strings = true;
      continue;
    }
    if (!container || container->is_maps() || !TakesContainers(node)) {
      return node.Unsupported(
          fmt::format("{} whose input \"{}\" has {}", node.op_type(), node.proto().input(i),
                      container ? container->text() : DescribeInput(node.proto().input(i))),
          "a tensor of known rank, of numbers or booleans");
    }
  }
  if (registered != nullptr) return ImportRegistered(node, *registered);
  const AdapterFn adapter =
      domain.empty() ? FindAdapter(node.op_type()) : FindAdapterOf(domain, node.op_type());
  if (adapter == nullptr)
    return node.Opaque(fmt::format("{} has no counterpart", node.op_type()),
                       "an operator of docs/reference/onnx-operators.md");
  if (!domain.empty()) return strings ? ImportOnStrings(node, adapter) : adapter(node);
  if (const int64_t since = MinOpset(node.op_type()); node.version() < since) {
    return node.Unsupported(fmt::format("{} of opset {}", node.op_type(), node.version()),
                            fmt::format("opset {} or newer", since));
  }
  return strings ? ImportOnStrings(node, adapter) : adapter(node);
}

absl::Status GraphImporter::Bind(Node& node, Scope& scope) {
  for (int i = 0; i < node.num_outputs(); ++i) {
    const std::string& name = node.proto().output(i);
    if (name.empty()) continue;
    const Value value = node.output(i);
    if (!value) {
      if (!node.IsOutputUsed(i)) continue;
      return node.Error(fmt::format("{} has no output {}", node.op_type(), i));
    }
    scope.values.insert_or_assign(name, value);
    SetName(value, name);
    CheckDeclared(scope, name, value.type(), node.location());
  }
  return absl::OkStatus();
}

}  // namespace tenon::onnx
