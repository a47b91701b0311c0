// Running the automaton on an operation.
#include "drr/automaton/automaton.h"

#include <algorithm>
#include <cmath>
#include <compare>

#include "drr/match/same_number.h"
#include "ir/core/constants/constant.h"

namespace tenon::drr {

Value Automaton::ValueAt(uint16_t place, const Scratch& scratch) const {
  const Place& at = tests_.places()[place];
  const Operation* parent = scratch.ops[at.parent];
  if (at.operand >= 0) {
    const auto operand = static_cast<unsigned>(at.operand);
    return operand < parent->num_operands() ? parent->operand(operand) : Value();
  }
  const auto [first, size] = parent->operand_group(at.group);
  return at.item < size ? parent->operand(first + at.item) : Value();
}

bool Automaton::Ask(const Test& test, Scratch& scratch, uint64_t& key) const {
  switch (test.kind) {
    case Test::Kind::kPresent:
    case Test::Kind::kCount: {
      const unsigned size =
          scratch.ops[test.place]->operand_group(static_cast<unsigned>(test.detail)).second;
      key = test.kind == Test::Kind::kCount ? size : (size > 0 ? 1 : 0);
      return true;
    }
    case Test::Kind::kAttr:
      key = static_cast<uint64_t>(
          reinterpret_cast<uintptr_t>(scratch.ops[test.place]->slot(test.detail).storage()));
      return true;
    case Test::Kind::kAxis: {
      const Operation* op = scratch.ops[test.place];
      const Attribute axis = op->slot(test.detail);
      if (op->num_operands() == 0 || !axis || axis.kind() != Attribute::Kind::kInteger)
        return false;
      const Type type = op->operand(0).type();
      if (!type.is_tensor()) return false;
      key = static_cast<uint64_t>(axis.int_value() - type.rank());
      return true;
    }
    default:
      break;
  }
  Value value;
  if (test.place != 0) {
    value = ValueAt(test.place, scratch);
  } else if (scratch.ops[0]->num_results() > 0) {
    value = scratch.ops[0]->result(0);
  }
  if (!value) return false;
  switch (test.kind) {
    case Test::Kind::kOp: {
      Operation* op = value.defining_op();
      if (op == nullptr) return false;
      scratch.ops[test.place] = op;
      key = KeyOfOp(op->id(), value.result_index());
      return true;
    }
    case Test::Kind::kConstant: {
      Operation* op = value.defining_op();
      if (op == nullptr || !op->Has(Trait::kConstantLike)) return false;
      scratch.ops[test.place] = op;
      key = 1;
      return true;
    }
    case Test::Kind::kSame:
      key = value == ValueAt(static_cast<uint16_t>(test.detail), scratch) ? 1 : 0;
      return true;
    default:
      break;
  }
  const Type type = value.type();
  if (test.kind == Test::Kind::kDType) {
    key = static_cast<uint64_t>(type.dtype());
    return true;
  }
  if (!type.is_tensor()) return false;
  if (test.kind == Test::Kind::kRank) {
    key = static_cast<uint64_t>(type.rank());
    return true;
  }
  const int64_t axis = test.detail < 0 ? test.detail + type.rank() : test.detail;
  if (axis < 0 || axis >= type.rank() || !type.dim(axis).is_constant()) return false;
  key = static_cast<uint64_t>(type.dim(axis).constant());
  return true;
}

void Automaton::FollowNumber(const State& state, const Operation* constant,
                             Scratch& scratch) const {
  const Attribute elements = ConstantElementsOf(constant);
  if (!elements) return;
  if (!elements.is_splat() && elements.type().num_elements() != 1) return;
  const double got = elements.ElementAsDouble(0);
  const DType dtype = elements.type().dtype();
  const auto edges = std::span(edges_).subspan(state.edges, state.num_edges);
  // Numbers that are not finite are equal or not; NaN of any kind stands at either end.
  double low = got, high = got;
  if (std::isfinite(got)) {
    const double reach = std::abs(got) * 2 * kLargestTolerance;
    low = got - reach;
    high = got + reach;
  }
  auto edge = edges.begin();
  if (!std::isnan(got)) {
    edge = std::lower_bound(edges.begin(), edges.end(), low, [](const Edge& e, double number) {
      const double want = NumberOfKey(e.key);
      return std::isnan(want) ? std::signbit(want) : want < number;
    });
  }
  for (; edge != edges.end(); ++edge) {
    const double want = NumberOfKey(edge->key);
    if (!std::isnan(got) && (std::isnan(want) || want > high)) break;
    if (SameNumber(want, got, dtype)) Walk(edge->state, scratch);
  }
}

void Automaton::Walk(uint32_t number, Scratch& scratch) const {
  while (number != kEnd) {
    const State& state = states_[number];
    if ((state.needs & ~scratch.present) != 0) return;
    for (uint32_t i = 0; i < state.num_accepts; ++i)
      scratch.found.push_back(accepts_[state.accepts + i]);
    if (state.num_edges > 0) {
      const Test& test = tests_.tests()[state.test];
      uint64_t key = 0;
      if (test.kind == Test::Kind::kNumber) {
        FollowNumber(state, scratch.ops[test.place], scratch);
      } else if (Ask(test, scratch, key)) {
        const Edge* first = edges_.data() + state.edges;
        const Edge* last = first + state.num_edges;
        const Edge* edge = std::lower_bound(
            first, last, key, [](const Edge& e, uint64_t wanted) { return e.key < wanted; });
        if (edge != last && edge->key == key) Walk(edge->state, scratch);
      }
    }
    number = state.rest;
  }
}

// What a graph leaves open, a more general one does not ask. Ranks and types may follow from other
// conditions.
void Automaton::WalkAllOf(uint32_t number, const Description& program,
                          std::vector<uint16_t>& found) const {
  for (; number != kEnd; number = states_[number].rest) {
    const State& state = states_[number];
    for (uint32_t i = 0; i < state.num_accepts; ++i) found.push_back(accepts_[state.accepts + i]);
    if (state.num_edges == 0) continue;
    const auto known = std::lower_bound(program.begin(), program.end(),
                                        std::pair<uint16_t, uint64_t>(state.test, 0));
    const bool tells = known != program.end() && known->first == state.test;
    const Test::Kind kind = tests_.tests()[state.test].kind;
    const bool condition =
        kind == Test::Kind::kRank || kind == Test::Kind::kDType || kind == Test::Kind::kSame;
    if (!tells && !condition) continue;
    for (uint32_t i = 0; i < state.num_edges; ++i) {
      const Edge& edge = edges_[state.edges + i];
      if (!tells || edge.key == known->second) WalkAllOf(edge.state, program, found);
    }
  }
}

std::vector<uint16_t> Automaton::MayMatchAllOf(uint16_t rule) const {
  std::vector<uint16_t> found = always_;
  const auto program =
      std::lower_bound(descriptions_.begin(), descriptions_.end(), rule,
                       [](const auto& one, uint16_t wanted) { return one.first < wanted; });
  if (program == descriptions_.end() || program->first != rule) return found;
  WalkAllOf(start_, program->second, found);
  return found;
}

std::span<const uint16_t> Automaton::Find(Operation* op, Scratch& scratch) const {
  if (scratch.ops.size() < tests_.places().size()) scratch.ops.resize(tests_.places().size());
  scratch.ops[0] = op;
  scratch.found.assign(always_.begin(), always_.end());
  Walk(start_, scratch);
  if (scratch.found.size() > 1) {
    std::sort(scratch.found.begin(), scratch.found.end());
    scratch.found.erase(std::unique(scratch.found.begin(), scratch.found.end()),
                        scratch.found.end());
  }
  return scratch.found;
}

}  // namespace tenon::drr
