// Nodes in the form that an opset has for them.
#include <algorithm>
#include <array>
#include <span>

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/export/node_forms.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/dialect/core_ops.h"

namespace tenon::onnx {
namespace {

// The version of its domain that a node of another domain than ONNX's is written for.
int64_t VersionInDomain(std::string_view type) {
  constexpr std::pair<std::string_view, int64_t> kVersions[] = {
      {"ai.onnx.ml.LabelEncoder", 2},
      {"ai.onnx.ml.TreeEnsemble", 5},
      {"ai.onnx.ml.TreeEnsembleRegressor", 3}};
  for (const auto& [name, version] : kVersions) {
    if (type == name) return version;
  }
  return 1;  // com.microsoft
}

// True if an operator means something else for a type that holds more numbers.
bool DependsOnType(std::string_view type) {
  constexpr std::string_view kOperators[] = {"BitCast", "BitShift", "Cast", "CastLike"};
  return std::ranges::find(kOperators, type) != std::end(kOperators) || type.ends_with("Integer") ||
         type.find("Quantize") != std::string_view::npos || type.starts_with("QLinear");
}

// Types that hold all numbers of a type, whose lowest bits its arithmetic gives; best first.
std::span<const DType> WiderTypes(DType dtype) {
  constexpr static std::array kOfBool = {DType::kU8, DType::kI32};
  constexpr static std::array kOfInts = {DType::kI32, DType::kI64};
  constexpr static std::array kOfFloats = {DType::kF32, DType::kF64};
  if (dtype == DType::kBool) return kOfBool;
  if (HoldsFloats(dtype)) return dtype == DType::kF64 ? std::span<const DType>() : kOfFloats;
  if ((IsInt(dtype) || IsNarrowInt(dtype)) && BitsOf(dtype) < 32) return kOfInts;
  if (dtype == DType::kU32) return std::span(kOfInts).last(1);
  return {};
}

}  // namespace

Value Lowering::Resolved(Value value) const {
  if (!value) return value;
  const auto found = narrowed_.find(value.impl());
  return found == narrowed_.end() ? value : found->second;
}

DType Lowering::ElementTypeOf(Value value) const {
  if (value.type().is_any_tensor()) return value.type().dtype();
  const auto found = element_types_.find(value.impl());
  return found == element_types_.end() ? DType::kInvalid : found->second;
}

std::optional<NodeForm> Lowering::FormWith(std::string_view type, size_t inputs,
                                           const Attrs& attrs) {
  std::string_view missing;  // an attribute
  const auto fits = [&](const NodeForm& form) {
    missing = {};
    for (const auto& [name, value] : attrs) {
      if (!form.HasAttribute(name)) missing = name;
    }
    return missing.empty() && form.HasInputs(inputs);
  };
  std::optional<NodeForm> form = FormOf(type, opset_);
  if (form && fits(*form)) return form;
  std::string what(type);
  if (form) {
    what = missing.empty() ? fmt::format("{} with {} inputs", type, inputs)
                           : fmt::format("the attribute {} of {}", missing, type);
  }
  NeedsForm(type, what, fits);
  return std::nullopt;
}

void Lowering::NeedsForm(std::string_view type, std::string_view what,
                         absl::FunctionRef<bool(const NodeForm&)> fits) {
  const std::optional<int64_t> oldest = OldestWith(type, fits);
  if (oldest && *oldest > opset_) {
    Needs(*oldest, what);
  } else {
    Fail(fmt::format("opset {} has no {}", opset_, what));
  }
}

bool Lowering::Widen(std::string_view type, const NodeForm& form, std::vector<Value>& inputs,
                     VariableTypes& types, VariableTypes& wide) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Formal* const formal = inputs[i] ? form.input(i) : nullptr;
    const DType dtype = formal != nullptr ? ElementTypeOf(inputs[i]) : DType::kInvalid;
    if (dtype == DType::kInvalid) continue;
    if (formal->variable != '_') types[formal->variable] = dtype;
    // Strings have the type of their spans (strings/raise_strings.h).
    const bool checked = formal->types != 0 && !formal->TakesOnlyStrings();
    if (!checked || formal->Takes(dtype)) continue;
    DType wider = DType::kInvalid;
    if (formal->variable != '_' && !DependsOnType(type)) {
      for (const DType candidate : WiderTypes(dtype)) {
        if (wider == DType::kInvalid && formal->Takes(candidate)) wider = candidate;
      }
    }
    if (wider == DType::kInvalid) {
      NeedsForm(type, fmt::format("{} of {}", type, Name(dtype)), [&](const NodeForm& other) {
        const Formal* const input = other.input(i);
        return input != nullptr && input->Takes(dtype);
      });
      return false;
    }
    wide[formal->variable] = wider;
  }
  if (wide.empty()) return true;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const auto found = wide.find(form.input(i)->variable);
    if (found != wide.end()) inputs[i] = CastTo(inputs[i], found->second);
  }
  return ok();
}

