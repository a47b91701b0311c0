// Numbers, attributes and kinds in the text of rules.
#include <charconv>

#include "drr/text/text_parser.h"
#include "fmt/format.h"

namespace tenon::drr {

absl::StatusOr<double> RuleTextParser::Number() {
  double sign = 1;
  std::string_view text = token_.text;
  if (text.starts_with('-')) sign = -1, text.remove_prefix(1);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (token_.kind == Token::Kind::kString || error != std::errc() ||
      end != text.data() + text.size()) {
    return Expected("a number");
  }
  Next();
  return sign * value;
}

absl::StatusOr<int64_t> RuleTextParser::Integer() {
  if (Is("-")) {  // behind a name: "benefit -1"
    Next();
    TENON_ASSIGN_OR_RETURN(const int64_t size, Integer());
    return -size;
  }
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(token_.text.data(), token_.text.data() + token_.text.size(), value);
  if (token_.kind == Token::Kind::kNumber && error == std::errc::result_out_of_range &&
      end == token_.text.data() + token_.text.size()) {
    return ErrorAt(
        token_, fmt::format("'{}' is too large (expected a whole number of 64 bits)", token_.text));
  }
  if (token_.kind != Token::Kind::kNumber || error != std::errc() ||
      end != token_.text.data() + token_.text.size()) {
    return Expected("a whole number");
  }
  Next();
  return value;
}

absl::StatusOr<int> RuleTextParser::IntegerWithin(int low, int high) {
  const Token at = token_;
  TENON_ASSIGN_OR_RETURN(const int64_t value, Integer());
  if (value >= low && value <= high) return static_cast<int>(value);
  token_ = at;
  return Expected(fmt::format("a number from {} to {}", low, high));
}

absl::StatusOr<AttrRef> RuleTextParser::ParseAttr(AttrType type) {
  const Token at = token_;
  if (Take("any")) return MakeAnyAttr();
  TENON_ASSIGN_OR_RETURN(const Term term, ParseTerm());
  TENON_ASSIGN_OR_RETURN(const AttrRef attr, AsAttr(term, type, at));
  // A variable has the kind of its first use.
  if (attr->kind == AttrNode::Kind::kVariable && type != AttrType::kAny &&
      attr_kinds_.emplace(attr.get(), std::pair(attr, KindsHeldBy(type))).second)
    return attr;
  TENON_RETURN_IF_ERROR(CheckKind(KindsIn(*attr), type, at));
  return attr;
}

absl::Status RuleTextParser::CheckKind(Kinds given, AttrType type, const Token& at) const {
  if ((given & KindsTakenBy(type)) != 0) return absl::OkStatus();
  return ErrorAt(
      at, fmt::format("expected {}, got {}", NameOfKinds(KindsHeldBy(type)), NameOfKinds(given)));
}

absl::Status RuleTextParser::CheckOperands(std::string_view sign, const Term& a, const Token& at,
                                           const Term& b, const Token& right_at) const {
  const Kinds left = KindsIn(a);
  if (sign == "in") {
    for (const TermRef& element : b.node()->operands) {
      const Kinds given = KindsIn(Term(element));
      if (!MayBeEqual(left, given))
        return ErrorAt(right_at, fmt::format("expected {} in the list, got {}", NameOfKinds(left),
                                             NameOfKinds(given)));
    }
    return absl::OkStatus();
  }
  const Kinds right = KindsIn(b);
  if (sign == "==" || sign == "!=") {
    if (MayBeEqual(left, right)) return absl::OkStatus();
    return ErrorAt(right_at,
                   fmt::format("expected {}, got {}", NameOfKinds(left), NameOfKinds(right)));
  }
  const bool orders = sign.starts_with('<') || sign.starts_with('>');
  const Kinds taken = orders ? kNumberKinds : kNumberKinds | kListKinds;
  for (const auto& [kinds, place] : {std::pair(left, at), std::pair(right, right_at)}) {
    if ((kinds & taken) != 0) continue;
    const bool graph = kinds == kGraphKind;
    return ErrorAt(place, fmt::format("expected a number, got {}{}", NameOfKinds(kinds),
                                      graph ? " (its elements are known only of splat(…))" : ""));
  }
  return absl::OkStatus();
}

Kinds RuleTextParser::KindsIn(const AttrNode& attr) const {
  return KindsOf(attr, [&](const AttrNode& variable) {
    const auto known = attr_kinds_.find(&variable);
    return known != attr_kinds_.end() ? known->second.second : kAllKinds;
  });
}

Kinds RuleTextParser::KindsIn(const Term& term) const {
  AttrNode attr{AttrNode::Kind::kCompute, "", {}, {}, {}, {}, term.node()};
  return KindsIn(attr);
}

absl::StatusOr<AttrRef> RuleTextParser::AsAttr(const Term& term, AttrType type, const Token& at) {
  TENON_RETURN_IF_ERROR(CheckWhole(term, at));
  const TermNode& node = *term.node();
  const bool is_float = type == AttrType::kF32 || type == AttrType::kF64;
  if (node.kind == TermNode::Kind::kLiteral) {
    const int64_t* integer = std::get_if<int64_t>(&node.literal);
    if (is_float && integer != nullptr) return MakeLiteral(static_cast<double>(*integer));
    if (type == AttrType::kI64 && std::holds_alternative<double>(node.literal) &&
        at.text.find_first_not_of("-0123456789") == std::string_view::npos)
      return ErrorAt(
          at, fmt::format("'{}' is too large (expected a whole number of 64 bits)", at.text));
    if (type == AttrType::kI64 && std::holds_alternative<double>(node.literal))
      return ErrorAt(at, fmt::format("expected a whole number, got '{}'", at.text));
    return MakeLiteral(node.literal);
  }
  if (node.kind != TermNode::Kind::kList) return MakeTermAttr(term);
  if (type == AttrType::kDims) {
    if (const auto dims = AsDims(node)) return MakeDimsAttr(*dims);
  }
  std::vector<AttrValue> literals;
  for (const TermRef& operand : node.operands)
    if (operand->kind == TermNode::Kind::kLiteral) literals.push_back(operand->literal);
  if (literals.size() != node.operands.size()) return MakeTermAttr(term);
  I64s integers;
  F32s floats;
  for (const AttrValue& literal : literals) {
    const int64_t* integer = std::get_if<int64_t>(&literal);
    const double* number = std::get_if<double>(&literal);
    if (integer == nullptr && (number == nullptr || type == AttrType::kI64s))
      return ErrorAt(at, "expected a list of whole numbers");
    if (integer != nullptr) integers.push_back(*integer);
    floats.push_back(static_cast<float>(integer != nullptr ? *integer : *number));
  }
  if (type == AttrType::kF32s || integers.size() < floats.size()) return MakeLiteral(floats);
  return MakeLiteral(integers);
}

}  // namespace tenon::drr
