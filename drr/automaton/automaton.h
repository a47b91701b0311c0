// One decision automaton for all rules with the same root op. It says which of them may match at an
// operation, in time that hardly depends on their number. A state asks one question about the
// program. Rules that ask it share the state; rules that do not are behind its `rest`.
// The form is a discrimination net: J. Christian, "Flatterms, Discrimination Nets, and Fast Term
// Rewriting", Journal of Automated Reasoning 10, 1993.
#ifndef TENON_DRR_AUTOMATON_AUTOMATON_H_
#define TENON_DRR_AUTOMATON_AUTOMATON_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drr/automaton/features.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// Immutable once built. Const functions are thread-safe, with a Scratch for each thread.
class Automaton {
 public:
  // Working memory of Find, which allocates nothing after the first calls.
  struct Scratch {
    uint64_t present = ~uint64_t{0};  // ops that the program may have: BitOf, all by default
    std::vector<Operation*> ops;      // by place: the operation that computes its value
    std::vector<uint16_t> found;      // the result of Find
  };

  // Builds the automaton for rules, with their numbers, at operations `root`. The rules need not
  // live longer than the call. `always` are rules about which nothing is known.
  Automaton(std::span<const std::pair<uint16_t, const CompiledRule*>> rules,
            std::vector<uint16_t> always, OpId root);

  // Returns the numbers of all rules that may match at `op`, ascending. Every rule that matches is
  // among them. `op` must be of the root op of this automaton. The result lives until the next
  // call.
  std::span<const uint16_t> Find(Operation* op, Scratch& scratch) const;

  // Returns the numbers of rules whose source graphs may match every program that the rule with
  // this number describes, in any order and some more than once. No other rule of this root does.
  // For rules that were given to the constructor.
  std::vector<uint16_t> MayMatchAllOf(uint16_t rule) const;

  // Returns the automaton as a graph for Graphviz. `list` has the rules.
  std::string ToDot(const Context& context, const RuleList& list) const;

  size_t num_states() const { return states_.size(); }

 private:
  static constexpr uint32_t kEnd = 0xffffffff;
  using Description = std::vector<std::pair<uint16_t, uint64_t>>;  // DescriptionOf
  struct State {
    uint16_t test = 0;                      // in tests_; not asked if there are no edges
    uint32_t edges = 0, num_edges = 0;      // in edges_, by key
    uint32_t accepts = 0, num_accepts = 0;  // in accepts_: rules that have nothing left to ask
    uint64_t needs = 0;                     // ops that all rules from here on need: BitOf
    uint32_t rest = kEnd;                   // the state of the rules that do not ask this
  };
  struct Edge {
    uint64_t key = 0;
    uint32_t state = kEnd;
  };
  class Builder;

  void Walk(uint32_t state, Scratch& scratch) const;
  void WalkAllOf(uint32_t state, const Description& program, std::vector<uint16_t>& found) const;
  void FollowNumber(const State& state, const Operation* constant, Scratch& scratch) const;
  Value ValueAt(uint16_t place, const Scratch& scratch) const;
  // The answer to a test other than kNumber. False if there is none.
  bool Ask(const Test& test, Scratch& scratch, uint64_t& key) const;
  std::string TextOf(uint16_t place) const;

  OpId root_;
  Tests tests_;
  std::vector<State> states_;
  std::vector<Edge> edges_;
  std::vector<uint16_t> accepts_;
  std::vector<uint16_t> always_;
  uint32_t start_ = kEnd;
  // By number of the rule, ascending.
  std::vector<std::pair<uint16_t, Description>> descriptions_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_AUTOMATON_AUTOMATON_H_
