#include "frontends/onnx/ops/control/loop_body.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "frontends/onnx/held_diagnostics.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// Makes the extents of `type` unknown that `next` does not share; they change from run to run. An
// extent that is unknown in `type` already may be anything. False if the types cannot be carried
// into each other; `widened` says whether anything had to change.
bool Widen(Type& type, Type next, bool& widened) {
  if (!next.is_tensor() || next.dtype() != type.dtype() || next.rank() != type.rank()) return false;
  std::vector<DimExpr> dims(type.dims().begin(), type.dims().end());
  bool changed = false;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].is_unknown() || DimExpr::ProvablyEqual(dims[i], next.dims()[i])) continue;
    dims[i] = DimExpr::Unknown(type.context());
    changed = true;
  }
  if (changed) {
    type = Type::Tensor(type.context(), type.dtype(), std::span<const DimExpr>(dims));
    widened = true;
  }
  return true;
}

// Makes all extents unknown; false if they were.
bool WidenAll(std::span<Type> types) {
  bool changed = false;
  for (Type& type : types) {
    std::vector<DimExpr> dims;
    for (DimExpr d : type.dims()) {
      changed |= !d.is_unknown();
      dims.push_back(DimExpr::Unknown(type.context()));
    }
    type = Type::Tensor(type.context(), type.dtype(), std::span<const DimExpr>(dims));
  }
  return changed;
}

}  // namespace

absl::StatusOr<Operation*> ImportLoopBody(Node& node, OpBuilder& around, const LoopSpec& spec) {
  Context& context = node.context();
  std::vector<Type> types;
  for (const Value init : spec.inits) types.push_back(init.type());
  const std::vector<Type> unknown(types.size() + spec.scans.size(),
                                  Type::Opaque(context, "!onnx.any"));
  for (;;) {
    HeldDiagnostics diagnostics(context);
    TENON_ASSIGN_OR_RETURN(ctl::ForOp loop,
                           ctl::ForOp::Create(around, node.location(), spec.lower, spec.upper,
                                              spec.step, spec.inits, std::span<const Type>(unknown),
                                              ScanAttrs<ctl::ForOp::Attrs>(spec.scans)));
    Block* body = loop.body().AddBlock();
    const Value counter =
        body->AddArgument(Type::Tensor(context, DType::kI64, std::span<const int64_t>()));
    std::vector<Value> carried;
    for (size_t i = 0; i < types.size(); ++i) {
      carried.push_back(body->AddArgument(types[i], Location::Name(context, spec.names[i])));
      node.importer().NameDims(carried.back(), spec.names[i]);
    }
    const auto again = [&] {
      diagnostics.Drop();
      node.importer().Erase(loop.op());
      return node.importer().CountRepeats(spec.body_nodes, node.location());
    };
    OpBuilder builder = OpBuilder::AtEnd(context, body);
    absl::StatusOr<std::vector<Value>> run = spec.run(builder, counter, carried);
    if (!run.ok() && WidenAll(types)) {
      // What cannot be for the initial extents may be fine for others.
      TENON_RETURN_IF_ERROR(again());
      continue;
    }
    TENON_RETURN_IF_ERROR(run.status());
    if (spec.again != nullptr && std::exchange(*spec.again, false)) {
      TENON_RETURN_IF_ERROR(again());
      continue;
    }
    const std::vector<Value>& yielded = *run;
    bool widened = false;
    for (size_t i = 0; i < types.size(); ++i) {
      const Type was = types[i];
      if (Widen(types[i], yielded[i].type(), widened)) continue;
      return node.Unsupported(fmt::format("a carried value \"{}\" that is {} at first and {} later",
                                          spec.names[i], was.text(), yielded[i].type().text()),
                              "tensors of one element type and rank");
    }
    for (size_t i = 0; i < spec.scans.size(); ++i) {
      const Type type = yielded[types.size() + i].type();
      const int64_t axis = spec.scans[i].axis;
      if (!type.is_tensor()) {
        return node.Unsupported(fmt::format("a stacked value of type {}", type.text()),
                                "a tensor of known rank");
      }
      if (axis > type.rank()) {
        return node.Error(fmt::format("{} cannot be stacked along axis {}", type.text(), axis));
      }
    }
    if (!widened) {
      TENON_RETURN_IF_ERROR(ctl::YieldOp::Create(builder, node.location(), yielded).status());
      const std::vector<Type> results =
          ControlResultTypes(*loop.op(), RunsOfLoop(*loop.op(), node.importer().shape_data()));
      for (unsigned i = 0; i < results.size(); ++i) loop->result(i).set_type(results[i]);
      return loop.op();
    }
    TENON_RETURN_IF_ERROR(again());
  }
}

absl::StatusOr<Value> ToScalar(Node& node, Value value) {
  const Type type = value.type();
  if (type.rank() == 0) return value;
  if (type.is_static() && type.num_elements() != 1) {
    return node.Error(fmt::format("{} needs one element, got {}", node.op_type(), type.text()));
  }
  return node.Make<ten::ReshapeOp>(value, ten::ReshapeOp::Attrs{.shape = {}});
}

}  // namespace tenon::onnx
