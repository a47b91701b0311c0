// Numbers and extents of an instance that conditions compare.
#include <algorithm>

#include "drr/check/planner.h"

namespace tenon::drr {

using Place = SoughtNumbers::Place;

std::optional<Unknown> Planner::ExtentAt(const Place& place) {
  if (place.kind == Place::Kind::kDim) return dim_unknowns_[place.index];
  const auto shape = shapes_.find(Through({place.index}).node);
  if (shape == shapes_.end()) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->second.size());
  const int64_t axis = place.axis < 0 ? place.axis + rank : place.axis;
  if (axis < 0 || axis >= rank) return std::nullopt;
  return shape->second[static_cast<size_t>(axis)];
}

SoughtNumbers::Values Planner::ValuesOfPlaces(std::vector<bool>& open) {
  constexpr int kRank = 4;  // of what is not planned yet
  const std::vector<Place>& places = facts_.sought.places();
  SoughtNumbers::Values values(places.size());
  open.assign(places.size(), true);
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (place.kind == Place::Kind::kAttr) {
      const auto drawn = attrs_.find(place.index);
      open[i] = drawn == attrs_.end();
      values[i] = open[i] ? DrawOpen(place.index, kRank) : drawn->second;
      continue;
    }
    open[i] = false;
    if (place.kind == Place::Kind::kLow || place.kind == Place::Kind::kHigh) continue;
    const std::optional<Unknown> extent = ExtentAt(place);
    open[i] = !extent || !Known(*extent);
    values[i] = open[i] ? Extent() : Value(*extent);
  }
  return values;
}

bool Planner::SeekNumbers() {
  const std::vector<Place>& places = facts_.sought.places();
  if (places.empty() || !facts_.seeks) return true;
  std::vector<bool> open;
  SoughtNumbers::Values values = ValuesOfPlaces(open);
  // Some programs are left as they are drawn: extents may follow from others.
  if (!facts_.sought.Fails(values) || Chance(0.2)) return true;
  if (!facts_.sought.Seek(values, open, random_)) return true;
  for (size_t i = 0; i < places.size(); ++i) {
    const Place& place = places[i];
    if (!open[i]) continue;
    if (place.kind == Place::Kind::kAttr) {
      const bool is_bound = std::any_of(rule_.nodes.begin(), rule_.nodes.end(), [&](const Node& n) {
        return n.kind == ValNode::Kind::kLet && n.let_variable == place.index;
      });
      if (std::holds_alternative<double>(values[i]) && !is_bound) attrs_[place.index] = values[i];
      continue;
    }
    std::optional<Unknown> extent = ExtentAt(place);
    const uint16_t n = place.kind == Place::Kind::kAxis ? Through({place.index}).node : kNone;
    if (n != kNone && shapes_.count(n) == 0) {
      const auto least = static_cast<int>(place.axis < 0 ? -place.axis : place.axis + 1);
      const auto hint = rank_hints_.find(n);
      const int rank = hint != rank_hints_.end() ? hint->second : least + Pick(0, 2);
      shapes_.emplace(n, FreshShape(rank));
      extent = ExtentAt(place);
    }
    if (!extent || !Unify(*extent, Number(std::get<int64_t>(values[i])))) return false;
  }
  return true;
}

AttrValue Planner::Sought(uint16_t variable, const AttrValue& drawn) {
  const int place = facts_.sought.PlaceOfAttr(variable);
  if (place < 0 || !facts_.seeks) return drawn;
  std::vector<bool> open;
  SoughtNumbers::Values values = ValuesOfPlaces(open);
  values[static_cast<size_t>(place)] = drawn;
  return facts_.sought.Seek(values, open, random_) ? values[static_cast<size_t>(place)] : drawn;
}

}  // namespace tenon::drr
