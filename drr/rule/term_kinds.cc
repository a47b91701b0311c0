#include "drr/rule/term_kinds.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "ir/base/check.h"

namespace tenon::drr {
namespace {

Kinds KindsOfValue(const AttrValue& value) {
  struct Visitor {
    Kinds operator()(std::monostate) const { return kAllKinds; }
    Kinds operator()(bool) const { return kFlagKind; }
    Kinds operator()(int64_t) const { return kWholeKind; }
    Kinds operator()(double) const { return kRealKind; }
    Kinds operator()(const std::string&) const { return kTextKind; }
    Kinds operator()(const I64s&) const { return kWholesKind; }
    Kinds operator()(const F32s&) const { return kRealsKind; }
    Kinds operator()(const Dims&) const { return kWholesKind; }
    Kinds operator()(DType) const { return kTypeKind; }
    Kinds operator()(const Attribute&) const { return kAllKinds; }
    Kinds operator()(const DimExpr&) const { return kWholeKind; }
  };
  return std::visit(Visitor(), value);
}

Kinds KindsOfResult(TermKind kind) {
  switch (kind) {
    case TermKind::kAny:
      return kAllKinds;
    case TermKind::kValue:
      return kGraphKind;
    case TermKind::kFlag:
      return kFlagKind;
    case TermKind::kInteger:
    case TermKind::kExtent:
      return kWholeKind;
    case TermKind::kNumber:
      return kRealKind;
    case TermKind::kText:
      return kTextKind;
    case TermKind::kType:
      return kTypeKind;
    case TermKind::kIntegers:
    case TermKind::kExtents:
      return kWholesKind;
  }
  return kAllKinds;
}

// Of two numbers, or of two lists, one of which may have points.
Kinds Together(Kinds a, Kinds b, Kinds whole, Kinds real) {
  const Kinds both = whole | real;
  if ((a & both) == 0 || (b & both) == 0) return 0;
  return ((a & whole) != 0 && (b & whole) != 0 ? whole : 0) | ((a | b) & real);
}

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Kinds KindsOfCall(const TermNode& term, const KindsOfVariable& of_variable) {
  const auto operand = [&](size_t i) { return KindsOf(*term.operands[i], of_variable); };
  const std::string_view word = term.word->name;
  if (term.word->result != TermKind::kAny) return KindsOfResult(term.word->result);
  if (word == "if") return operand(1) | (term.operands.size() > 2 ? operand(2) : 0);
  if (word == "[]") {
    const Kinds list = operand(0), index = operand(1);
    Kinds kinds = 0;
    if ((index & kWholeKind) != 0)
      kinds |=
          ((list & kWholesKind) != 0 ? kWholeKind : 0) | ((list & kRealsKind) != 0 ? kRealKind : 0);
    // A list without elements is one of integers.
    if ((index & kListKinds) != 0 && (list & kListKinds) != 0) kinds |= list & kListKinds;
    return kinds;
  }
  if (IsOperator(*term.word)) {
    const Kinds a = operand(0), b = term.operands.size() > 1 ? operand(1) : a;
    return Together(a, b, kWholeKind, kRealKind) | Together(a, b, kWholesKind, kRealsKind);
  }
  if (IsOneOf(word, {"dim", "broadcast", "integer"})) return kWholeKind;
  if (word == "abs") return operand(0) & kNumberKinds;
  if (IsOneOf(word, {"min", "max"})) return (operand(0) | operand(1)) & kNumberKinds;
  if (IsOneOf(word, {"product", "smallest", "only"})) {
    const Kinds list = operand(0);
    return ((list & kWholesKind) != 0 ? kWholeKind : 0) |
           ((list & kRealsKind) != 0 ? kRealKind : 0);
  }
  if (IsOneOf(word, {"take", "drop", "padded", "swap_last", "with_ones"}))
    return operand(0) & kListKinds;
  return word == "known" ? operand(0) : kAllKinds;
}

Kinds KindsOfList(const TermNode& list, const KindsOfVariable& of_variable) {
  Kinds kinds = kListKinds;
  bool real = list.operands.empty();
  for (const TermRef& operand : list.operands) {
    if (operand->kind == TermNode::Kind::kOnes || operand->kind == TermNode::Kind::kRest) continue;
    const bool spread = operand->kind == TermNode::Kind::kSpread;
    const Kinds element = KindsOf(spread ? *operand->operands[0] : *operand, of_variable);
    if ((element & (spread ? kListKinds : kNumberKinds)) == 0) return 0;
    if ((element & (spread ? kWholesKind : kWholeKind)) == 0) kinds &= ~kWholesKind;
    real = real || (element & (spread ? kRealsKind : kRealKind)) != 0;
  }
  return real ? kinds : kinds & ~kRealsKind;
}

}  // namespace

Kinds KindsOf(const TermNode& term, const KindsOfVariable& of_variable) {
  switch (term.kind) {
    case TermNode::Kind::kLiteral:
      return KindsOfValue(term.literal);
    case TermNode::Kind::kArgument:
      if (term.argument.val) return kGraphKind;
      return term.argument.attr ? KindsOf(*term.argument.attr, of_variable) : kWholeKind;
    case TermNode::Kind::kCall:
      return KindsOfCall(term, of_variable);
    case TermNode::Kind::kList:
      return KindsOfList(term, of_variable);
    case TermNode::Kind::kSpread:
    case TermNode::Kind::kOnes:
    case TermNode::Kind::kRest:
      return kAllKinds;
  }
  return kAllKinds;
}

Kinds KindsOf(const AttrNode& attr, const KindsOfVariable& of_variable) {
  switch (attr.kind) {
    case AttrNode::Kind::kLiteral:
      return KindsOfValue(attr.literal);
    case AttrNode::Kind::kVariable:
      return of_variable(attr);
    case AttrNode::Kind::kCompute:
      return attr.term ? KindsOf(*attr.term, of_variable) : kAllKinds;
    case AttrNode::Kind::kAny:
      return kAllKinds;
    case AttrNode::Kind::kDim:
      return kWholeKind;
    case AttrNode::Kind::kDims:
      return kWholesKind;
  }
  return kAllKinds;
}

Kinds KindsHeldBy(AttrType type) {
  switch (type) {
    case AttrType::kUnit:
    case AttrType::kBool:
      return kFlagKind;
    case AttrType::kI64:
      return kWholeKind;
    case AttrType::kF32:
    case AttrType::kF64:
      return kRealKind;
    case AttrType::kStr:
    case AttrType::kEnum:
    case AttrType::kSymbol:
      return kTextKind;
    case AttrType::kI64s:
    case AttrType::kDims:
      return kWholesKind;
    case AttrType::kF32s:
      return kRealsKind;
    case AttrType::kType:
      return kTypeKind;
    case AttrType::kTypeAttr:
      return kTypeKind | kOtherKind;
    case AttrType::kElements:
      return kOtherKind;
    case AttrType::kAny:
      return kAllKinds;
  }
  return kAllKinds;
}

Kinds KindsTakenBy(AttrType type) {
  const Kinds held = KindsHeldBy(type);
  if ((held & kNumberKinds) != 0) return held | kNumberKinds;
  return type == AttrType::kF32s ? kListKinds : held;
}

bool MayBeEqual(Kinds a, Kinds b) {
  const auto both = [&](Kinds kinds) { return (a & kinds) != 0 && (b & kinds) != 0; };
  return (a & b) != 0 || both(kNumberKinds) || both(kListKinds);
}

std::string NameOfKinds(Kinds kinds) {
  static constexpr std::pair<Kinds, const char*> kNames[] = {
      {kWholeKind, "an integer"},
      {kRealKind, "a number"},
      {kNumberKinds, "a number"},
      {kFlagKind, "true or false"},
      {kTextKind, "a text"},
      {kTypeKind, "an element type"},
      {kWholesKind, "a list of integers"},
      {kRealsKind, "a list of numbers"},
      {kListKinds, "a list"},
      {kGraphKind, "a value of the graph"},
      {kOtherKind, "the contents of a tensor"}};
  for (const auto& [set, name] : kNames)
    if (set == kinds) return name;
  std::string names;
  for (Kinds bit = 1; bit <= kOtherKind; bit <<= 1)
    if ((kinds & bit) != 0) names += (names.empty() ? "" : " or ") + NameOfKinds(bit);
  return names.empty() ? "what has no value" : names;
}

}  // namespace tenon::drr
