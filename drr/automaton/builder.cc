// Building the automaton: at each state, the question that most rules ask.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "drr/automaton/automaton.h"

namespace tenon::drr {

class Automaton::Builder {
 public:
  Builder(Automaton& out, const std::vector<Variant>& variants, std::map<uint16_t, uint64_t> needs)
      : out_(out),
        variants_(variants),
        needs_(std::move(needs)),
        asked_(out.tests_.tests().size(), 0) {}

  // A variant with the features that are known to hold.
  struct Item {
    uint32_t variant = 0;
    uint64_t held = 0;
  };

  uint32_t Build(const std::vector<Item>& items) {
    if (items.empty()) return kEnd;
    const auto number = static_cast<uint32_t>(out_.states_.size());
    out_.states_.emplace_back();
    std::vector<Item> open;
    std::vector<uint16_t> accepted;
    const bool full = number >= kMostStates;
    for (const Item& item : items) {
      if (full || NextFeatures(item) == 0) {
        accepted.push_back(variants_[item.variant].rule);
      } else {
        open.push_back(item);
      }
    }
    Accept(number, std::move(accepted));
    if (open.empty()) {
      Require(number);
      return number;
    }
    const uint16_t test = MostAsked(open);
    std::map<uint64_t, std::vector<Item>> by_key;
    std::vector<Item> rest;
    for (const Item& item : open) {
      const int feature = FeatureAsking(item, test);
      if (feature < 0) {
        rest.push_back(item);
        continue;
      }
      const Item next{item.variant, item.held | uint64_t{1} << feature};
      for (const uint64_t key : variants_[item.variant].features[static_cast<size_t>(feature)].keys)
        by_key[key].push_back(next);
    }
    if (out_.tests_.tests()[test].kind == Test::Kind::kNumber) {
      AddEdges(number, test, InOrderOfNumbers(by_key));
    } else {
      AddEdges(number, test, {by_key.begin(), by_key.end()});
    }
    const uint32_t behind = Build(rest);
    out_.states_[number].rest = behind;
    Require(number);
    return number;
  }

 private:
  // More would be slower to build than it saves; what is left is accepted.
  static constexpr size_t kMostStates = 100000;
  using Keyed = std::vector<std::pair<uint64_t, std::vector<Item>>>;

  static Keyed InOrderOfNumbers(const std::map<uint64_t, std::vector<Item>>& by_key) {
    Keyed keyed(by_key.begin(), by_key.end());
    std::stable_sort(keyed.begin(), keyed.end(), [](const auto& a, const auto& b) {
      return std::strong_order(NumberOfKey(a.first), NumberOfKey(b.first)) < 0;
    });
    return keyed;
  }

  // The features that can be asked now: bit i for feature i.
  uint64_t NextFeatures(const Item& item) const {
    uint64_t next = 0;
    const std::vector<Feature>& features = variants_[item.variant].features;
    for (size_t i = 0; i < features.size(); ++i) {
      const uint64_t bit = uint64_t{1} << i;
      if ((item.held & bit) == 0 && (features[i].after & ~item.held) == 0) next |= bit;
    }
    return next;
  }

  int FeatureAsking(const Item& item, uint16_t test) const {
    for (uint64_t next = NextFeatures(item); next != 0; next &= next - 1) {
      const int i = std::countr_zero(next);
      if (variants_[item.variant].features[static_cast<size_t>(i)].test == test) return i;
    }
    return -1;
  }

  // Of tests that equally many ask, the one that the first item asks first.
  uint16_t MostAsked(const std::vector<Item>& items) {
    std::vector<uint16_t> order;
    for (const Item& item : items) {
      for (uint64_t next = NextFeatures(item); next != 0; next &= next - 1) {
        const uint16_t test =
            variants_[item.variant].features[static_cast<size_t>(std::countr_zero(next))].test;
        if (asked_[test]++ == 0) order.push_back(test);
      }
    }
    uint16_t most = order.front();
    for (const uint16_t test : order) {
      if (asked_[test] > asked_[most]) most = test;
    }
    for (const uint16_t test : order) asked_[test] = 0;
    return most;
  }

  void Accept(uint32_t state, std::vector<uint16_t> rules) {
    std::sort(rules.begin(), rules.end());
    rules.erase(std::unique(rules.begin(), rules.end()), rules.end());
    out_.states_[state].accepts = static_cast<uint32_t>(out_.accepts_.size());
    out_.states_[state].num_accepts = static_cast<uint32_t>(rules.size());
    out_.accepts_.insert(out_.accepts_.end(), rules.begin(), rules.end());
  }

  // What all rules need that the state leads to.
  void Require(uint32_t number) {
    State& state = out_.states_[number];
    state.needs = state.rest == kEnd ? ~uint64_t{0} : out_.states_[state.rest].needs;
    for (uint32_t i = 0; i < state.num_accepts; ++i)
      state.needs &= needs_.at(out_.accepts_[state.accepts + i]);
    for (uint32_t i = 0; i < state.num_edges; ++i)
      state.needs &= out_.states_[out_.edges_[state.edges + i].state].needs;
  }

  void AddEdges(uint32_t state, uint16_t test, const Keyed& keyed) {
    out_.states_[state].test = test;
    const auto first = static_cast<uint32_t>(out_.edges_.size());
    out_.states_[state].edges = first;
    out_.states_[state].num_edges = static_cast<uint32_t>(keyed.size());
    for (const auto& [key, items] : keyed) out_.edges_.push_back({key, kEnd});
    // Keys of attributes are addresses, which differ from run to run. The numbers of states follow
    // the rules instead: an item has one such key.
    std::vector<size_t> order(keyed.size());
    std::iota(order.begin(), order.end(), size_t{0});
    if (out_.tests_.tests()[test].kind == Test::Kind::kAttr) {
      std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
        return keyed[a].second.front().variant < keyed[b].second.front().variant;
      });
    }
    for (const size_t i : order) {
      const uint32_t next = Build(keyed[i].second);
      out_.edges_[first + i].state = next;
    }
  }

  Automaton& out_;
  const std::vector<Variant>& variants_;
  const std::map<uint16_t, uint64_t> needs_;  // by rule
  std::vector<uint32_t> asked_;               // by test; all 0 between calls of MostAsked
};

Automaton::Automaton(std::span<const std::pair<uint16_t, const CompiledRule*>> rules,
                     std::vector<uint16_t> always, OpId root)
    : root_(root), always_(std::move(always)) {
  std::vector<Variant> variants;
  // Of many rules less is told apart here. Labels do it where many operations are looked at.
  constexpr size_t kMostVariants = 4096, kMostOfOne = 16, kLeastOfOne = 2;
  const size_t most =
      std::clamp(kMostVariants / std::max<size_t>(rules.size(), 1), kLeastOfOne, kMostOfOne);
  for (const auto& [number, rule] : rules) AddVariants(number, *rule, root, most, tests_, variants);
  std::vector<Builder::Item> items;
  for (size_t i = 0; i < variants.size(); ++i) items.push_back({static_cast<uint32_t>(i), 0});
  std::map<uint16_t, uint64_t> needs;
  for (const auto& [number, rule] : rules) needs.emplace(number, NeedsOf(*rule));
  start_ = Builder(*this, variants, std::move(needs)).Build(items);
  for (const auto& [number, rule] : rules)
    descriptions_.emplace_back(number, DescriptionOf(*rule, root, tests_));
}

}  // namespace tenon::drr
