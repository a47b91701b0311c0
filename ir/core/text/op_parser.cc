#include "ir/core/text/op_parser.h"

#include <algorithm>
#include <charconv>
#include <span>

#include "fmt/format.h"
#include "ir/base/source_file.h"
#include "ir/base/suggest.h"
#include "ir/core/builder.h"

namespace tenon {

OpParser::~OpParser() {
  // After an error anything may refer to anything.
  if (module_) {
    for (unsigned i = 0; i < module_->num_regions(); ++i) module_->region(i).DropAllReferences();
  }
  for (auto& region : pending_regions_) region->DropAllReferences();
}

absl::StatusOr<OwnedOp> OpParser::ParseTopLevel() {
  FindResources();
  if (mapped_) DropPages(std::as_bytes(std::span(lexer_.text())));
  const OpInfo* info = context_.FindOp("builtin.module");
  if (info == nullptr) info = context_.GetUnregisteredOp("builtin.module");
  Location location = options_.locate_by_text ? LocationAt({1, 1}) : Location();
  module_.reset(Operation::Create(*info, location, {}, {}, {}, {}, 1));
  Block* block = module_->region().AddBlock();
  EnterScope(true);
  while (!AtEnd()) {
    const Mark mark = MarkHere();
    bool ok;
    if (At(TokenKind::kHashId) || At(TokenKind::kExclaimId)) {
      ok = ParseAliasDefinition();
    } else if (At(TokenKind::kMetadataBegin)) {
      ok = ParseMetadata();
    } else {
      ok = ParseOperation(block);
    }
    if (!ok && !Recover(mark, true)) break;
  }
  if (stopped_ || !LeaveScope(true) || !ResolveLocations() || !first_error_.ok())
    return first_error_;
  Operation* only = block->front();
  if (only != nullptr && only->next() == nullptr && only->name() == "builtin.module") {
    only->RemoveFromBlock();
    module_.reset(only);
  }
  return std::move(module_);
}

bool OpParser::ResolveLocations() {
  auto resolve = [&](std::string_view alias, Location& location) {
    if (FindLocationAlias(alias.substr(1), location))
      return CountReference(alias.substr(1)) || KeepError();
    ErrorOnce(alias, static_cast<size_t>(alias.data() - lexer_.text().data()),
              fmt::format("undefined location alias '{}'", alias));
    return KeepError();
  };
  for (auto& [op, alias] : located_later_) {
    Location location;
    if (!resolve(alias, location)) return false;
    op->set_location(location);
  }
  for (auto& [argument, alias] : arguments_located_later_) {
    if (!resolve(alias, static_cast<BlockArgumentImpl*>(argument.impl())->location)) return false;
  }
  return true;
}

Diagnostic OpParser::NoteAt(size_t offset, std::string message) {
  return {Severity::kNote, LocationAt(PositionAt(offset)), std::move(message), {}};
}

bool OpParser::ParseOperation(Block* into) {
  ResultGroups groups;
  size_t num_results = 0, begin = offset();
  if (At(TokenKind::kPercentId) && !ParseResultGroups(groups, num_results)) return false;
  size_t name_at = offset();
  Position position;
  if (options_.locate_by_text) position = PositionAt(name_at);
  const OpInfo* info = ParseOpName();
  if (info == nullptr) return false;

  OperationState state;
  state.info = info;
  Uses uses;
  AllNamedUses named;
  if (!ParseUses(uses, named)) return false;
  if (At(TokenKind::kLSquare) && !ParseSuccessors(state)) return false;
  if (Consume(TokenKind::kLess)) {
    entries_.clear();
    entry_offsets_.clear();
    if (!ParseDictionary(entries_, &entry_offsets_) ||
        !Expect(TokenKind::kGreater, "'>' after properties") ||
        !SetProperties(*info, entries_, entry_offsets_, state))
      return false;
  }
  size_t first_region = pending_regions_.size();
  if (At(TokenKind::kLParen) && !ParseRegions(*info, state.num_regions)) return false;
  if (At(TokenKind::kLBrace)) {
    entries_.clear();
    entry_offsets_.clear();
    if (!ParseDictionary(entries_, &entry_offsets_) ||
        !SetAttributes(*info, entries_, entry_offsets_, state))
      return false;
  }
  if (!ParseSignature(uses, state)) return false;
  if ((!named.empty() || info->segment_slot() >= 0) && !ArrangeOperands(name_at, named, state))
    return false;
  if (!groups.empty() && num_results != state.result_types.size()) {
    return ErrorAt(begin, fmt::format("op '{}' has {} results, {} are named", info->name(),
                                      state.result_types.size(), num_results));
  }
  if (state.result_types.size() > kMaxResults || uses.size() > kMaxOperands) {
    return ErrorAt(name_at, fmt::format("op '{}' has too many operands or results", info->name()));
  }
  std::string_view pending_alias;
  if (options_.locate_by_text) state.location = LocationAt(position);
  if (AtKeyword("loc") && !ParseTrailingLocation(state.location, pending_alias)) return false;

  Operation* op = Operation::Create(state);
  into->Append(op);
  for (unsigned i = 0; i < state.num_regions; ++i)
    op->region(i).TakeBody(*pending_regions_[first_region + i]);
  pending_regions_.resize(first_region);
  if (!pending_alias.empty()) located_later_.emplace_back(op, pending_alias);
  if (mapped_) DropReadText();
  return DefineResults(op, groups);
}

void OpParser::DropReadText() {
  constexpr size_t kStep = size_t{4} << 20, kKept = size_t{1} << 20;  // names are read again soon
  if (offset() < dropped_ + kStep + kKept) return;
  const std::string_view read = lexer_.text().substr(dropped_, offset() - kKept - dropped_);
  DropPages(std::as_bytes(std::span(read)));
  dropped_ += read.size();
}

bool OpParser::ParseResultGroups(ResultGroups& groups, size_t& total) {
  do {
    ResultGroup group{token_.text, 1, offset()};
    if (!Expect(TokenKind::kPercentId, "a result such as %0")) return false;
    if (Consume(TokenKind::kColon)) {
      std::string_view text = token_.text;
      auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), group.count);
      if (!At(TokenKind::kInteger) || error != std::errc() || end != text.data() + text.size() ||
          group.count == 0 || group.count > kMaxResults) {
        return ErrorExpected("the number of results");
      }
      Advance();
    }
    groups.push_back(group);
    total += group.count;
  } while (Consume(TokenKind::kComma));
  return Expect(TokenKind::kEqual, "'=' after results");
}

