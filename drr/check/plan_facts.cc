// What programs of one rule have in common.
#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "drr/check/instance.h"

namespace tenon::drr {
namespace {

std::vector<uint16_t> DimsOf(const Node& node) {
  std::vector<uint16_t> dims;
  for (const AttrCode& code : node.attrs)
    dims.insert(dims.end(), code.dims.begin(), code.dims.end());
  return dims;
}

// Lets extents lie beyond the integers that the narrow float types of the result hold.
void WriteIndexLimits(const CompiledRule& rule, std::vector<int64_t>& written) {
  for (const Node& node : rule.nodes) {
    if (node.in_source || node.kind != ValNode::Kind::kOp || node.info->name() != "ten.cast")
      continue;
    for (const AttrCode& code : node.attrs) {
      if (code.kind != AttrCode::Kind::kLiteral) continue;
      const AttrValue to = ToAttrValue(code.literal);
      // Half of the indices lie beyond 2^8 or 2^11, where not every integer is held.
      if (to == AttrValue(DType::kBF16)) written.push_back(1 << 9);
      if (to == AttrValue(DType::kF16)) written.push_back(1 << 12);
    }
  }
}

}  // namespace

PlanFacts::PlanFacts(const CompiledRule& of)
    : rule(of), asked(NumbersOfConditions(of)), sought(of), producers(ProducersOf(of)) {
  const auto has = [&](std::initializer_list<std::string_view> ops) {
    return std::any_of(rule.nodes.begin(), rule.nodes.end(), [&](const Node& node) {
      return node.in_source && node.kind == ValNode::Kind::kOp &&
             std::find(ops.begin(), ops.end(), node.info->name()) != ops.end();
    });
  };
  const bool asks_of_input =
      std::any_of(rule.nodes.begin(), rule.nodes.end(), [&](const Node& node) {
        return node.in_source && node.kind == ValNode::Kind::kOp &&
               node.info->name() == "ten.is_nan" &&
               rule.nodes[node.operands[0][0].node].kind == ValNode::Kind::kVariable;
      });
  compares = asks_of_input ||
             has({"ten.less", "ten.less_equal", "ten.greater", "ten.greater_equal", "ten.equal"});
  asks_for_masks = has({"ten.is_nan", "ten.is_inf"});
  const auto write = [&](int64_t number) {
    if (number < -kLargestWritten || number > kLargestWritten || std::abs(number) < 2) return;
    written.push_back(std::abs(number));
  };
  for (const Node& node : rule.nodes) {
    for (const AttrCode& code : node.attrs) {
      if (code.kind != AttrCode::Kind::kLiteral || !code.literal) continue;
      const Attribute::Kind kind = code.literal.kind();
      if (kind == Attribute::Kind::kInteger) write(code.literal.int_value());
      if (kind == Attribute::Kind::kDenseArray && !IsFloat(code.literal.type().dtype()))
        for (const int64_t number : code.literal.ints()) write(number);
      if (kind == Attribute::Kind::kDims)
        for (const DimExpr dim : code.literal.dims())
          if (dim.is_constant()) write(dim.constant());
    }
    for (const uint16_t dim : DimsOf(node))
      if (rule.dims[dim].kind == DimNode::Kind::kConstant)
        write(rule.dims[dim].constant.constant());
  }
  if (has({"ten.range", "ten.argmax", "ten.argmin", "ten.topk", "ten.nonzero", "ten.shape"}))
    WriteIndexLimits(rule, written);
  for (uint16_t n = 0, end = static_cast<uint16_t>(rule.nodes.size()); n < end; ++n) {
    const Node& node = rule.nodes[n];
    has_lets |= node.kind == ValNode::Kind::kLet;
    if (node.kind == ValNode::Kind::kAnyOf) choices.push_back({n});
    for (size_t g = 0; g < node.operands.size(); ++g) {
      for (size_t i = 0; i < node.operands[g].size(); ++i)
        if (node.operands[g][i].maybe) choices.push_back({n, static_cast<uint16_t>(g), i});
    }
  }
}

bool IsAbsent(const AbsentOperands& absent, uint16_t node, size_t group, size_t position) {
  return std::find(absent.begin(), absent.end(),
                   PlanFacts::Choice{node, static_cast<uint16_t>(group), position}) != absent.end();
}

}  // namespace tenon::drr
