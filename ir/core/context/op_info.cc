#include "ir/core/context/op_info.h"

#include <algorithm>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context_impl.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/operation.h"
#include "ir/core/text/parser.h"

namespace tenon {

bool TypeConstraint::Accepts(Type type) const { return AcceptsType(*this, type); }

Type InferContext::operand(int group) const {
  std::span<const Type> types = operand_group(group);
  return types.empty() ? Type() : types[0];
}

std::span<const Type> InferContext::operand_group(int group) const {
  size_t first = 0;
  for (int i = 0; i < group; ++i) first += segments[i];
  return operands.subspan(first, segments[group]);
}

absl::Status InferContext::Error(std::string_view message) const {
  return absl::InvalidArgumentError(fmt::format("{}: {}", info.name(), message));
}

OpInfo::OpInfo(Context* context, OpDef def)
    : context_(context), def_(std::move(def)), id_(HashOpName(def_.name)) {
  for (size_t i = 0; i < def_.attrs.size(); ++i) {
    const AttrDef& attr = def_.attrs[i];
    TENON_CHECK_MSG(i == 0 || def_.attrs[i - 1].name < attr.name, def_.name);
    slot_names_.push_back(context->Intern(attr.name));
    if (attr.name == "operandSegmentSizes") segment_slot_ = static_cast<int>(i);
    Attribute value;
    if (!attr.default_text.empty()) {
      absl::StatusOr<Attribute> parsed = ParseAttribute(*context, attr.default_text);
      TENON_CHECK_MSG(parsed.ok(), fmt::format("{}.{}: bad default {}", def_.name, attr.name,
                                               attr.default_text));
      value = *parsed;
    }
    defaults_.push_back(value);
  }
  if (!Has(Trait::kConstantLike) || slot_names_.empty()) return;
  constant_slot_ = std::max(0, FindSlot("value"));
}

OpInfo* OpInfo::Unregistered(Context* context, std::string_view name) {
  OpDef def;
  def.name = std::string(name);
  auto* info = new OpInfo(context, std::move(def));
  info->registered_ = false;
  info->slot_names_.push_back(Identifier());
  info->defaults_.push_back(Attribute());
  return info;
}

std::string_view OpInfo::dialect() const {
  return std::string_view(def_.name).substr(0, def_.name.find('.'));
}

int OpInfo::FindSlot(std::string_view name) const {
  if (!registered_) return -1;
  for (size_t i = 0; i < slot_names_.size(); ++i) {
    if (slot_names_[i].str() == name) return static_cast<int>(i);
  }
  return -1;
}

int OpInfo::FindSlot(Identifier name) const {
  if (!registered_) return -1;
  for (size_t i = 0; i < slot_names_.size(); ++i) {
    if (slot_names_[i] == name) return static_cast<int>(i);
  }
  return -1;
}

bool OpInfo::OperandSegments(int num_operands, std::span<const Attribute> slots,
                             absl::InlinedVector<int32_t, 6>& sizes) const {
  const std::vector<OperandDef>& groups = def_.operands;
  sizes.assign(groups.size(), 1);
  if (segment_slot_ >= 0) {
    Attribute given =
        static_cast<size_t>(segment_slot_) < slots.size() ? slots[segment_slot_] : Attribute();
    if (!given || given.kind() != Attribute::Kind::kDenseArray || IsFloat(given.type().dtype()))
      return false;
    std::span<const int64_t> ints = given.ints();
    if (ints.size() != groups.size()) return false;
    int64_t total = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      if (ints[i] < 0 || ints[i] > num_operands) return false;
      if (groups[i].arity == Arity::kSingle && ints[i] != 1) return false;
      if (groups[i].arity == Arity::kOptional && ints[i] > 1) return false;
      sizes[i] = static_cast<int32_t>(ints[i]);
      total += ints[i];
    }
    return total == num_operands;
  }
  int flexible = -1;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].arity != Arity::kSingle) flexible = static_cast<int>(i);
  }
  if (flexible < 0) return num_operands == static_cast<int>(groups.size());
  int rest = num_operands - static_cast<int>(groups.size()) + 1;
  if (rest < 0 || (groups[flexible].arity == Arity::kOptional && rest > 1)) return false;
  sizes[flexible] = rest;
  return true;
}

namespace {

// What the operation says of itself; `regions`: what is in its regions counts too.
Effects DeclaredEffects(const Operation& op, bool& regions) {
  regions = false;
  if (!op.info().is_registered()) return {true, true, true};
  if (const auto* own = op.info().Find<EffectsInterface>()) return own->EffectsOf(op);
  if (op.Has(Trait::kPure) || op.Has(Trait::kConstantLike)) return {};
  const Effects effects{op.Has(Trait::kReadsMemory), op.Has(Trait::kWritesMemory),
                        op.Has(Trait::kRandom)};
  if (!effects.pure()) return effects;
  // An op with regions does what the ops inside do; one that says nothing may do anything.
  regions = op.num_regions() > 0;
  return regions ? Effects() : Effects{true, true, true};
}

}  // namespace

Effects EffectsOf(const Operation& op) {
  bool regions;
  Effects effects = DeclaredEffects(op, regions);
  if (!regions) return effects;
  const_cast<Operation&>(op).WalkPreOrder([&](Operation* inner) {
    if (inner == &op || inner->Has(Trait::kTerminator)) return true;
    const Effects e = DeclaredEffects(*inner, regions);
    effects.reads |= e.reads, effects.writes |= e.writes, effects.random |= e.random;
    return !(effects.reads && effects.writes && effects.random);
  });
  return effects;
}

}  // namespace tenon
