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

namespace {

class ValText {
 public:
  std::string Of(const ValRef& val) {
    Add(val);
    return std::move(text_);
  }

 private:
  static constexpr size_t kMost = size_t{1} << 16;

  void Add(const ValRef& val) {
    if (text_.size() > kMost) {
      text_ += "…";
      return;
    }
    const ValNode& node = *val.node;
    switch (node.kind) {
      case ValNode::Kind::kVariable:
        text_ += node.constant ? "const " + node.name : node.name;
        return;
      case ValNode::Kind::kEach:
        text_ += "each " + node.name;
        return;
      case ValNode::Kind::kSplat:
        text_ += fmt::format("splat({})", ToString(*node.splat));
        return;
      case ValNode::Kind::kLet:
        text_ += "(";
        Add(node.alternatives[0]);
        text_ +=
            fmt::format(" let {} = {})", ToString(*node.let_variable), ToString(*node.let_value));
        return;
      case ValNode::Kind::kAnyOf:
        text_ += "any(";
        for (size_t i = 0; i < node.alternatives.size(); ++i) {
          text_ += i > 0 ? " | " : "";
          Add(node.alternatives[i]);
        }
        text_ += ")";
        return;
      case ValNode::Kind::kOp:
        AddOp(node);
        if (val.result > 0) text_ += fmt::format("#{}", val.result);
    }
  }

  void AddOp(const ValNode& node) {
    std::string_view separator = "";
    const auto separate = [&] { text_ += std::exchange(separator, ", "); };
    text_ += node.op + "(";
    for (const auto& group : node.operands) {
      if (group.empty()) {
        separate();
        text_ += "none";
      }
      for (const OperandPattern& operand : group) {
        separate();
        text_ += operand.maybe ? "maybe(" : "";
        Add(operand.val);
        text_ += operand.maybe ? ")" : "";
      }
    }
    text_ += ")";
    if (node.attrs.empty()) return;
    separator = "";
    text_ += " {";
    for (const auto& [name, value] : node.attrs) {
      separate();
      text_ += fmt::format("{} = {}", name, ToString(*value));
    }
    text_ += "}";
  }

  std::string text_;
};

}  // namespace

std::string ToString(const ValRef& val) { return ValText().Of(val); }

}  // namespace tenon::drr
