#include "ir/core/text/numbering.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"

namespace tenon {

Numbering::Numbering(const Operation& root, bool generic) : root_(root), generic_(generic) {
  Scope* scope = nullptr;
  root_result_ = next_value_;
  if (root.num_results() > 0 && !NameResults(root, scope, nullptr)) ++next_value_;
  PushRegions(root, scope);
  while (!work_.empty()) {
    const Work work = work_.back();
    work_.pop_back();
    if (!generic) {
      next_value_ = work.next_value;
      next_argument_ = work.next_argument;
    }
    NumberRegion(work);
  }
}

void Numbering::PushRegions(const Operation& op, const Scope* scope) {
  if (op.Has(Trait::kIsolatedFromAbove)) scope = nullptr;
  for (unsigned i = 0; i < op.num_regions(); ++i) {
    if (!op.region(i).empty()) work_.push_back({&op.region(i), next_value_, next_argument_, scope});
  }
}

void Numbering::NumberRegion(const Work& work) {
  const Region& region = *work.region;
  Scope* scope = nullptr;
  uint32_t next_block = 0;
  bool nested = false;
  for (const Block& block : region) {
    block.Renumber();  // gives positions
    BlockNumber number;
    number.entry = next_block == 0;
    number.block = next_block++;
    uint32_t& next = number.entry ? next_argument_ : next_value_;
    number.first_argument = next;
    number.first_op = results_.size();
    // A named argument takes a number too, so that the others keep theirs: %arg1 is the second one.
    next += block.num_arguments();
    if (!generic_) NameArguments(block, scope, work.around);
    blocks_.emplace(&block, number);
    for (const Operation& op : block) {
      results_.push_back(next_value_);
      if (op.num_results() > 0 && !NameResults(op, scope, work.around)) ++next_value_;
      nested |= op.num_regions() > 0;
    }
  }
  if (!nested) return;
  for (const Block& block : region) {
    for (const Operation& op : block) PushRegions(op, scope != nullptr ? scope : work.around);
  }
}

void Numbering::NameArguments(const Block& block, Scope*& scope, const Scope* around) {
  for (unsigned i = 0; i < block.num_arguments(); ++i) {
    if (block.argument(i).has_name()) GiveName(block.argument(i), scope, around);
  }
}

bool Numbering::NameGroups(const Operation& op, Scope*& scope, const Scope* around) {
  const unsigned count = op.num_results();
  std::vector<uint32_t> groups;
  for (unsigned i = 0; i < count; ++i) {
    if (!op.result(i).has_name()) continue;
    GiveName(op.result(i), scope, around);
    if (count == 1) return true;
    if (groups.empty() && i > 0) groups.push_back(0);
    groups.push_back(i);
  }
  if (!groups.empty()) groups_.emplace(&op, std::move(groups));
  return op.result(0).has_name();
}

void Numbering::GiveName(Value value, Scope*& scope, const Scope* around) {
  if (scope == nullptr) {
    scope = &scopes_.emplace_back();
    scope->around = around;
  }
  const auto is_taken = [&](const std::string& name) {
    for (const Scope* at = scope; at != nullptr; at = at->around)
      if (at->names.contains(name)) return true;
    return false;
  };
  std::string name = value.name();
  if (is_taken(name)) {
    const auto [it, first] = scope->counts.try_emplace(name, 0);
    for (const Scope* at = around; first && at != nullptr; at = at->around) {
      const auto before = at->counts.find(name);
      if (before == at->counts.end()) continue;
      it->second = before->second;
      break;
    }
    std::string numbered;
    do {
      numbered = fmt::format("{}_{}", name, it->second++);
    } while (is_taken(numbered));
    name = std::move(numbered);
  }
  scope->names.insert(name);
  names_.emplace(value.impl(), std::move(name));
}

void Numbering::AppendUse(std::string& out, Value value) const {
  out += '%';
  if (!value) {
    out += "<<NULL VALUE>>";
    return;
  }
  if (value.is_block_argument()) {
    const BlockNumber* block = Find(value.argument_owner());
    if (block == nullptr) {
      out += "<<UNKNOWN ARGUMENT>>";
    } else if (!AppendName(out, value)) {
      if (block->entry) out += "arg";
      AppendInt(out, block->first_argument + value.argument_index());
    }
    return;
  }
  const Operation* op = value.defining_op();
  uint32_t number = 0;
  if (!FindResults(op, number)) {
    out += "<<UNKNOWN RESULT>>";
    return;
  }
  if (!names_.empty()) return AppendResultUse(out, value, *op, number);
  AppendInt(out, number);
  if (op->num_results() == 1) return;
  out += '#';
  AppendInt(out, value.result_index());
}

void Numbering::AppendResultUse(std::string& out, Value value, const Operation& op,
                                uint32_t number) const {
  uint32_t first = 0, end = op.num_results();
  const uint32_t index = value.result_index();
  if (const auto it = groups_.find(&op); end > 1 && it != groups_.end()) {
    const std::vector<uint32_t>& groups = it->second;
    const auto after = std::upper_bound(groups.begin(), groups.end(), index);
    first = *std::prev(after);
    if (after != groups.end()) end = *after;
  }
  if (!AppendName(out, op.result(first))) AppendInt(out, number);
  if (end - first == 1) return;
  out += '#';
  AppendInt(out, index - first);
}

bool Numbering::AppendName(std::string& out, Value value) const {
  if (names_.empty() || !value.has_name()) return false;
  out += names_.find(value.impl())->second;
  return true;
}

void Numbering::AppendResultGroups(std::string& out, const Operation& op) const {
  const uint32_t count = op.num_results();
  if (count == 0) return;
  const std::vector<uint32_t>* groups = nullptr;
  if (count > 1 && !groups_.empty()) {
    if (const auto it = groups_.find(&op); it != groups_.end()) groups = &it->second;
  }
  const size_t num_groups = groups == nullptr ? 1 : groups->size();
  for (size_t i = 0; i < num_groups; ++i) {
    const uint32_t first = i == 0 ? 0 : (*groups)[i];
    const uint32_t end = i + 1 == num_groups ? count : (*groups)[i + 1];
    if (i > 0) out.append(", ", 2);
    out += '%';
    if (!AppendName(out, op.result(first))) {
      uint32_t number = 0;
      FindResults(&op, number);
      AppendInt(out, number);
    }
    if (end - first == 1) continue;
    out += ':';
    AppendInt(out, end - first);
  }
  out.append(" = ", 3);
}

uint32_t Numbering::BlockIndex(const Block* block) const {
  const BlockNumber* number = Find(block);
  return number != nullptr ? number->block : 0;
}

void Numbering::AppendBlock(std::string& out, const Block* block) const {
  const BlockNumber* number = block == nullptr ? nullptr : Find(block);
  out += "^bb";
  if (number == nullptr) {
    out += "<<UNKNOWN>>";
  } else {
    AppendInt(out, number->block);
  }
}

}  // namespace tenon
