// Terms, attributes and conditions as text.
#include <algorithm>
#include <cctype>
#include <utility>

#include "drr/rule/rule_text.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace tenon::drr {
namespace {

// A number whose text tells that it is no integer.
std::string RealText(double number) {
  std::string text = fmt::format("{}", number);
  return text.find_first_of(".ein") == std::string::npos ? text + ".0" : text;
}

std::string LiteralText(const AttrValue& value) {
  if (const double* number = std::get_if<double>(&value)) return RealText(*number);
  return ToString(value);
}

// How strongly an operator binds its operands.
int BindingOf(const Word& word, size_t arity) {
  const std::string_view name = word.name;
  if (name == "||") return 1;
  if (name == "&&") return 2;
  if (name == "in" || name.starts_with("=") || name == "!=" || name[0] == '<' || name[0] == '>')
    return 3;
  if (arity == 1) return 6;
  return name == "+" || name == "-" ? 4 : 5;
}

}  // namespace

std::string QuotedText(std::string text) {
  std::replace(text.begin(), text.end(), '"', '\'');
  std::replace(text.begin(), text.end(), '\n', ' ');
  return '"' + text + '"';
}

std::string RuleWriter::DimText(const DimNode& dim) {
  switch (dim.kind) {
    case DimNode::Kind::kVariable:
      return NameOfDim(dim);
    case DimNode::Kind::kConstant:
      return fmt::format("{}", dim.value);
    case DimNode::Kind::kAny:
      return "?";
    case DimNode::Kind::kAdd:
      return fmt::format("({} + {})", DimText(*dim.a), DimText(*dim.b));
    case DimNode::Kind::kSub:
      return fmt::format("({} - {})", DimText(*dim.a), DimText(*dim.b));
    case DimNode::Kind::kMul:
      return fmt::format("{} * {}", DimText(*dim.a), DimText(*dim.b));
  }
  return "";
}

std::string RuleWriter::AttrText(const AttrNode& attr, bool typed) {
  switch (attr.kind) {
    case AttrNode::Kind::kLiteral:
      return typed ? ToString(attr.literal) : LiteralText(attr.literal);
    case AttrNode::Kind::kVariable:
      return NameOfAttr(attr);
    case AttrNode::Kind::kAny:
      return "any";
    case AttrNode::Kind::kDim:
      return DimText(*attr.dims[0]);
    case AttrNode::Kind::kDims: {
      std::string text;
      for (const DimRef& dim : attr.dims) text += (text.empty() ? "" : ", ") + DimText(*dim);
      return "{" + text + "}";
    }
    case AttrNode::Kind::kCompute: {
      if (attr.term != nullptr) return TermText(*attr.term);
      std::string text = "compute(";
      for (size_t i = 0; i < attr.args.size(); ++i)
        text += (i > 0 ? ", " : "") + ArgText(attr.args[i]);
      return text + ")";
    }
  }
  return "";
}

std::string RuleWriter::ArgText(const ArgRef& arg) {
  if (arg.attr) return AttrText(*arg.attr, false);
  if (arg.dim) return DimText(*arg.dim);
  if (!arg.val) return "none";
  if (rule_ != nullptr) return ValText({arg.val, arg.result});
  if (!arg.val->name.empty()) return arg.val->name;
  return arg.val->kind == ValNode::Kind::kOp ? arg.val->op : "the matched value";
}

std::string RuleWriter::TermText(const TermNode& term) {
  std::string before = std::exchange(text_, "");
  AddTerm(term, 0);
  return std::exchange(text_, std::move(before));
}

void RuleWriter::AddTerm(const TermNode& term, int binding) {
  switch (term.kind) {
    case TermNode::Kind::kLiteral:
      text_ += LiteralText(term.literal);
      return;
    case TermNode::Kind::kArgument:
      text_ += ArgText(term.argument);
      return;
    case TermNode::Kind::kOnes:
      text_ += "1...";
      return;
    case TermNode::Kind::kRest:
      text_ += "...";
      return;
    case TermNode::Kind::kSpread:
      AddTerm(*term.operands[0], 6);
      text_ += "...";
      return;
    case TermNode::Kind::kList:
      text_ += "{";
      for (size_t i = 0; i < term.operands.size(); ++i) {
        text_ += i > 0 ? ", " : "";
        AddTerm(*term.operands[i], 0);
      }
      text_ += "}";
      return;
    case TermNode::Kind::kCall:
      AddCall(term, binding);
  }
}

