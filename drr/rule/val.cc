#include "drr/rule/val.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace tenon::drr {
namespace {

ValRef MakeNode(ValNode node) {
  const auto add = [&node](const ValRef& part) {
    node.depth = std::max(node.depth, part.node->depth + 1);
  };
  for (const ValRef& alternative : node.alternatives) add(alternative);
  for (const auto& group : node.operands) {
    for (const OperandPattern& operand : group) add(operand.val);
  }
  return {std::make_shared<ValNode>(std::move(node)), 0};
}

}  // namespace

Val::Val(const char* name) {
  ValNode node{};
  node.kind = ValNode::Kind::kVariable;
  node.name = name;
  ref_ = MakeNode(std::move(node));
}

Val Val::As(const char* name) const {
  ValNode node = *ref_.node;
  node.name = name;
  return Val(ValRef{std::make_shared<ValNode>(std::move(node)), ref_.result});
}

Val Val::Let(AttrRef variable, AttrRef value) const {
  return MakeLet(*this, std::move(variable), std::move(value));
}

ValList::ValList(std::initializer_list<Val> vals) {
  for (const Val& val : vals) operands_.push_back({val.ref(), false});
}

Val Const(const char* name) {
  ValNode node{};
  node.kind = ValNode::Kind::kVariable;
  node.name = name;
  node.constant = true;
  return Val(MakeNode(std::move(node)));
}

OptVal Maybe(const Val& val) { return OptVal(val.ref(), true); }

Val Each(const char* name) {
  ValNode node{};
  node.kind = ValNode::Kind::kEach;
  node.name = name;
  return Val(MakeNode(std::move(node)));
}

Val Each(const Val& mapped) {
  ValNode node{};
  node.kind = ValNode::Kind::kEach;
  node.alternatives.push_back(mapped.ref());
  return Val(MakeNode(std::move(node)));
}

Val Splat(double value) { return MakeSplat(MakeLiteral(value)); }
Val Splat(const Attr<float>& variable) { return MakeSplat(variable.node()); }
Val Splat(const Computed<double>& computed) { return MakeSplat(computed.node()); }
Val Splat(const Term& term) { return MakeSplat(MakeTermAttr(term)); }

Val MakeSplat(AttrRef splat) {
  ValNode node{};
  node.kind = ValNode::Kind::kSplat;
  node.splat = std::move(splat);
  return Val(MakeNode(std::move(node)));
}

Val MakeLet(const Val& val, AttrRef variable, AttrRef value) {
  ValNode node{};
  node.kind = ValNode::Kind::kLet;
  node.alternatives.push_back(val.ref());
  node.let_variable = std::move(variable);
  node.let_value = std::move(value);
  return Val(MakeNode(std::move(node)));
}

Val MakeAnyOf(std::vector<ValRef> alternatives) {
  ValNode node{};
  node.kind = ValNode::Kind::kAnyOf;
  node.alternatives = std::move(alternatives);
  return Val(MakeNode(std::move(node)));
}

Val MakeOp(std::string_view op, std::vector<std::vector<OperandPattern>> operands,
           const std::vector<std::pair<std::string, AttrRef>>& attrs) {
  ValNode node{};
  node.kind = ValNode::Kind::kOp;
  node.op = std::string(op);
  node.operands = std::move(operands);
  for (const auto& [name, attr] : attrs) {
    if (attr != nullptr) node.attrs.emplace_back(name, attr);
  }
  std::sort(node.attrs.begin(), node.attrs.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  return Val(MakeNode(std::move(node)));
}

}  // namespace tenon::drr
