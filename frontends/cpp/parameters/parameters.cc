#include "frontends/cpp/parameters/parameters.h"

#include <map>
#include <utility>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/shown_text.h"
#include "ir/base/suggest.h"
#include "ir/core/block.h"
#include "ir/core/context/context.h"
#include "ir/core/location.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/core_ops.h"

namespace tenon {
namespace {

std::vector<core::ParameterOp> ParametersOf(const Operation& module) {
  std::vector<core::ParameterOp> parameters;
  if (module.num_regions() == 0 || module.region().empty()) return parameters;
  for (Operation& op : module.region().front()) {
    if (auto parameter = DynCast<core::ParameterOp>(&op)) parameters.push_back(parameter);
  }
  return parameters;
}

// What a tensor of a file can be the value of.
struct ParameterTargets {
  core::ParameterOp parameter;
  std::vector<core::ConstantOp> constants;
  Type type;  // null: any
};

class TargetFinder {
 public:
  explicit TargetFinder(Operation& module) {
    for (core::ParameterOp parameter : ParametersOf(module))
      targets_[std::string(parameter.sym_name())].parameter = parameter;
    for (Parameter& parameter : ListParameters(module))
      targets_[parameter.name].type = parameter.type;
    module.Walk([&](Operation* op) {
      auto constant = DynCast<core::ConstantOp>(op);
      if (!constant || constant.value().kind() != Attribute::Kind::kElements) return;
      const LocationData& location = Resolve(op->context(), op->location());
      if (location.kind != Location::Kind::kName) return;
      ParameterTargets& target = targets_[std::string(location.text)];
      if (target.parameter) return;
      target.constants.push_back(constant);
      target.type = constant.value().type();
    });
  }
  // Null if there is none.
  ParameterTargets* Find(const std::string& name) {
    const auto found = targets_.find(name);
    return found == targets_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, target] : targets_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, ParameterTargets, std::less<>> targets_;
};

}  // namespace

std::vector<Parameter> ListParameters(const Operation& module) {
  std::vector<Parameter> list;
  std::map<const Operation*, Type> read;
  const_cast<Operation&>(module).Walk([&](Operation* op) {
    if (!Isa<core::GetParameterOp>(op)) return;
    if (const Operation* parameter = LookupSymbolFrom(*op, op->attr("name").str()))
      read.emplace(parameter, op->result().type());
  });
  for (core::ParameterOp op : ParametersOf(module)) {
    Parameter parameter{std::string(op.sym_name()), Type(), op.value()};
    if (parameter.value) {
      parameter.type = parameter.value.type();
    } else if (const auto found = read.find(op.op()); found != read.end()) {
      parameter.type = found->second;
    }
    list.push_back(std::move(parameter));
  }
  return list;
}

absl::Status LoadParameters(Operation& module, const std::string& file, const Limits& limits,
                            SourceFile* source, const ConstantNames* read) {
  TENON_ASSIGN_OR_RETURN(SafeTensors tensors, ReadSafeTensors(file, limits));
  Context& context = module.context();
  TargetFinder finder(module);
  std::vector<std::pair<ParameterTargets*, Attribute>> values;
  for (const SafeTensor& tensor : tensors.tensors) {
    ParameterTargets* const target = finder.Find(tensor.name);
    if (target == nullptr) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: tensor '{}' is the value of no parameter and no named constant of the program{}",
          ShownName(file), ShownName(tensor.name), DidYouMean(tensor.name, finder.names())));
    }
    if (!target->parameter && read != nullptr && read->contains(tensor.name)) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: tensor '{}' would replace a constant whose elements the importer has read, and what "
          "it made of them would stay",
          ShownName(file), ShownName(tensor.name)));
    }
    const Type type = Type::Tensor(context, tensor.dtype, tensor.dims);
    const bool fits =
        !target->type ? target->parameter.type() == tensor.dtype : target->type == type;
    if (!fits) {
      return absl::InvalidArgumentError(fmt::format(
          "{}: tensor '{}' is a {} (the program has a {} of that name)", ShownName(file),
          ShownName(tensor.name), type.text(),
          target->type ? target->type.text()
                       : fmt::format("parameter of {}", Name(target->parameter.type()))));
    }
    values.emplace_back(target, Attribute::Elements(context, type, tensor.bytes));
  }
  for (auto& [target, value] : values) {
    if (target->parameter) target->parameter.set_value(value);
    for (const core::ConstantOp& constant : target->constants) constant.set_value(value);
  }
  if (source != nullptr) *source = std::move(tensors.source);
  return absl::OkStatus();
}

absl::Status SaveParameters(const Operation& module, const std::string& file) {
  std::vector<SafeTensor> tensors;
  for (const core::ParameterOp& op : ParametersOf(module)) {
    const Attribute value = op.value();
    if (!value) continue;
    SafeTensor tensor;
    tensor.name = std::string(op.sym_name());
    tensor.dtype = value.type().dtype();
    for (const DimExpr dim : value.type().dims()) tensor.dims.push_back(dim.constant());
    const std::span<const std::byte> bytes = value.raw_bytes();
    const size_t size = static_cast<size_t>(value.type().num_elements()) * SizeOf(tensor.dtype);
    tensor.bytes = value.is_splat() ? Blob::Make(size,
                                                 [&](std::byte* to) {
                                                   for (size_t i = 0; i < size; ++i)
                                                     to[i] = bytes[i % bytes.size()];
                                                 })
                                    : Blob::Borrow(bytes, nullptr);  // the module keeps them
    tensors.push_back(std::move(tensor));
  }
  if (tensors.empty()) {
    return absl::FailedPreconditionError(fmt::format(
        "{}: the program has no parameters with values (unfold-parameters makes them of constants)",
        ShownName(file)));
  }
  return WriteSafeTensors(file, tensors);
}

void DropParameterValues(Operation& module) {
  for (const core::ParameterOp& op : ParametersOf(module)) op.set_value(Attribute());
}

}  // namespace tenon
