#include "drr/val.h"

#include <algorithm>

#include "fmt/format.h"

namespace tenon::drr {
namespace {

ValRef MakeNode(ValNode node) { return {std::make_shared<ValNode>(std::move(node)), 0}; }

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

Val Splat(double value) { return MakeSplat(MakeLiteral(value)); }
Val Splat(const Attr<float>& variable) { return MakeSplat(variable.node()); }
Val Splat(const Computed<double>& computed) { return MakeSplat(computed.node()); }

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

Computed<Dims> ShapeOf(const Val& val) {
  auto node = std::make_shared<AttrNode>();
  node->kind = AttrNode::Kind::kCompute;
  node->name = "shape";
  node->args = {ArgTraits<Val>::Ref(val)};
  node->compute = [](std::span<const BoundArg> args) -> AttrValue {
    Type type = args[0].value.type();
    if (!type.is_tensor()) return {};
    return Dims(type.dims().begin(), type.dims().end());
  };
  return Computed<Dims>(std::move(node));
}

std::string ToString(const ValRef& val) {
  const ValNode& node = *val.node;
  switch (node.kind) {
    case ValNode::Kind::kVariable:
      return node.constant ? "const " + node.name : node.name;
    case ValNode::Kind::kEach:
      return "each " + node.name;
    case ValNode::Kind::kSplat:
      return fmt::format("splat({})", ToString(*node.splat));
    case ValNode::Kind::kLet:
      return fmt::format("({} let {} = {})", ToString(node.alternatives[0]),
                         ToString(*node.let_variable), ToString(*node.let_value));
    case ValNode::Kind::kAnyOf: {
      std::string text = "any(";
      for (size_t i = 0; i < node.alternatives.size(); ++i) {
        text += (i > 0 ? " | " : "") + ToString(node.alternatives[i]);
      }
      return text + ")";
    }
    case ValNode::Kind::kOp:
      break;
  }
  std::string text = node.op + "(";
  bool first = true;
  for (const auto& group : node.operands) {
    if (group.empty()) {
      text += first ? "none" : ", none";
      first = false;
    }
    for (const OperandPattern& operand : group) {
      text += first ? "" : ", ";
      text +=
          operand.maybe ? fmt::format("maybe({})", ToString(operand.val)) : ToString(operand.val);
      first = false;
    }
  }
  text += ")";
  if (!node.attrs.empty()) {
    text += " {";
    for (size_t i = 0; i < node.attrs.size(); ++i) {
      text += fmt::format("{}{} = {}", i > 0 ? ", " : "", node.attrs[i].first,
                          ToString(*node.attrs[i].second));
    }
    text += "}";
  }
  if (val.result > 0) text += fmt::format("#{}", val.result);
  return text;
}

}  // namespace tenon::drr
