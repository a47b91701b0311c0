// Operands and how they are named.
#include <algorithm>
#include <charconv>

#include "fmt/format.h"
#include "ir/base/suggest.h"
#include "ir/core/text/op_parser.h"

namespace tenon {

bool OpParser::ParseUses(Uses& uses, AllNamedUses& named) {
  if (!Expect(TokenKind::kLParen, "'(' before operands")) return false;
  if (Consume(TokenKind::kRParen)) return true;
  do {
    if (At(TokenKind::kBareId)) {
      if (!ParseNamedUses(uses, named)) return false;
    } else if (!ParseUse(uses.emplace_back())) {
      return false;
    }
  } while (Consume(TokenKind::kComma));
  return Expect(TokenKind::kRParen, "',' or ')' in operands");
}

bool OpParser::ParseNamedUses(Uses& uses, AllNamedUses& named) {
  NamedUses group{token_.text, offset(), uses.size(), 1};
  Advance();
  if (!Expect(TokenKind::kEqual, "'=' after the name of an operand")) return false;
  if (!Consume(TokenKind::kLSquare)) {
    if (!ParseUse(uses.emplace_back())) return false;
  } else if (!Consume(TokenKind::kRSquare)) {
    do {
      if (!ParseUse(uses.emplace_back())) return false;
    } while (Consume(TokenKind::kComma));
    if (!Expect(TokenKind::kRSquare, "',' or ']' in operands")) return false;
  }
  group.count = uses.size() - group.first;
  named.push_back(group);
  return true;
}

bool OpParser::ParseUse(Use& use) {
  use.name = token_.text;
  use.offset = offset();
  if (!Expect(TokenKind::kPercentId, "an operand such as %0")) return false;
  if (!At(TokenKind::kHashId)) return true;
  std::string_view text = token_.text.substr(1);
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), use.number);
  if (error != std::errc() || end != text.data() + text.size())
    return ErrorExpected("a result number such as #0");
  Advance();
  return true;
}

bool OpParser::ParseSignature(const Uses& uses, OperationState& state) {
  if (!Expect(TokenKind::kColon, "':' and the type of the op")) return false;
  size_t at = offset();
  // As ParseFunctionType, but straight into the op's state.
  if (!Expect(TokenKind::kLParen, "'(' before operand types")) return false;
  size_t count = 0;
  if (!Consume(TokenKind::kRParen)) {
    do {
      Type type;
      if (!ParseType(type)) return false;
      if (count >= uses.size()) {
        return ErrorAt(at, fmt::format("more operand types than operands ({})", uses.size()));
      }
      Value value;
      if (!Resolve(uses[count++], type, value)) return false;
      state.operands.push_back(value);
    } while (Consume(TokenKind::kComma));
    if (!Expect(TokenKind::kRParen, "',' or ')' in operand types")) return false;
  }
  if (count != uses.size()) {
    return ErrorAt(at, fmt::format("{} operands, but {} operand types", uses.size(), count));
  }
  if (!Expect(TokenKind::kArrow, "'->' and result types")) return false;
  if (!Consume(TokenKind::kLParen)) return ParseType(state.result_types.emplace_back());
  if (Consume(TokenKind::kRParen)) return true;
  do {
    if (!ParseType(state.result_types.emplace_back())) return false;
  } while (Consume(TokenKind::kComma));
  return Expect(TokenKind::kRParen, "',' or ')' in result types");
}

bool OpParser::ArrangeOperands(size_t at, const AllNamedUses& named, OperationState& state) {
  const OpInfo& info = *state.info;
  const int slot = info.segment_slot();
  const bool has_sizes = slot >= 0 && static_cast<size_t>(slot) < state.slots.size() &&
                         state.slots[static_cast<size_t>(slot)];
  if (has_sizes && named.empty()) return true;
  if (has_sizes) return ErrorAt(named[0].offset, "operandSegmentSizes leaves operands no names");
  if (!info.is_registered()) {
    return ErrorAt(named[0].offset,
                   fmt::format("op '{}' has no definition that names its operands", info.name()));
  }
  const std::vector<OperandDef>& groups = info.def().operands;
  std::vector<const NamedUses*> given(groups.size());
  size_t unnamed = state.operands.size();
  for (const NamedUses& uses : named) {
    size_t g = 0;
    while (g < groups.size() && groups[g].name != uses.name) ++g;
    if (g == groups.size()) {
      std::vector<std::string> names;
      for (const OperandDef& group : groups) names.push_back(group.name);
      return ErrorAt(uses.offset, fmt::format("op '{}' has no operand '{}'{}", info.name(),
                                              uses.name, DidYouMean(uses.name, names)));
    }
    if (given[g] != nullptr) {
      return ErrorAt(uses.offset, fmt::format("operand '{}' is given twice", uses.name),
                     {NoteAt(given[g]->offset, "the first time is here")});
    }
    if (groups[g].arity != Arity::kVariadic &&
        (uses.count > 1 || (uses.count == 0 && groups[g].arity == Arity::kSingle))) {
      return ErrorAt(uses.offset, fmt::format("operand '{}' of op '{}' is one value, got {}",
                                              uses.name, info.name(), uses.count));
    }
    given[g] = &uses;
    unnamed -= uses.count;
  }
  // Operands without a name belong to the groups of one operand. If no other group is left that
  // could have them, the only group of another size has the rest.
  size_t singles = 0;
  std::string names, others;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (given[g] != nullptr) continue;
    const bool single = groups[g].arity == Arity::kSingle;
    singles += single;
    std::string& list = single ? names : others;
    list += list.empty() ? groups[g].name : ", " + groups[g].name;
  }
  const bool has_rest = slot < 0 && unnamed > singles && !others.empty();
  if (unnamed != singles && !has_rest) {
    return ErrorAt(
        at, fmt::format("op '{}' takes {} operand{} without a name{}, got {}{}", info.name(),
                        singles, singles == 1 ? "" : "s",
                        names.empty() ? "" : fmt::format(" ({})", names), unnamed,
                        others.empty() ? ""
                                       : fmt::format(" (expected others by name, like `{} = %x`)",
                                                     others.substr(0, others.find(',')))));
  }
  // The uses without a name, in the order of the text.
  std::vector<bool> is_named(state.operands.size());
  for (const NamedUses& uses : named)
    std::fill_n(is_named.begin() + static_cast<std::ptrdiff_t>(uses.first), uses.count, true);
  size_t next = 0;
  absl::InlinedVector<Value, 6> operands;
  std::vector<int64_t> sizes;
  for (size_t g = 0; g < groups.size(); ++g) {
    if (const NamedUses* uses = given[g]) {
      for (size_t i = 0; i < uses->count; ++i) operands.push_back(state.operands[uses->first + i]);
      sizes.push_back(static_cast<int64_t>(uses->count));
      continue;
    }
    const size_t rest = has_rest ? unnamed - singles : 0;
    const size_t count = groups[g].arity == Arity::kSingle ? 1 : rest;
    for (size_t i = 0; i < count; ++i) {
      while (is_named[next]) ++next;
      operands.push_back(state.operands[next++]);
    }
    sizes.push_back(static_cast<int64_t>(count));
  }
  state.operands = std::move(operands);
  if (slot < 0) return true;
  state.slots.resize(static_cast<size_t>(info.num_slots()));
  state.slots[static_cast<size_t>(slot)] = Attribute::Ints(context_, DType::kI32, sizes);
  return true;
}

}  // namespace tenon
