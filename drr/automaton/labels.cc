#include "drr/automaton/labels.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "ir/core/constants/constant.h"

namespace tenon::drr {
namespace {

// Odd numbers that have nothing to do with each other.
constexpr auto kFactors = [] {
  std::array<uint64_t, 32> factors{};
  uint64_t seed = 0;
  for (uint64_t& factor : factors) {
    uint64_t bits = seed += 0x9e3779b97f4a7c15ull;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebull;
    factor = (bits ^ (bits >> 31)) | 1;
  }
  return factors;
}();

// The elements of a constant whose elements are one number; null for others.
Attribute NumberOf(const Operation& op) {
  const Attribute elements = ConstantElementsOf(&op);
  if (!elements) return {};
  return elements.is_splat() || elements.type().num_elements() == 1 ? elements : Attribute();
}

int64_t RankOfFirst(const Operation& op) {
  const Type type = op.num_operands() > 0 ? op.operand(0).type() : Type();
  return type && type.is_tensor() ? type.rank() : -1;
}

// What a requirement says of the attributes of an op.
bool HoldsFor(const OpPattern::Attr& attr, const Operation& op) {
  static const AttrValue kAbsent;
  const Attribute actual = op.slot(attr.slots[0]);
  switch (attr.kind) {
    case AttrCode::Kind::kLiteral:
      return actual == attr.literal;
    case AttrCode::Kind::kAxis: {
      const int64_t rank = RankOfFirst(op);
      return rank >= 0 && actual && actual.kind() == Attribute::Kind::kInteger &&
             actual.int_value() == attr.axis + rank;
    }
    default: {
      absl::InlinedVector<BoundArg, 6> args;
      for (const uint16_t slot : attr.slots) {
        BoundArg& arg = args.emplace_back();
        arg.attr = op.slot(slot);
        if (!arg.attr) arg.literal = &kAbsent;
      }
      return Holds(*attr.condition, args);
    }
  }
}

}  // namespace

Labels::Labels(std::shared_ptr<const PatternTable> table)
    : shared_(std::move(table)), table_(*shared_), known_(kKnown) {
  Clear();
}

void Labels::Forget() {
  if (++epoch_ != 0) return;
  known_.assign(kKnown, Known());
  epoch_ = 1;
}

void Labels::Clear() {
  labels_.clear();
  label_ids_.clear();
  steps_.assign(256, Step());
  keys_.clear();
  num_steps_ = 0;
  classes_.clear();
  class_ids_.clear();
  class_of_type_.clear();
  recent_types_.fill({});
  Forget();
}

// Most values are known from the operation before, and need no plan.
std::optional<std::span<const uint16_t>> Labels::Find(Operation* op) {
  if (op->num_results() == 0) return std::nullopt;
  if (num_steps_ >= kMostSteps) Clear();
  const Value value = op->result(0);
  visits_left_ = kFewVisits;
  Known known = LabelOf(value, kWhole - 1);
  if (visits_left_ < 0) {
    if (!Plan(value)) return std::nullopt;
    visits_left_ = kMostVisits;
    known = LabelOf(value, kWhole - 1);
    heights_.clear();
    if (visits_left_ < 0) return std::nullopt;
  }
  return labels_[known.label].rules;
}

// Without a plan, a value that others read at different heights would be labeled for each.
bool Labels::Plan(Value value) {
  heights_.clear();
  planned_.assign(1, value);
  heights_.emplace(value.impl(), kWhole - 1);
  for (size_t i = 0; i < planned_.size(); ++i) {
    const Value next = planned_[i];
    const unsigned height = heights_[next.impl()];
    const Known& known = KnownAt(next);
    if (height == 0 ||
        (known.value == next.impl() && known.epoch == epoch_ && known.height >= height))
      continue;
    const Operation* op = next.defining_op();
    const PatternTable::Op* patterns = op != nullptr ? PatternsOf(op->id()) : nullptr;
    if (patterns == nullptr) continue;
    const unsigned below = std::min<unsigned>(height, patterns->height) - 1;
    for (unsigned o = 0; o < op->num_operands() && o < kMostOperands; ++o) {
      const Value operand = op->operand(o);
      const auto [at, added] = heights_.try_emplace(operand.impl(), below);
      if (!added && at->second >= below) continue;
      at->second = below;
      planned_.push_back(operand);
      if (planned_.size() <= static_cast<size_t>(kMostVisits)) continue;
      heights_.clear();
      return false;
    }
  }
  return true;
}

uint32_t Labels::FindClass(Value value) {
  const TypeStorage* type = value.type().storage();
  auto it = class_of_type_.find(type);
  if (it == class_of_type_.end()) {
    std::vector<bool> answers;
    for (const TypeQuestion& question : table_.type_questions())
      answers.push_back(Holds(question, value));
    const auto [known, added] =
        class_ids_.try_emplace(answers, static_cast<uint32_t>(classes_.size()));
    if (added) {
      classes_.push_back({std::move(answers), 0});
      Facts facts;
      facts.type_class = known->second;
      classes_.back().plain = Intern(Work(facts));
    }
    it = class_of_type_.emplace(type, known->second).first;
  }
  recent_types_[(AddressKey(type) >> 4) % recent_types_.size()] = {type, it->second};
  return it->second;
}

Labels::Known Labels::Visit(Value value, unsigned height) {
  Known known{value.impl(), epoch_, 0, kWhole};
  if (--visits_left_ < 0) return known;
  if (!heights_.empty()) {
    const auto planned = heights_.find(value.impl());
    if (planned != heights_.end()) height = std::max(height, planned->second);
  }
  Facts facts;
  facts.type_class = ClassOf(value);
  const Operation* op = value.defining_op();
  if (op != nullptr) facts.patterns = PatternsOf(op->id());
  if (op != nullptr && op->Has(Trait::kConstantLike)) facts.constant = op;
  if (facts.patterns == nullptr && facts.constant == nullptr) {
    known.label = classes_[facts.type_class].plain;
    KnownAt(value) = known;
    return known;
  }
  facts.result = static_cast<uint16_t>(value.result_index());
  Key key;
  key.Add(uint64_t{facts.type_class} | uint64_t{facts.result} << 32 |
          uint64_t{facts.constant != nullptr ? 1u : 0u} << 48);
  if (facts.constant != nullptr && table_.asks_numbers()) {
    const Attribute number = NumberOf(*op);
    key.Add(number ? static_cast<uint64_t>(number.type().dtype()) + 1 : 0);
    key.Add(number ? std::bit_cast<uint64_t>(number.ElementAsDouble(0)) : 0);
  }
  std::array<LabelId, kMostOperands> operands;
  if (facts.patterns != nullptr && height == 0) {
    facts.patterns = nullptr;  // for which the labels of operands are needed
    known.height = 0;
  } else if (facts.patterns != nullptr) {
    facts.op = op;
    const PatternTable::Op& patterns = *facts.patterns;
    const unsigned below = std::min<unsigned>(height, patterns.height) - 1;
    const size_t count = std::min<size_t>(op->num_operands(), kMostOperands);
    unsigned least = kWhole;
    for (size_t i = 0; i < count; ++i) {
      const Known operand = LabelOf(op->operand(static_cast<unsigned>(i)), below);
      if (visits_left_ < 0) return known;
      operands[i] = operand.label;
      least = std::min<unsigned>(least, operand.height);
    }
    facts.operands = {operands.data(), count};
    known.height = least + 1 >= patterns.height ? kWhole : least + 1;
    AddOp(key, facts);
  }
  known.label = Look(key, facts);
  KnownAt(value) = known;
  return known;
}

void Labels::AddOp(Key& key, const Facts& facts) const {
  const Operation& op = *facts.op;
  const PatternTable::Op& patterns = *facts.patterns;
  const int64_t rank = patterns.axis ? RankOfFirst(op) + 1 : 0;
  key.Add(patterns.number | uint64_t{op.num_operands()} << 16 | static_cast<uint64_t>(rank) << 40);
  const size_t count = facts.operands.size();
  for (size_t i = 0; i < count; i += 2)
    key.Add(facts.operands[i] | uint64_t{i + 1 < count ? facts.operands[i + 1] : 0} << 32);
  if (patterns.compares) {
    uint64_t same = 0;
    int bit = 0;
    for (unsigned i = 0; i < count; ++i) {
      for (unsigned j = 0; j < i; ++j, ++bit)
        same |= uint64_t{op.operand(i) == op.operand(j) ? 1u : 0u} << bit;
    }
    key.Add(same);
  }
  if (const int slot = op.info().segment_slot(); slot >= 0)
    key.Add(AddressKey(op.slot(static_cast<unsigned>(slot)).storage()));
  for (const uint16_t slot : patterns.slots) key.Add(AddressKey(op.slot(slot).storage()));
}

Labels::LabelId Labels::Look(const Key& key, const Facts& facts) {
  static_assert(kMostWords <= kFactors.size());
  uint64_t hash = 0;
  for (size_t i = 0; i < key.size; ++i) hash += key.words[i] * kFactors[i];
  hash = (hash ^ (hash >> 32)) * kFactors[0];
  hash ^= hash >> 32;
  for (size_t at = hash & (steps_.size() - 1); steps_[at].size != 0;
       at = (at + 1) & (steps_.size() - 1)) {
    const Step& step = steps_[at];
    if (step.hash != hash || step.size != key.size) continue;
    // Keys are short: a call of memcmp would take longer.
    size_t same = 0;
    while (same < key.size && keys_[step.key + same] == key.words[same]) ++same;
    if (same == key.size) return step.label;
  }
  const LabelId label = Intern(Work(facts));
  AddStep(key, hash, label);
  return label;
}

void Labels::AddStep(const Key& key, uint64_t hash, LabelId label) {
  if (++num_steps_ * 2 > steps_.size()) {
    std::vector<Step> more(steps_.size() * 2);
    for (const Step& step : steps_) {
      if (step.size == 0) continue;
      size_t at = step.hash & (more.size() - 1);
      while (more[at].size != 0) at = (at + 1) & (more.size() - 1);
      more[at] = step;
    }
    steps_ = std::move(more);
  }
  size_t at = hash & (steps_.size() - 1);
  while (steps_[at].size != 0) at = (at + 1) & (steps_.size() - 1);
  steps_[at] = {hash, static_cast<uint32_t>(keys_.size()), static_cast<uint32_t>(key.size), label};
  keys_.insert(keys_.end(), key.words.begin(),
               key.words.begin() + static_cast<std::ptrdiff_t>(key.size));
}

// All patterns that hold: first those of the op or the constant, then what follows from each.
std::vector<PatternId> Labels::Work(const Facts& facts) const {
  std::vector<PatternId> candidates;
  if (facts.constant != nullptr) {
    candidates.push_back(table_.constant());
    if (const Attribute number = NumberOf(*facts.constant))
      table_.AppendNumbers(number, candidates);
  }
  const auto add = [&](PatternId pattern) {
    if (Fits(table_.op_pattern(pattern), facts)) candidates.push_back(pattern);
  };
  if (facts.op != nullptr && facts.op->num_operands() > kMostOperands) {
    for (const PatternId pattern : facts.patterns->all) add(pattern);
  } else if (facts.op != nullptr) {
    for (const PatternId pattern : facts.patterns->free) add(pattern);
    for (const LabelId operand : facts.operands) {
      for (const PatternId part : labels_[operand].patterns) {
        for (const PatternId pattern : table_.WithOperand(part)) add(pattern);
      }
    }
  }
  const std::vector<bool>& answers = classes_[facts.type_class].answers;
  table_.AppendFollowing(kAnything, answers, candidates);
  std::vector<PatternId> patterns;
  std::vector<bool> seen(table_.size());
  for (size_t i = 0; i < candidates.size(); ++i) {
    const PatternId pattern = candidates[i];
    if (seen[pattern]) continue;
    seen[pattern] = true;
    patterns.push_back(pattern);
    table_.AppendFollowing(pattern, answers, candidates);
  }
  std::sort(patterns.begin(), patterns.end());
  return patterns;
}

bool Labels::Fits(const OpPattern& pattern, const Facts& facts) const {
  const Operation& op = *facts.op;
  if (pattern.op != op.id() || (pattern.result != kNone && pattern.result != facts.result))
    return false;
  for (const OpPattern::Attr& attr : pattern.attrs) {
    if (!HoldsFor(attr, op)) return false;
  }
  for (const OpPattern::Count& count : pattern.counts) {
    if (op.operand_group(count.group).second != count.size) return false;
  }
  return FitOperands(pattern, facts, false) ||
         (pattern.commutative && FitOperands(pattern, facts, true));
}

bool Labels::FitOperands(const OpPattern& pattern, const Facts& facts, bool swapped) const {
  const Operation& op = *facts.op;
  // The number of an operand; nothing if it is absent.
  const auto at = [&](const OpPattern::Operand& operand) -> std::optional<unsigned> {
    const unsigned group = swapped && operand.group < 2 ? 1u - operand.group : operand.group;
    const auto [first, size] = op.operand_group(group);
    return operand.item < size ? std::optional(first + operand.item) : std::nullopt;
  };
  for (const OpPattern::Operand& operand : pattern.operands) {
    const std::optional<unsigned> i = at(operand);
    if (!i && !operand.maybe) return false;
    // What has no label may be anything.
    if (i && *i < facts.operands.size() && !Has(facts.operands[*i], operand.pattern)) return false;
  }
  for (const auto& [one, other] : pattern.same) {
    const std::optional<unsigned> i = at(one), j = at(other);
    if (!i || !j) return false;
    if (*i < kMostOperands && *j < kMostOperands && op.operand(*i) != op.operand(*j)) return false;
  }
  return true;
}

bool Labels::Has(LabelId label, PatternId pattern) const {
  const std::vector<PatternId>& patterns = labels_[label].patterns;
  return std::binary_search(patterns.begin(), patterns.end(), pattern);
}

Labels::LabelId Labels::Intern(std::vector<PatternId> patterns) {
  const auto [it, added] = label_ids_.try_emplace(patterns, static_cast<LabelId>(labels_.size()));
  if (!added) return it->second;
  Label label;
  for (const PatternId pattern : patterns) {
    const std::vector<uint16_t>& rules = table_.RulesOf(pattern);
    label.rules.insert(label.rules.end(), rules.begin(), rules.end());
  }
  label.rules.insert(label.rules.end(), table_.unknown().begin(), table_.unknown().end());
  std::sort(label.rules.begin(), label.rules.end());
  label.rules.erase(std::unique(label.rules.begin(), label.rules.end()), label.rules.end());
  label.patterns = std::move(patterns);
  labels_.push_back(std::move(label));
  return it->second;
}

}  // namespace tenon::drr