const OpInfo* OpParser::ParseOpName() {
  size_t at = offset();
  const OpInfo* info = nullptr;
  if (At(TokenKind::kString)) {
    std::string_view name = token_.text.substr(1, token_.text.size() - 2);
    std::string unescaped;
    if (name.find('\\') != std::string_view::npos) name = unescaped = *Unescape(token_.text);
    info = FindInfo(name, at);
  } else if (At(TokenKind::kBareId)) {
    Lexer ahead = lexer_;
    if (ahead.Next().kind != TokenKind::kLParen) {
      ErrorOnce("(", at,
                fmt::format("expected '(' after op name '{}': ops are read in the generic form "
                            "only (mlir-opt --mlir-print-op-generic)",
                            token_.text));
      return nullptr;
    }
    info = FindInfo(token_.text, at);
  } else {
    ErrorExpected("an operation");
  }
  if (info != nullptr) Advance();
  return info;
}

const OpInfo* OpParser::FindInfo(std::string_view name, size_t at) {
  if (auto it = infos_.find(ToKey(name)); it != infos_.end()) return it->second;
  std::string_view dialect = name.substr(0, name.find('.'));
  const OpInfo* info = context_.FindOp(name);
  if (info == nullptr) {
    bool known = context_.HasDialect(dialect);
    if (known || !context_.IsUnregisteredDialectAllowed(dialect)) {
      const std::vector<std::string> dialects = context_.DialectNames();
      std::vector<std::string> ops;
      for (const std::string& of : dialects)
        for (const OpInfo* op : context_.OpsOf(of)) ops.emplace_back(op->name());
      const std::string hint = dialects.empty()
                                   ? "; the Context has no dialects (RegisterAllDialects)"
                               : known ? DidYouMeanOp(name, ops)
                                       : DidYouMean(dialect, dialects);
      ErrorOnce(known ? name : dialect, at,
                known
                    ? fmt::format("unknown op '{}' in dialect '{}'{}", name, dialect, hint)
                    : fmt::format("unknown dialect '{}' of op '{}'{}; ops of unknown dialects need "
                                  "--allow-unregistered-dialect",
                                  dialect, name, hint));
      return nullptr;
    }
    if (name.empty()) {
      ErrorAt(at, "an op name must not be empty");
      return nullptr;
    }
    info = context_.GetUnregisteredOp(name);
  }
  infos_.emplace(ToKey(info->name()), info);
  return info;
}

