// Reductions, running sums and sorting.
#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {
namespace {

// A reduction along axes; `axes` is an i64 vector, or null where `fixed` holds them.
Value ReduceNode(Lowering& l, std::string_view kind, Value x, Value axes,
                 std::span<const int64_t> fixed, bool keepdims, bool noop) {
  Lowering::Attrs attrs = {{"keepdims", l.Int(keepdims ? 1 : 0)}};
  if (noop) attrs.emplace_back("noop_with_empty_axes", l.Int(1));
  const std::optional<NodeForm> form = FormOf(kind, l.opset());
  // Such axes are an input; a node that lacks it is an error.
  if (form && form->HasAttribute("axes") && !axes) {
    attrs.emplace_back("axes", l.IntList(fixed));
    return l.Node(kind, {x}, attrs);
  }
  return l.Node(kind, {x, axes ? axes : l.Ints(fixed)}, attrs);
}

template <typename Op>
void Reduce(Lowering& l, std::string_view kind) {
  const auto attrs = Op(&l.op()).attrs();
  const Value x = l.operand(0);
  if (attrs.axes.empty()) {
    // Without axes ONNX reduces all of them.
    return l.Done(l.Node(kind == "ReduceL2" ? "Abs" : "Identity", {x}));
  }
  l.Done(ReduceNode(l, kind, x, Value(), attrs.axes, attrs.keepdims, false));
}

void DynamicReduce(Lowering& l) {
  const auto attrs = ten::DynamicReduceOp(&l.op()).attrs();
  constexpr std::pair<std::string_view, std::string_view> kKinds[] = {
      {"sum", "ReduceSum"},
      {"mean", "ReduceMean"},
      {"max", "ReduceMax"},
      {"min", "ReduceMin"},
      {"prod", "ReduceProd"},
      {"l2", "ReduceL2"},
      {"log_sum_exp", "ReduceLogSumExp"}};
  for (const auto& [kind, node] : kKinds) {
    if (kind != attrs.kind) continue;
    return l.Done(ReduceNode(l, node, l.operand(0), l.ToI64(l.operand(1)), {}, attrs.keepdims,
                             attrs.noop_with_empty_axes));
  }
  l.Fail("its kind is not known");
}

Lowering::Attrs CumulativeAttrs(const Lowering& l, bool exclusive, bool reverse) {
  return {{"exclusive", l.Int(exclusive ? 1 : 0)}, {"reverse", l.Int(reverse ? 1 : 0)}};
}

void CumSum(Lowering& l) {
  const auto attrs = ten::CumsumOp(&l.op()).attrs();
  const Value axis = l.Scalar(DType::kI64, static_cast<double>(attrs.axis));
  l.Done(
      l.Node("CumSum", {l.operand(0), axis}, CumulativeAttrs(l, attrs.exclusive, attrs.reverse)));
}

void Cumulate(Lowering& l) {
  const auto attrs = ten::CumulateOp(&l.op()).attrs();
  l.Done(l.Node(attrs.product ? "CumProd" : "CumSum", {l.operand(0), l.operand(1)},
                CumulativeAttrs(l, attrs.exclusive, attrs.reverse)));
}

void TopK(Lowering& l, Value k, int64_t axis, bool largest, bool sorted) {
  Operation* node = l.Nodes("TopK", {l.operand(0), k},
                            {{"axis", l.Int(axis)},
                             {"largest", l.Int(largest ? 1 : 0)},
                             {"sorted", l.Int(sorted ? 1 : 0)}},
                            2);
  if (node == nullptr) return;
  const Value results[] = {node->result(0), node->result(1)};
  l.Done(results);
}

void Unique(Lowering& l) {
  const auto attrs = ten::UniqueOp(&l.op()).attrs();
  Lowering::Attrs node_attrs = {{"sorted", l.Int(attrs.sorted ? 1 : 0)}};
  if (!attrs.flat) node_attrs.emplace_back("axis", l.Int(attrs.axis));
  Operation* node = l.Nodes("Unique", {l.operand(0)}, node_attrs, 4);
  if (node == nullptr) return;
  const Value results[] = {node->result(0), node->result(1), node->result(2), node->result(3)};
  l.Done(results);
}

}  // namespace

bool LowerReduction(Lowering& l) {
  Operation& op = l.op();
  switch (op.id()) {
    case ten::ReduceSumOp::kId:
      Reduce<ten::ReduceSumOp>(l, "ReduceSum");
      return true;
    case ten::ReduceMeanOp::kId:
      Reduce<ten::ReduceMeanOp>(l, "ReduceMean");
      return true;
    case ten::ReduceMaxOp::kId:
      Reduce<ten::ReduceMaxOp>(l, "ReduceMax");
      return true;
    case ten::ReduceMinOp::kId:
      Reduce<ten::ReduceMinOp>(l, "ReduceMin");
      return true;
    case ten::ReduceProdOp::kId:
      Reduce<ten::ReduceProdOp>(l, "ReduceProd");
      return true;
    case ten::ReduceL2Op::kId:
      Reduce<ten::ReduceL2Op>(l, "ReduceL2");
      return true;
    case ten::ReduceLogSumExpOp::kId:
      Reduce<ten::ReduceLogSumExpOp>(l, "ReduceLogSumExp");
      return true;
    case ten::DynamicReduceOp::kId:
      DynamicReduce(l);
      return true;
    case ten::CumsumOp::kId:
      CumSum(l);
      return true;
    case ten::CumulateOp::kId:
      Cumulate(l);
      return true;
    case ten::TopkOp::kId: {
      const auto attrs = ten::TopkOp(&op).attrs();
      TopK(l, l.Extents(attrs.k), attrs.axis, attrs.largest, attrs.sorted);
      return true;
    }
    case ten::DynamicTopkOp::kId: {
      const auto attrs = ten::DynamicTopkOp(&op).attrs();
      const Value k = l.Node("Reshape", {l.ToI64(l.operand(1)), l.Ints({1})});
      TopK(l, k, attrs.axis, attrs.largest, attrs.sorted);
      return true;
    }
    case ten::UniqueOp::kId:
      Unique(l);
      return true;
    default:
      return false;
  }
}

}  // namespace tenon::onnx
