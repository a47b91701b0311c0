#include "frontends/cpp/inspect/inspect.h"

#include <optional>

#include "fmt/format.h"
#include "frontends/cpp/inspect/symbolic_cost.h"
#include "frontends/onnx/file/model_info.h"
#include "frontends/onnx/importer.h"
#include "ir/core/block.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

// A sum of amounts. Numbers are summed apart, because they may exceed 64 bits.
class Sum {
 public:
  explicit Sum(Context& context) : symbolic_(DimExpr::Constant(context, 0)) {}

  void Add(DimExpr amount) {
    if (amount.is_unknown()) {
      ++result_.uncounted;
    } else if (amount.is_constant()) {
      result_.number += static_cast<double>(amount.constant());
    } else if (const DimExpr sum = symbolic_ + amount; !sum.is_unknown()) {
      symbolic_ = sum;
    } else {
      ++result_.uncounted;  // the sum is too long to be of use
    }
  }
  Amount Finish() {
    // What is left where all dimensions are 0 belongs to the number.
    const std::optional<int64_t> rest =
        symbolic_.Evaluate([](std::string_view) { return std::optional<int64_t>(0); });
    const DimExpr symbolic = symbolic_ - rest.value_or(0);
    result_.number += static_cast<double>(rest.value_or(0));
    if (!symbolic.is_constant(0)) result_.expression = symbolic.text();
    return result_;
  }

 private:
  DimExpr symbolic_;
  Amount result_;
};

std::string NameIn(Attribute list, unsigned i, const std::string& fallback) {
  if (!list || list.kind() != Attribute::Kind::kArray || i >= list.elements().size())
    return fallback;
  const Attribute entry = list.elements()[i];
  const Attribute name =
      entry.kind() == Attribute::Kind::kDictionary ? entry.Get("core.name") : Attribute();
  return name && name.kind() == Attribute::Kind::kString ? std::string(name.str()) : fallback;
}

InspectedValue Described(Type type, std::string name) {
  InspectedValue value;
  value.name = std::move(name);
  value.ranked = type.is_tensor();
  value.dtype = type.is_any_tensor() ? std::string(Name(type.dtype())) : type.text();
  if (value.ranked) {
    for (const DimExpr dim : type.dims()) value.dims.push_back(dim.text());
  }
  return value;
}

class Inspector {
 public:
  Inspector(const Model& model, const std::map<std::string, std::string>& reasons)
      : context_(model.context()), reasons_(reasons), flops_(context_), bytes_(context_) {}

  void Add(Operation& op) {
    if (op.Has(Trait::kTerminator)) return;
    if (Isa<core::ConstantOp>(&op)) return AddConstant(op);
    const SymbolicCost cost = CostOf(op);
    flops_.Add(cost.flops);
    bytes_.Add(cost.bytes);
    const std::string name(op.name());
    ++counts_[name];
    flops_by_op_.try_emplace(name, context_).first->second.Add(cost.flops);
    if (op.info().dialect() != onnx::kOpaqueDialect) return;
    UnsupportedOp unsupported;
    unsupported.op = name.substr(std::string_view(onnx::kOpaqueDialect).size() + 1);
    unsupported.node = DescribeLocation(context_, op.location());
    if (const auto reason = reasons_.find(unsupported.node); reason != reasons_.end())
      unsupported.reason = reason->second;
    result_.unsupported.push_back(std::move(unsupported));
  }

  Inspection Finish() {
    result_.flops = flops_.Finish();
    result_.bytes = bytes_.Finish();
    for (const auto& [name, count] : counts_)
      result_.operations[name] = {count, flops_by_op_.at(name).Finish()};
    return std::move(result_);
  }

  Inspection& result() { return result_; }

 private:
  void AddConstant(Operation& op) {
    const Type type = op.result().type();
    if (!op.result().has_uses() || !type.is_tensor()) return;
    const DimExpr elements = ElementsOf(type, context_);
    if (!elements.is_constant()) return;
    ++result_.parameter_tensors;
    result_.parameters += elements.constant();
    result_.parameter_bytes += elements.constant() * static_cast<int64_t>(SizeOf(type.dtype()));
  }

  Context& context_;
  const std::map<std::string, std::string>& reasons_;
  Sum flops_, bytes_;
  std::map<std::string, int64_t> counts_;
  std::map<std::string, Sum> flops_by_op_;
  Inspection result_;
};

void AddInfo(const onnx::ModelInfo& info, Inspection& result) {
  result.ir_version = info.ir_version;
  result.producer = info.producer_version.empty()
                        ? info.producer_name
                        : fmt::format("{} {}", info.producer_name, info.producer_version);
  result.opsets = info.opsets;
  result.metadata = info.metadata;
  result.operators = info.operators;
  result.description = info.doc_string;
}

}  // namespace

absl::StatusOr<Inspection> Inspect(const Model& model,
                                   const std::map<std::string, std::string>& reasons) {
  Operation* main = model.main();
  if (main == nullptr) {
    return absl::InvalidArgumentError(
        "there is nothing to inspect (expected a function @main, or one function with a body)");
  }
  Inspector inspector(model, reasons);
  if (model.info() != nullptr) AddInfo(*model.info(), inspector.result());
  Block& body = main->region().front();
  for (unsigned i = 0; i < body.num_arguments(); ++i) {
    inspector.result().inputs.push_back(Described(
        body.argument(i).type(), NameIn(main->attr("arg_attrs"), i, fmt::format("arg{}", i))));
  }
  Operation* end = body.back();
  for (unsigned i = 0; end != nullptr && i < end->num_operands(); ++i) {
    inspector.result().outputs.push_back(Described(
        end->operand(i).type(), NameIn(main->attr("res_attrs"), i, fmt::format("out{}", i))));
  }
  main->Walk([&](Operation* op) {
    if (op != main) inspector.Add(*op);
  });
  return inspector.Finish();
}

}  // namespace tenon