bool OpParser::ParseSuccessors(OperationState& state) {
  Advance();
  do {
    if (!At(TokenKind::kCaretId)) return ErrorExpected("a block such as ^bb1");
    if (state.successors.size() == kMaxSuccessors) {
      return Error(fmt::format("an op has at most {} successors", kMaxSuccessors));
    }
    if (block_names_.empty()) return Error("successors are allowed inside regions only");
    state.successors.push_back(ReferToBlock(token_.text, offset()));
    Advance();
  } while (Consume(TokenKind::kComma));
  return Expect(TokenKind::kRSquare, "',' or ']' in successors");
}

bool OpParser::ParseRegions(const OpInfo& info, unsigned& count) {
  Advance();
  do {
    if (count == kMaxRegions)
      return Error(fmt::format("an op has at most {} regions", kMaxRegions));
    ++count;
    pending_regions_.push_back(std::make_unique<Region>(nullptr));
    if (!ParseRegion(*pending_regions_.back(), info.Has(Trait::kIsolatedFromAbove))) return false;
  } while (Consume(TokenKind::kComma));
  return Expect(TokenKind::kRParen, "',' or ')' after a region");
}

namespace {

std::vector<std::string> AttributeNames(const OpInfo& info) {
  std::vector<std::string> names;
  for (int i = 0; i < info.num_slots(); ++i) names.emplace_back(info.slot_name(i).str());
  return names;
}

}  // namespace

bool OpParser::SetProperties(const OpInfo& info, const std::vector<NamedAttribute>& entries,
                             const std::vector<size_t>& at, OperationState& state) {
  if (!info.is_registered()) {
    state.slots.push_back(Attribute::Dictionary(context_, entries));
    return true;
  }
  state.slots.resize(info.num_slots());
  for (size_t i = 0; i < entries.size(); ++i) {
    const std::string_view name = entries[i].name.str();
    const int slot = info.FindSlot(entries[i].name);
    if (slot < 0) {
      return ErrorAt(at[i], fmt::format("op '{}' has no attribute '{}'{}", info.name(), name,
                                        DidYouMean(name, AttributeNames(info))));
    }
    state.slots[slot] = entries[i].value;
  }
  return true;
}

// Inherent attributes may also stand among the discardable ones.
bool OpParser::SetAttributes(const OpInfo& info, std::vector<NamedAttribute>& entries,
                             const std::vector<size_t>& at, OperationState& state) {
  size_t kept = 0;
  for (size_t i = 0; i < entries.size(); ++i) {
    const NamedAttribute entry = entries[i];
    int slot = info.FindSlot(entry.name);
    if (slot < 0) {
      WarnOfUnknownAttribute(info, entry.name.str(), at[i]);
      entries[kept++] = entry;
      continue;
    }
    state.slots.resize(info.num_slots());
    if (state.slots[slot])
      return ErrorAt(at[i], fmt::format("attribute '{}' is given twice", entry.name.str()));
    state.slots[slot] = entry.value;
  }
  entries.resize(kept);
  if (!entries.empty()) state.discardable = Attribute::Dictionary(context_, entries);
  return true;
}

void OpParser::WarnOfUnknownAttribute(const OpInfo& info, std::string_view name, size_t at) {
  constexpr size_t kMost = 20;
  if (!info.is_registered() || name.find('.') != std::string_view::npos) return;
  if (unknown_attributes_.size() > kMost) return;
  if (!unknown_attributes_.insert({&info, ToKey(name)}).second) return;
  const Location location = LocationAt(PositionAt(at));
  if (unknown_attributes_.size() > kMost) {
    EmitWarning(context_, location, "more attributes that their ops do not have are not listed");
    return;
  }
  EmitWarning(context_, location,
              fmt::format("op '{}' has no attribute '{}': it changes nothing (expected a name with "
                          "a dialect, like 'my.{}', for an attribute that only you read){}",
                          info.name(), name, name, DidYouMean(name, AttributeNames(info))));
}

bool OpParser::DefineResults(Operation* op, const ResultGroups& groups) {
  uint32_t first = 0;
  for (const ResultGroup& group : groups) {
    Definition definition;
    definition.op = op;
    definition.first = first;
    definition.count = group.count;
    definition.offset = group.offset;
    if (!Define(group.name, definition)) return false;
    KeepName(group.name, op->result(first));
    first += group.count;
  }
  return true;
}

}  // namespace tenon
