#include "tools/ir-bench/model_cost.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "executor/attr_decode.h"
#include "executor/lowering/lowered_op.h"
#include "executor/prepare/bindings.h"
#include "ir/core/block.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"
#include "kernels/op_cost.h"

namespace tenon::ir_bench {
namespace {

using kernels::TensorView;

class Counter {
 public:
  explicit Counter(Bindings bindings) : bindings_(std::move(bindings)) {}

  void Add(Operation& op) {
    std::vector<TensorView> operands, outputs, inputs;
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      if (!View(op.operand(i).type(), operands)) return;
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      if (!View(op.result(i).type(), outputs)) return;
    }
    const absl::StatusOr<std::vector<int>> order =
        KernelInputs(op.info(), static_cast<int>(operands.size()), op.slots());
    if (!order.ok()) return;
    for (int operand : *order)
      inputs.push_back(operand < 0 ? TensorView() : operands[static_cast<size_t>(operand)]);
    // Extents can be unknown in attributes, as the offset of a causal mask: not counted.
    const auto attrs = DecodeAttrs(op.info(), op.slots());
    if (attrs.ok()) {
      const void* given = *attrs != nullptr ? attrs->get() : nullptr;
      cost_.flops += kernels::CostOf(op.name(), inputs, outputs, given).flops;
    }
    AddConstants(op, operands, outputs);
  }

  ModelCost Finish(double more_bytes) {
    cost_.bytes += more_bytes;
    for (const auto& [constant, bytes] : constants_) cost_.bytes += bytes;
    return cost_;
  }
  std::optional<double> Bytes(Type type) {
    std::vector<TensorView> views;
    if (!View(type, views)) return std::nullopt;
    return static_cast<double>(views[0].bytes());
  }

 private:
  // Appends the view of a value of this type; false if its extents are not known.
  bool View(Type type, std::vector<TensorView>& views) {
    if (!type.is_tensor()) return false;
    std::vector<int64_t> shape;
    for (DimExpr dim : type.dims()) {
      const std::optional<int64_t> extent = dim.Evaluate(bindings_.lookup());
      if (!extent || *extent < 0) return false;
      shape.push_back(*extent);
    }
    shapes_.push_back(std::move(shape));
    views.push_back({nullptr, type.dtype(), shapes_.back()});
    return true;
  }

  void AddConstants(Operation& op, std::span<const TensorView> operands,
                    std::span<const TensorView> outputs) {
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      Operation* source = op.operand(i).defining_op();
      if (source == nullptr || !Isa<core::ConstantOp>(source)) continue;
      double& known = constants_[source];
      known = std::max(known, kernels::BytesRead(op.name(), operands, outputs, i));
    }
  }

  Bindings bindings_;
  std::deque<std::vector<int64_t>> shapes_;  // what views refer to
  std::map<Operation*, double> constants_;   // bytes read of each
  ModelCost cost_;
};

}  // namespace

ModelCost CostOf(Operation* function, std::span<const Tensor> inputs) {
  Block& body = function->region().front();
  Bindings bindings;
  double bytes = 0;
  for (unsigned i = 0; i < body.num_arguments(); ++i) {
    const Type type = body.argument(i).type();
    bytes += static_cast<double>(inputs[i].num_bytes());
    for (int64_t axis = 0; axis < type.rank(); ++axis)
      bindings.Unify(type.dim(axis), inputs[i].shape()[static_cast<size_t>(axis)]);
  }
  Counter counter(std::move(bindings));
  for (Operation& op : body) {
    if (Isa<core::ConstantOp>(op)) continue;
    if (!Isa<func::ReturnOp>(op)) {
      counter.Add(op);
      continue;
    }
    for (unsigned i = 0; i < op.num_operands(); ++i)
      bytes += counter.Bytes(op.operand(i).type()).value_or(0);
  }
  return counter.Finish(bytes);
}

}  // namespace tenon::ir_bench
