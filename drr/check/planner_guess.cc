// Operands of ops that say nothing to the planner but what their shape functions refuse.
#include <algorithm>
#include <vector>

#include "drr/check/planner.h"
#include "fmt/format.h"
#include "ir/core/builder.h"

namespace tenon::drr {
namespace {

// What an operand is given: floats where it may have them. Of types that are no number of the
// program `choice` says which.
DType TypeFor(const TypeConstraint& constraint, Context& context, size_t choice) {
  for (const DType dtype : {DType::kF32, DType::kI64, DType::kI32, DType::kBool})
    if (constraint.Accepts(Type::Unranked(context, dtype))) return dtype;
  std::vector<DType> accepted;
  for (int d = 1; d < kNumDTypes; ++d)
    if (constraint.Accepts(Type::Unranked(context, static_cast<DType>(d))))
      accepted.push_back(static_cast<DType>(d));
  return accepted.empty() ? DType::kInvalid : accepted[choice % accepted.size()];
}

}  // namespace

std::optional<ResultTypes> Planner::InferOp(uint16_t n, std::span<const Type> operands,
                                            const std::vector<int64_t>& segments, int rank) {
  const Node& node = rule_.nodes[n];
  std::vector<Attribute> slots(static_cast<size_t>(node.info->num_slots()));
  for (const AttrCode& code : node.attrs) {
    const AttrValue value = AttrOf(n, node.info->slot_name(code.slot).str(), rank);
    if (!std::holds_alternative<std::monostate>(value))
      slots[code.slot] = ToAttribute(context_, code.type, value);
  }
  if (const int slot = node.info->segment_slot(); slot >= 0)
    slots[static_cast<size_t>(slot)] = Attribute::Ints(context_, DType::kI32, segments);
  const auto filled = FillDefaults(*node.info, slots);
  for (int s = 0; s < node.info->num_slots(); ++s)
    if (!filled[s] && node.info->def().attrs[s].required) return std::nullopt;
  ResultTypes types;
  if (!InferResultTypes(*node.info, Location(), operands, filled, types).ok()) return std::nullopt;
  return types;
}

bool Planner::GuessOperands(uint16_t n, const Shape& shape) {
  const Node& node = rule_.nodes[n];
  const std::vector<OperandDef>& groups = node.info->def().operands;
  struct Guess {
    const Edge* edge;
    DType dtype;
    std::vector<int64_t> extents;
    bool fixed;
  };
  std::vector<Guess> guesses;
  std::vector<int64_t> segments;
  for (size_t g = 0; g < node.operands.size(); ++g) {
    segments.push_back(0);
    for (size_t i = 0; i < node.operands[g].size(); ++i) {
      if (IsAbsent(absent_, n, g, i)) continue;
      const Edge& edge = node.operands[g][i];
      Guess guess = {&edge, TypeFor(groups[g].constraint, context_, random_()), {}, false};
      if (guess.dtype == DType::kInvalid) {
        why_ = fmt::format("the check has no value for operand '{}' of {}", groups[g].name,
                           node.info->name());
        return false;
      }
      if (const auto it = shapes_.find(Through(edge).node); it != shapes_.end()) {
        guess.fixed = true;
        guess.extents = Values(it->second);
      }
      guesses.push_back(std::move(guess));
      ++segments.back();
    }
  }
  const auto fits = [&](Type type) {
    if (!type.is_static() || type.rank() != static_cast<int64_t>(shape.size())) return false;
    for (size_t i = 0; i < shape.size(); ++i) {
      const int64_t extent = type.dim(static_cast<int64_t>(i)).constant();
      if (Known(shape[i]) && Value(shape[i]) != extent) return false;
    }
    return true;
  };
  constexpr int kTries = 400;
  for (int i = 0; i < kTries; ++i) {
    std::vector<Type> types;
    for (Guess& guess : guesses) {
      if (!guess.fixed) {
        // Shapes of the result, those before them, and others.
        const int known = KnownRank(*guess.edge);
        if (Chance(0.4) && (known < 0 || known == static_cast<int>(shape.size()))) {
          guess.extents.clear();
          for (const Unknown u : shape) guess.extents.push_back(Known(u) ? Value(u) : Extent());
          if (!guess.extents.empty() && Chance(0.5))
            guess
                .extents[static_cast<size_t>(Pick(0, static_cast<int>(guess.extents.size()) - 1))] =
                Extent();
        } else if (!types.empty() && Chance(0.3)) {
          guess.extents =
              guesses[static_cast<size_t>(Pick(0, static_cast<int>(types.size()) - 1))].extents;
          if (!guess.extents.empty() && Chance(0.5))
            guess
                .extents[static_cast<size_t>(Pick(0, static_cast<int>(guess.extents.size()) - 1))] =
                Extent();
        } else {
          guess.extents.assign(static_cast<size_t>(known >= 0 ? known : Pick(0, 4)), 0);
          for (int64_t& extent : guess.extents) extent = Extent();
        }
      }
      types.push_back(Type::Tensor(context_, guess.dtype, guess.extents));
    }
    const int rank = types.empty() ? 0 : static_cast<int>(types[0].rank());
    // Attributes that the rule leaves open are chosen once; others may fit the next guess.
    const auto attrs = attrs_;
    const auto any_attrs = any_attrs_;
    const std::optional<ResultTypes> made = InferOp(n, types, segments, rank);
    if (!made || made->empty() || !fits((*made)[0])) {
      attrs_ = attrs;
      any_attrs_ = any_attrs;
      continue;
    }
    for (size_t d = 0; d < shape.size(); ++d)
      Unify(shape[d], Number((*made)[0].dim(static_cast<int64_t>(d)).constant()));
    // Whatever integers mean, small ones are the likeliest to be in range.
    int64_t smallest = 4;
    for (const Guess& guess : guesses)
      if (IsFloat(guess.dtype))
        for (const int64_t extent : guess.extents) smallest = std::min(smallest, extent);
    for (const Guess& guess : guesses) {
      Shape operand;
      for (const int64_t extent : guess.extents) operand.push_back(Number(extent));
      const uint16_t leaf = Through(*guess.edge).node;
      if (guess.dtype == DType::kBool) boolean_[leaf] = true;
      // Of a type that stands for no number of the program, such as that of compressed weights.
      const bool own = guess.dtype != DType::kF32 && guess.dtype != DType::kI64;
      if (own) dtype_hints_.emplace(leaf, guess.dtype);
      if (!own && !IsFloat(guess.dtype)) index_[leaf] = std::max<int64_t>(smallest, 1);
      if (!Demand(*guess.edge, operand)) return false;
    }
    return true;
  }
  why_ = fmt::format("the check found no operands of {} that give the shape of its result",
                     node.info->name());
  return false;
}

}  // namespace tenon::drr
