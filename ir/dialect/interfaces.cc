// The interfaces (ir/core/interfaces/op_interfaces.h) of Tenon's own ops.
#include <algorithm>
#include <optional>
#include <string_view>

#include "ir/core/block.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon {
namespace {

using Edges = absl::InlinedVector<RegionEdge, 2>;

OperandRange OperandsFrom(const Operation& op, size_t first, size_t count) {
  const std::span<OpOperand> all = op.operands();
  if (first > all.size() || count > all.size() - first) return {};
  return {all.data() + first, count};
}

// The operands of the terminator of a region, from `first` on; at most `count`.
OperandRange Yielded(const Operation& op, int region, size_t first, size_t count) {
  const Region& from = op.region(static_cast<unsigned>(region));
  const Operation* end = from.empty() ? nullptr : from.front().terminator();
  if (end == nullptr || end->num_operands() < first) return {};
  return OperandsFrom(*end, first, std::min<size_t>(count, end->num_operands() - first));
}

class IfRegions : public RegionBranchInterface {
 public:
  Edges EdgesFrom(const Operation& op, int from) const override {
    if (from == RegionEdge::kParent) return {{.to = 0}, {.to = 1}};
    return {{.to = RegionEdge::kParent, .values = Yielded(op, from, 0, op.num_results())}};
  }
};

class ForRegions : public RegionBranchInterface {
 public:
  Edges EdgesFrom(const Operation& op, int from) const override {
    const LoopParts parts = PartsOfLoop(op);
    // Stacked results are made from what all iterations yield, so only the carried ones are named.
    const OperandRange carried = from == RegionEdge::kParent
                                     ? OperandsFrom(op, parts.first_init, parts.num_carried)
                                     : Yielded(op, from, 0, parts.num_carried);
    return {{.to = 0, .values = carried, .first = 1},
            {.to = RegionEdge::kParent, .values = carried}};
  }
};

class WhileRegions : public RegionBranchInterface {
 public:
  Edges EdgesFrom(const Operation& op, int from) const override {
    const LoopParts parts = PartsOfLoop(op);
    if (from == RegionEdge::kParent)
      return {{.to = 0, .values = OperandsFrom(op, 0, parts.num_carried)}};
    if (from == 1) return {{.to = 0, .values = Yielded(op, 1, 0, parts.num_carried)}};
    const OperandRange passed = Yielded(op, 0, 1, op.num_operands());
    return {{.to = 1, .values = passed}, {.to = RegionEdge::kParent, .values = passed}};
  }
};

class ForLoop : public LoopInterface {
 public:
  bool Repeats(const Operation&, unsigned) const override { return true; }
  bool RunsAlways(const Operation& loop, unsigned) const override {
    int64_t bounds[3];
    for (unsigned i = 0; i < 3; ++i) {
      const core::ConstantOp constant = DefinedBy<core::ConstantOp>(loop.operand(i));
      if (!constant || constant.value().type().num_elements() != 1) return false;
      const std::optional<int64_t> value = constant.value().ElementAsInt(0);
      if (!value) return false;
      bounds[i] = *value;
    }
    const auto [lower, upper, step] = bounds;
    return step > 0 ? lower < upper : step < 0 && lower > upper;
  }
};

class WhileLoop : public LoopInterface {
 public:
  bool Repeats(const Operation&, unsigned) const override { return true; }
  bool RunsAlways(const Operation&, unsigned region) const override { return region == 0; }
};

class FuncCall : public CallInterface {
 public:
  std::string_view Callee(const Operation& call) const override {
    const Attribute callee = call.attr("callee");
    return callee && callee.kind() == Attribute::Kind::kSymbolRef ? callee.str()
                                                                  : std::string_view();
  }
  void SetCallee(Operation& call, std::string_view callee) const override {
    call.SetAttr("callee", Attribute::SymbolRef(call.context(), callee));
  }
  OperandRange Arguments(const Operation& call) const override {
    return OperandsFrom(call, 0, call.num_operands());
  }
};

class FunctionBody : public CallableInterface {
 public:
  Region* Body(const Operation& callable) const override {
    Region& body = callable.region();
    return body.empty() ? nullptr : &body;
  }
};

}  // namespace

void AddIfInterfaces(InterfaceMap& interfaces) {
  interfaces.Add<RegionBranchInterface, IfRegions>();
}
void AddForInterfaces(InterfaceMap& interfaces) {
  interfaces.Add<RegionBranchInterface, ForRegions>();
  interfaces.Add<LoopInterface, ForLoop>();
}
void AddWhileInterfaces(InterfaceMap& interfaces) {
  interfaces.Add<RegionBranchInterface, WhileRegions>();
  interfaces.Add<LoopInterface, WhileLoop>();
}
void AddCallInterfaces(InterfaceMap& interfaces) { interfaces.Add<CallInterface, FuncCall>(); }
void AddFunctionInterfaces(InterfaceMap& interfaces) {
  interfaces.Add<CallableInterface, FunctionBody>();
}

}  // namespace tenon
