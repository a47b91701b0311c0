// What a match says of the program and of the rule, for people.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "ir/core/constants/constant.h"
#include "ir/core/location.h"

namespace tenon::drr {
namespace {

void AddDescriptions(const Context& context, Location location, std::vector<std::string>& out) {
  const LocationData& data = Resolve(context, location);
  if (data.kind == Location::Kind::kFused || data.kind == Location::Kind::kCallSite) {
    for (Location part : data.parts) AddDescriptions(context, part, out);
    return;
  }
  std::string text = DescribeLocation(context, location);
  if (!text.empty() && std::find(out.begin(), out.end(), text) == out.end())
    out.push_back(std::move(text));
}

}  // namespace

std::vector<std::string> DescribeAllLocations(const Context& context, Location location) {
  std::vector<std::string> all;
  AddDescriptions(context, location, all);
  return all;
}

std::string DescribeOp(const Operation* op) {
  const std::string node = DescribeLocation(op->context(), op->location());
  return node.empty() ? std::string(op->name())
                      : fmt::format("{} at {}", op->name(), ShownName(node));
}

std::string Matcher::Describe(Value value) const {
  if (!value) return "nothing";
  if (Operation* op = value.defining_op()) {
    if (!op->Has(Trait::kConstantLike)) return DescribeOp(op);
    const Attribute elements = ConstantElementsOf(op);
    if (elements && (elements.is_splat() || elements.type().num_elements() == 1)) {
      const double number = elements.ElementAsDouble(0);
      // The shortest text that means this number in its type.
      const std::string text = elements.type().dtype() == DType::kF64
                                   ? fmt::format("{}", number)
                                   : fmt::format("{}", static_cast<float>(number));
      return fmt::format("the constant {} : {}", text, value.type().text());
    }
    return "a constant of type " + value.type().text();
  }
  return "an argument of type " + value.type().text();
}

std::string Matcher::OperandOf(const Goal& goal) {
  const Operation* op = goal.parent;
  if (op == nullptr || goal.value.defining_op() == op) return "it";
  if (goal.position < op->num_operands() && op->operand(goal.position) == goal.value)
    return fmt::format("operand {}", goal.position);
  for (unsigned i = 0; i < op->num_operands(); ++i) {
    if (op->operand(i) == goal.value) return fmt::format("operand {}", i);
  }
  return "an operand";
}

Operation* Matcher::MatchedOpOf(Value value) const {
  if (tolerance_ == 0 && miss_ == nullptr) return nullptr;
  if (Operation* def = value.defining_op(); def != nullptr && IsMatched(def)) return def;
  for (Operation* op : matched_) {
    for (const OpOperand& operand : op->operands()) {
      if (operand.get() == value) return op;
    }
  }
  return matched_[0];
}

// The first op that one of the condition's arguments belongs to.
Operation* Matcher::MatchedOpOf(const ConditionCode& condition) const {
  if (tolerance_ == 0 && miss_ == nullptr) return nullptr;
  auto is_variable = [](const AttrCode& code, uint16_t variable) {
    return code.kind == AttrCode::Kind::kVariable && code.variable == variable;
  };
  for (const ArgCode& arg : condition.args) {
    for (size_t n = 0; n < rule_->nodes.size() && arg.attr != kNone; ++n) {
      const Node& node = rule_->nodes[n];
      if (!node.in_source || !bound_[n].bound) continue;
      if (node.kind == ValNode::Kind::kSplat && is_variable(node.splat, arg.attr))
        return MatchedOpOf(bound_[n].value);
      const bool has = std::any_of(node.attrs.begin(), node.attrs.end(), [&](const AttrCode& code) {
        return is_variable(code, arg.attr);
      });
      if (has) return bound_[n].op;
    }
    if (arg.edge.node != kNone && ValueOf(arg.edge)) return MatchedOpOf(ValueOf(arg.edge));
    if (arg.dim == kNone) continue;
    for (const ConditionCode& shape : rule_->conditions) {
      if (shape.source->kind != ConditionNode::Kind::kShape || !ValueOf(shape.args[0].edge))
        continue;
      for (uint16_t dim : shape.shape) {
        if (rule_->dims[dim].kind == DimNode::Kind::kVariable &&
            rule_->dims[dim].variable == rule_->dims[arg.dim].variable)
          return MatchedOpOf(ValueOf(shape.args[0].edge));
      }
    }
  }
  return matched_[0];
}

std::string Matcher::Particulars(const ConditionCode& condition) const {
  std::string text;
  for (size_t i = 0; i < condition.args.size() && i < condition.source->args.size(); ++i) {
    const ArgRef& ref = condition.source->args[i];
    // The conditions that one text stands for may ask about one thing.
    const auto before = condition.source->args.begin() + static_cast<ptrdiff_t>(i);
    if (std::any_of(condition.source->args.begin(), before, [&](const ArgRef& other) {
          return other.val == ref.val && other.attr == ref.attr && other.dim == ref.dim;
        }))
      continue;
    bool bound = false;
    const BoundArg arg = ReadArg(condition.args[i], bound);
    if (!bound) continue;
    if (!text.empty()) text += ", ";
    if (ref.val != nullptr) {
      const std::string& name = ref.val->name.empty() ? ref.val->op : ref.val->name;
      text += fmt::format("{}{}is {}", name, name.empty() ? "it " : " ", arg.value.type().text());
    } else if (ref.attr != nullptr) {
      text += fmt::format("{} is {}", ref.attr->name, drr::ToString(ToAttrValue(arg)));
    } else {
      text += fmt::format("{} is {}", DimText(condition.args[i].dim, true), arg.dim.text());
    }
  }
  return text;
}

}  // namespace tenon::drr
