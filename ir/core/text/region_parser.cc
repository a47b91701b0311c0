// Blocks, regions, and what the names in them stand for.
#include <algorithm>
#include <optional>

#include "fmt/format.h"
#include "ir/core/text/op_parser.h"

namespace tenon {
namespace {

// The number of "%12"; nullopt for any other name, also "%012".
std::optional<size_t> NumberOf(std::string_view name) {
  if (name.size() < 2 || name.size() > 9 || (name[1] == '0' && name.size() > 2))
    return std::nullopt;
  size_t number = 0;
  for (char c : name.substr(1)) {
    if (c < '0' || c > '9') return std::nullopt;
    number = 10 * number + static_cast<size_t>(c - '0');
  }
  return number;
}

}  // namespace

const OpParser::Definition* OpParser::ValueScope::Find(std::string_view name) const {
  if (std::optional<size_t> number = NumberOf(name)) {
    if (const Definition* definition = FindNumbered(*number)) return definition;
  }
  auto it = named_.find(ToKey(name));
  return it == named_.end() ? nullptr : &it->second;
}

const OpParser::Definition* OpParser::ValueScope::Define(std::string_view name,
                                                         const Definition& definition) {
  if (const Definition* before = Find(name)) return before;
  ++num_defined_;
  std::optional<size_t> number = NumberOf(name);
  if (number && *number < 4 * num_defined_ + 64) {
    if (*number >= numbered_.size()) numbered_.resize(*number + 1);
    numbered_[*number] = definition;
  } else {
    named_.emplace(ToKey(name), definition);
  }
  return nullptr;
}

void OpParser::ValueScope::Forget(std::string_view name) {
  std::optional<size_t> number = NumberOf(name);
  if (number && FindNumbered(*number) != nullptr) {
    numbered_[*number] = Definition();
  } else {
    named_.erase(ToKey(name));
  }
}

bool OpParser::ParseRegion(Region& region, bool isolated) {
  struct Guard {
    explicit Guard(int& depth) : depth(depth) { ++depth; }
    ~Guard() { --depth; }
    int& depth;
  } guard(depth_);
  if (!CheckDepth() || !Expect(TokenKind::kLBrace, "'{' before a region")) return false;
  EnterScope(isolated);
  block_names_.push_back(std::make_unique<BlockNames>());
  if (!ParseBlocks(region) || !CheckBlocksDefined()) return false;
  block_names_.pop_back();
  return Expect(TokenKind::kRBrace, "'}' after a region") && LeaveScope(isolated);
}

bool OpParser::ParseBlocks(Region& region) {
  if (!At(TokenKind::kCaretId) && !At(TokenKind::kRBrace) && !ParseBody(region.AddBlock()))
    return false;
  while (At(TokenKind::kCaretId)) {
    const Mark mark = MarkHere();
    if (!ParseBlockLabel(region) && !Recover(mark, false)) return false;
    if (!ParseBody(&region.back())) return false;
  }
  return true;
}

bool OpParser::ParseBody(Block* block) {
  while (!At(TokenKind::kRBrace) && !At(TokenKind::kCaretId)) {
    if (AtEnd() || At(TokenKind::kMetadataBegin)) return ErrorExpected("'}' after a region");
    const Mark mark = MarkHere();
    if (!ParseOperation(block) && !Recover(mark, false)) return false;
  }
  return true;
}

bool OpParser::ParseBlockLabel(Region& region) {
  size_t at = offset();
  std::string_view name = token_.text;
  BlockEntry& entry = (*block_names_.back())[ToKey(name)];
  if (entry.block != nullptr && !entry.undefined) {
    return ErrorAt(at, fmt::format("block '{}' is defined twice", name),
                   {NoteAt(entry.offset, "the first definition is here")});
  }
  if (entry.block == nullptr) {
    entry.block = region.AddBlock();
  } else {
    region.Insert(std::move(entry.undefined), nullptr);
  }
  entry.offset = at;
  Block* block = entry.block;
  Advance();
  if (At(TokenKind::kLParen) && !ParseBlockArguments(block)) return false;
  return Expect(TokenKind::kColon, "':' after a block label");
}

bool OpParser::ParseBlockArguments(Block* block) {
  Advance();
  if (Consume(TokenKind::kRParen)) return true;
  do {
    Definition definition;
    definition.count = 1;
    definition.offset = offset();
    std::string_view name = token_.text;
    Type type;
    if (!Expect(TokenKind::kPercentId, "a block argument such as %arg0") ||
        !Expect(TokenKind::kColon, "':' and the type of a block argument") || !ParseType(type)) {
      return false;
    }
    Location location;
    if (options_.locate_by_text) location = LocationAt(PositionAt(definition.offset));
    std::string_view pending_alias;
    if (AtKeyword("loc") && !ParseTrailingLocation(location, pending_alias)) return false;
    definition.argument = block->AddArgument(type, location);
    if (!pending_alias.empty())
      arguments_located_later_.emplace_back(definition.argument, pending_alias);
    if (!Define(name, definition)) return false;
    KeepName(name, definition.argument);
  } while (Consume(TokenKind::kComma));
  return Expect(TokenKind::kRParen, "',' or ')' in block arguments");
}

Block* OpParser::ReferToBlock(std::string_view name, size_t at) {
  BlockEntry& entry = (*block_names_.back())[ToKey(name)];
  if (entry.block == nullptr) {
    entry.undefined = std::make_unique<Block>();
    entry.block = entry.undefined.get();
    entry.offset = at;
  }
  return entry.block;
}

void OpParser::EnterScope(bool isolated) {
  if (isolated) {
    scopes_.push_back(std::make_unique<ValueScope>());
  } else {
    ValueScope& scope = *scopes_.back();
    ++scope.nesting;
    scope.names.push_back(Key());  // marks the begin of the region
  }
}

bool OpParser::LeaveScope(bool isolated) {
  ValueScope& scope = *scopes_.back();
  if (isolated) {
    if (!CheckNoForwardUses(scope)) return false;
    scopes_.pop_back();
    return true;
  }
  ForgetRegion(scope);
  return true;
}

void OpParser::ForgetRegion(ValueScope& scope) {
  --scope.nesting;
  while (scope.names.back().data() != nullptr) {
    scope.Forget(std::string_view(scope.names.back().data(), scope.names.back().size()));
    scope.names.pop_back();
  }
  scope.names.pop_back();
}

bool OpParser::Define(std::string_view name, Definition definition) {
  ValueScope& scope = *scopes_.back();
  if (const Definition* before = scope.Define(name, definition)) {
    return ErrorAt(definition.offset, fmt::format("value '{}' is defined twice", name),
                   {NoteAt(before->offset, "the first definition is here")});
  }
  if (scope.nesting > 0) scope.names.push_back(ToKey(name));
  return scope.forward.empty() || ResolveForwardUses(ToKey(name), definition);
}

bool OpParser::ResolveForwardUses(Key name, const Definition& definition) {
  ValueScope& scope = *scopes_.back();
  auto it = scope.forward.find(name);
  if (it == scope.forward.end()) return true;
  for (auto& [number, use] : it->second) {
    if (number >= definition.count) {
      return ErrorAt(use.offset, fmt::format("'{}#{}' is out of range: there are {} results",
                                             std::string_view(name.data(), name.size()), number,
                                             definition.count));
    }
    Value value = definition.Get(number);
    if (value.type() != use.placeholder.type()) {
      return ErrorAt(definition.offset,
                     fmt::format("value '{}' has type {}, but a use before expects {}",
                                 std::string_view(name.data(), name.size()), value.type().text(),
                                 use.placeholder.type().text()),
                     {NoteAt(use.offset, "the use is here")});
    }
    use.placeholder.ReplaceAllUsesWith(value);
  }
  scope.forward.erase(it);
  return true;
}

bool OpParser::Resolve(const Use& use, Type type, Value& value) {
  ValueScope& scope = *scopes_.back();
  auto mismatch = [&](Type other, size_t at, const char* where) {
    if (value == unknown_) {
      value = placeholders_.AddArgument(type);
      return true;
    }
    return ErrorAt(use.offset,
                   fmt::format("use of value '{}' expects type {}, but it has type {}", use.name,
                               type.text(), other.text()),
                   {NoteAt(at, where)});
  };
  if (const Definition* definition = scope.Find(use.name)) {
    if (use.number >= definition->count) {
      return ErrorAt(use.offset, fmt::format("'{}#{}' is out of range: there are {} results",
                                             use.name, use.number, definition->count));
    }
    value = definition->Get(use.number);
    return value.type() == type ||
           mismatch(value.type(), definition->offset, "the definition is here");
  }
  auto [it, first] = scope.forward[ToKey(use.name)].try_emplace(use.number);
  ForwardUse& earlier = it->second;
  if (first) earlier = {placeholders_.AddArgument(type), use.offset};
  value = earlier.placeholder;
  return value.type() == type || mismatch(value.type(), earlier.offset, "an earlier use is here");
}

}  // namespace tenon