void RuleWriter::AddCall(const TermNode& term, int binding) {
  const Word& word = *term.word;
  const auto& operands = term.operands;
  if (word.name == "[]") {
    AddTerm(*operands[0], 7);
    text_ += "[";
    AddTerm(*operands[1], 0);
    text_ += "]";
    return;
  }
  if (!IsOperator(word) || std::isalpha(static_cast<unsigned char>(word.name[0])) != 0) {
    if (word.name != "in") {
      text_ += std::string(word.name) + "(";
      for (size_t i = 0; i < operands.size(); ++i) {
        text_ += i > 0 ? ", " : "";
        AddTerm(*operands[i], 0);
      }
      text_ += ")";
      return;
    }
  }
  const int own = BindingOf(word, operands.size());
  if (own < binding) text_ += "(";
  if (operands.size() == 1) {
    text_ += word.name;
    AddTerm(*operands[0], own);
  } else {
    // Comparisons have no comparisons as operands; the others bind to the left.
    AddTerm(*operands[0], own == 3 ? 4 : own);
    text_ += fmt::format(" {} ", word.name);
    AddTerm(*operands[1], own + 1);
  }
  if (own < binding) text_ += ")";
}

std::string RuleWriter::PartsText(const std::vector<std::shared_ptr<const ConditionNode>>& nodes) {
  std::string text;
  for (const auto& node : nodes) text += (text.empty() ? "" : " && ") + ConditionText(*node);
  return nodes.size() > 1 ? "(" + text + ")" : text;
}

std::string RuleWriter::ConditionText(const ConditionNode& c) {
  using Asks = ConditionNode::Asks;
  const auto arg = [&](size_t i) { return ArgText(c.args[i]); };
  std::string text;
  if (c.kind == ConditionNode::Kind::kShape) {
    std::vector<std::string> parts;
    for (const DimRef& dim : c.shape) parts.push_back(DimText(*dim));
    if (c.rest >= 0) parts.insert(parts.begin() + c.rest, "...");
    return fmt::format("shape({}) == {{{}}}", arg(0), fmt::join(parts, ", "));
  }
  switch (c.asks) {
    case Asks::kOther:
      if (c.term != nullptr) {
        text = TermText(*c.term);
        break;
      }
      for (size_t i = 0; i < c.args.size(); ++i) text += (i > 0 ? ", " : "") + arg(i);
      return fmt::format("opaque({}) {}", text, QuotedText(c.text));
    case Asks::kRank:
      text = fmt::format("rank({}) == {}", arg(0), c.number);
      break;
    case Asks::kRankAtLeast:
      text = fmt::format("rank({}) >= {}", arg(0), c.number);
      break;
    case Asks::kConstant:
      text = fmt::format("constant({})", arg(0));
      break;
    case Asks::kDType:
      text = fmt::format("dtype({}) == {}", arg(0), Name(c.dtype));
      break;
    case Asks::kFloat:
      text = fmt::format("float({})", arg(0));
      break;
    case Asks::kSameType:
      for (size_t i = 0; i < c.args.size(); ++i) text += (i > 0 ? ", " : "") + arg(i);
      text = fmt::format("same_type({})", text);
      break;
    case Asks::kSameShape:
      text = fmt::format("shape({}) == shape({})", arg(0), arg(1));
      break;
    case Asks::kDim:
      text = fmt::format("dim({}, {}) == {}", arg(0), c.axis, c.number);
      break;
    case Asks::kEither:
      for (const auto& part : c.parts) text += (text.empty() ? "" : " || ") + PartsText(part);
      if (c.parts.size() > 1) text = "(" + text + ")";
      break;
    case Asks::kNot: {
      const auto& part = c.parts[0];
      const bool hinted = part.size() == 1 && (!part[0]->words.empty() ||
                                               (part[0]->constant && !part[0]->implies_constant));
      text = hinted ? "!(" + PartsText(part) + ")" : "!" + PartsText(part);
      break;
    }
  }
  if (c.constant && !c.implies_constant) text += " on constants";
  if (!c.words.empty()) text += " " + QuotedText(c.words);
  return text;
}

}  // namespace tenon::drr