void Lowering::Narrow(Operation& node, const NodeForm& form, const VariableTypes& types,
                      const VariableTypes& wide) {
  for (unsigned i = 0; i < node.num_results(); ++i) {
    const Formal* const formal = form.output(i);
    if (formal == nullptr) continue;
    const Value result = node.result(i);
    DType dtype = formal->OnlyType();
    if (const auto found = types.find(formal->variable); found != types.end())
      dtype = found->second;
    if (node.name() == "onnx.Cast")
      dtype = DTypeOf(static_cast<int32_t>(node.slot(0).Get("to").int_value()));
    const auto widened = wide.find(formal->variable);
    element_types_[result.impl()] = widened == wide.end() ? dtype : widened->second;
    if (widened == wide.end()) continue;
    Attrs attrs = {{"to", Int(OnnxTypeOf(dtype))}};
    // Infinities stay what they are.
    if (IsNarrowFloat(dtype)) attrs.emplace_back("saturate", Int(0));
    narrowed_[result.impl()] = Node("Cast", {result}, attrs);
  }
}

Value Lowering::CastTo(Value x, DType dtype) {
  return Node("Cast", {x}, {{"to", Int(OnnxTypeOf(dtype))}});
}

Operation* Lowering::Nodes(std::string_view type, std::vector<Value> inputs, const Attrs& attrs,
                           size_t results, std::span<const std::string_view> graphs) {
  if (!ok()) return nullptr;
  // A Loop always has its first two inputs, even if they are absent.
  const size_t least = type == "Loop" ? 2 : 0;
  while (inputs.size() > least && !inputs.back()) inputs.pop_back();
  for (Value& input : inputs) input = Resolved(input);
  const size_t dot = type.rfind('.');  // behind the domain
  const bool own = dot == std::string_view::npos;
  std::optional<NodeForm> form;
  VariableTypes types, wide;
  if (own && IsOnnxOperator(type)) {
    form = FormWith(type, inputs.size(), attrs);
    if (!form || !Widen(type, *form, inputs, types, wide)) return nullptr;
  }
  std::vector<NamedAttribute> entries = {
      {context().Intern("opset"), Int(own ? opset_ : VersionInDomain(type))}};
  if (!own) entries.push_back({context().Intern("domain"), Str(type.substr(0, dot))});
  for (const auto& [name, value] : attrs) entries.push_back({context().Intern(name), value});
  OperationState state;
  std::vector<int64_t> present;
  for (const Value input : inputs) {
    present.push_back(input ? 1 : 0);
    if (input) state.operands.push_back(input);
  }
  if (state.operands.size() < present.size()) {
    entries.push_back(
        {context().Intern("present"), Attribute::Ints(context(), DType::kBool, present)});
  }
  std::vector<Attribute> names;
  for (const std::string_view graph : graphs) names.push_back(Str(graph));
  if (!names.empty())
    entries.push_back({context().Intern("regions"), Attribute::Array(context(), names)});
  state.num_regions = static_cast<unsigned>(graphs.size());
  state.info = context().GetUnregisteredOp(fmt::format("onnx.{}", type));
  state.location = op_.location();
  state.slots.push_back(Attribute::Dictionary(context(), entries));
  state.result_types.assign(results, Type::Opaque(context(), "!onnx.any"));
  Operation* const node = builder_.Create(state);
  if (form) Narrow(*node, *form, types, wide);
  return node;
}

Value Lowering::Node(std::string_view type, std::vector<Value> inputs, const Attrs& attrs) {
  Operation* node = Nodes(type, std::move(inputs), attrs, 1);
  return node != nullptr ? Resolved(node->result()) : Value();
}

}  // namespace tenon::onnx
