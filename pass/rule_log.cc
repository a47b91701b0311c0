#include "pass/rule_log.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "pass/reports/log_view.h"
#include "pass/reports/miss_text.h"
#include "pass/reports/places.h"

namespace tenon {
namespace {

constexpr size_t kHits = 10, kMisses = 10, kNotes = 5;

// Do the two speak of one place: is half of the smaller in the other?
bool SamePlace(const RuleMiss& a, const RuleMiss& b) {
  size_t common = 0;
  for (const std::string& node : a.nodes)
    common += std::find(b.nodes.begin(), b.nodes.end(), node) != b.nodes.end() ? 1 : 0;
  return common * 2 >= std::min(a.nodes.size(), b.nodes.size()) && common > 0;
}

// The first of `nodes` that is a node of the miss.
const std::string& FirstOf(const std::vector<std::string>& nodes, const RuleMiss& miss) {
  return *std::find_if(nodes.begin(), nodes.end(), [&](const std::string& node) {
    return std::find(miss.nodes.begin(), miss.nodes.end(), node) != miss.nodes.end();
  });
}

// What matches as the model is written, and did not fire: who was faster. Empty if it fired there,
// or may have: a program made by an API need not name its nodes.
std::string WrittenText(const RuleLog& log, const LogView& view, const RuleMiss& miss) {
  if (view.Fired(miss.rule, miss.nodes) || view.FiredUnnamed(miss.rule)) return "";
  const std::string text =
      fmt::format("{}: fits the model as it is written at {}", miss.rule, NodesText(miss.nodes));
  if (log.disabled.contains(miss.rule)) return text + "\n";
  const ProgramChange* const change = view.FirstChange(miss.nodes);
  if (change == nullptr) return text + ", but no pass applied it there\n";
  return text + fmt::format(", but {} (in {}) changed {} first{}\n", change->by, change->pass,
                            ShownName(FirstOf(change->nodes, miss)),
                            change->made.empty() ? ""
                                                 : fmt::format(", into {}: match that instead",
                                                               ShownMessage(change->made.back())));
}

// Of a place in the program as it is written: what has become of it. Empty if nothing changed it.
std::string ChangedText(const LogView& view, const RuleMiss& miss) {
  const ProgramChange* const change = view.FirstChange(miss.nodes);
  if (change == nullptr) return "";
  return fmt::format(
      "note: {} (in {}) has changed {}{}\n", change->by, change->pass,
      ShownName(FirstOf(change->nodes, miss)),
      change->made.empty() ? "" : fmt::format(", into {}", ShownMessage(change->made.back())));
}

// Of a given rule that met nothing: the op where it begins may have been made and changed again by
// rules of one family, between which it is not applied. Empty if that did not happen.
std::string PassedByText(const RuleLog& log, const LogView& view, const std::string& rule) {
  const auto root = log.roots.find(rule);
  if (root == log.roots.end()) return "";
  std::string text;
  size_t places = 0;
  for (size_t i = 0; i < log.changes.size(); ++i) {
    const ProgramChange& maker = log.changes[i];
    const auto made = std::find_if(maker.made.begin(), maker.made.end(), [&](const auto& op) {
      return op.starts_with(root->second + " at ");
    });
    if (made == maker.made.end()) continue;
    const ProgramChange* const taker = view.FirstChange(maker.nodes, i + 1, true);
    if (taker == nullptr || ++places > 1) continue;
    text = fmt::format(
        "{}: {} was made by {} and taken by {} (in {}) before the rule saw it, into {}: match that "
        "instead, or see --disable-rules",
        rule, ShownMessage(*made), maker.by, taker->by, taker->pass,
        ShownMessage(taker->made.back()));
  }
  if (places > 1) text += fmt::format("; also at {}", Count(places - 1, "more place"));
  return places == 0 ? "" : text + "\n";
}

// The misses of each rule, by their nodes and by what stops them.
class MissesByPlace {
 public:
  void Add(size_t number, const RuleMiss& miss) {
    OfRule& of = rules_[miss.rule];
    of.places.Add(number, miss.nodes);
    of.stops.Add(number, {StopsText(miss)});
  }
  // Numbers of the misses of the same rule at the same place, or with the same stops.
  std::vector<size_t> Same(const RuleMiss& miss, const std::vector<RuleMiss>& all) const {
    std::vector<size_t> same;
    const auto of = rules_.find(miss.rule);
    if (of == rules_.end()) return same;
    std::map<size_t, size_t> sharing = of->second.stops.Sharing({StopsText(miss)});
    for (const auto& [number, common] : of->second.places.Sharing(miss.nodes)) {
      if (common * 2 >= std::min(miss.nodes.size(), all[number].nodes.size()))
        sharing.emplace(number, common);
    }
    for (const auto& [number, common] : sharing) same.push_back(number);
    return same;
  }

 private:
  static std::string StopsText(const RuleMiss& miss) {
    std::string text;
    for (const RuleMiss::Stop& stop : miss.stops) text += stop.node + '\0' + stop.reason + '\0';
    return text;
  }
  struct OfRule {
    Places<std::string> places, stops;
  };
  std::map<std::string, OfRule, std::less<>> rules_;
};

// Adds what rules meet in the program as it is written. A miss there is preferred to one in the
// normal form of the same place, unless that is nearer. Built-in rules are made for the normal
// form: their misses only tell of ops that the normal form no longer has, because rules that are
// not in question changed them. `text` receives lines about matches.
void AddWritten(const RuleLog& log, const LogView& view, std::vector<RuleMiss>& misses,
                std::string& text) {
  if (log.written.empty()) return;
  MissesByPlace places;
  for (size_t i = 0; i < misses.size(); ++i) places.Add(i, misses[i]);
  std::vector<bool> gone(misses.size(), false);
  const auto same_as = [&](const RuleMiss& miss) {
    std::vector<size_t> same = places.Same(miss, misses);
    std::erase_if(same, [&](size_t number) { return gone[number]; });
    return same;
  };
  std::set<std::string_view> answered, matching;  // rules that fired, that fit somewhere
  std::set<std::string_view> changed;             // nodes that rules not in question began at
  for (const RuleHit& hit : log.hits) {
    answered.insert(hit.rule);
    if (!log.wanted(hit.rule) && !hit.nodes.empty()) changed.insert(hit.nodes[0]);
  }
  size_t lines = 0, more = 0;
  for (const RuleMiss& miss : log.written) {
    const std::vector<size_t> same = same_as(miss);
    if (!log.given.contains(miss.rule) &&
        (miss.matches || !miss.near || same.empty() || !log.wanted(miss.rule) ||
         !changed.contains(miss.stops[0].node)))
      continue;
    if (miss.matches) {
      matching.insert(miss.rule);
      for (const size_t number : same) gone[number] = true;
      const std::string line = WrittenText(log, view, miss);
      if (line.empty() || text.find(line) != std::string::npos) continue;
      ++lines <= kHits ? void(text += line) : void(++more);
      continue;
    }
    // Where nothing fits says little beside a place where all does.
    if (miss.matched_ops == 0 && answered.contains(miss.rule)) continue;
    const bool nearer = std::any_of(same.begin(), same.end(), [&](size_t number) {
      const RuleMiss& other = misses[number];
      return IsNearer(other, miss) || other.stops == miss.stops || (other.near && !miss.near);
    });
    if (nearer || view.Fired(miss.rule, miss.nodes)) continue;
    for (const size_t number : same) gone[number] = true;
    places.Add(misses.size(), miss);
    misses.push_back(miss);
    misses.back().written = true;
    gone.push_back(false);
  }
  if (more > 0) text += fmt::format("  and at {}\n", Count(more, "more place"));
  std::vector<RuleMiss> left;
  for (size_t i = 0; i < misses.size(); ++i) {
    const bool says_little = misses[i].matched_ops == 0 && matching.contains(misses[i].rule);
    if (!gone[i] && !says_little) left.push_back(std::move(misses[i]));
  }
  misses = std::move(left);
  std::stable_sort(misses.begin(), misses.end(), IsNearer);
}

}  // namespace

std::string ExplainText(const RuleLog& log, std::string_view title) {
  std::string text;
  auto is_asked = [&](std::string_view rule) {
    return log.wanted(rule) && log.below.count(rule) == 0;
  };
  const LogView view(log);
  const auto asked = std::count_if(log.tried.begin(), log.tried.end(), is_asked);
  if (asked == 0) return text;
  size_t fired = 0;
  for (const std::string& rule : log.tried) {
    if (!is_asked(rule)) continue;
    const std::vector<const RuleHit*>& hits = view.HitsOf(rule);
    if (hits.empty()) continue;
    ++fired;
    text += fmt::format("{}: fired {}\n", rule, Count(hits.size(), "time"));
    for (size_t i = 0; i < hits.size() && i < kHits; ++i)
      text += fmt::format("  at {}\n", NodesText(hits[i]->nodes, asked == 1));
    if (hits.size() > kHits)
      text += fmt::format("  and at {}\n", Count(hits.size() - kHits, "more place"));
  }
  std::string written;
  std::vector<RuleMiss> misses, shown;
  for (const std::string& rule : log.tried) {
    if (!log.wanted(rule)) continue;
    for (const RuleMiss* miss : view.MissesOf(rule, true)) misses.push_back(*miss);
  }
  std::stable_sort(misses.begin(), misses.end(), IsNearer);
  AddWritten(log, view, misses, written);
  // Far ones only when there is nothing better to say.
  const bool any_near = fired > 0 || std::any_of(misses.begin(), misses.end(),
                                                 [](const RuleMiss& m) { return m.near; });
  const size_t limit = any_near ? kMisses : 3;
  std::optional<RuleMiss> nearest;  // of those where little matches, though no node is asked for
  size_t rest = 0;
  for (RuleMiss& miss : misses) {
    if (any_near && !miss.near) continue;
    if (!miss.near && log.nodes.empty()) {
      if (!nearest && is_asked(miss.rule)) nearest = std::move(miss);
      continue;
    }
    if (std::any_of(shown.begin(), shown.end(),
                    [&](const RuleMiss& m) { return SamePlace(m, miss); })) {
      continue;
    }
    if (shown.size() == limit) {
      ++rest;
      continue;
    }
    shown.push_back(std::move(miss));
  }
  const std::string where = log.nodes.empty() ? "" : " there";
  if (fired == 0) text += fmt::format("{}: fired 0 times{}\n", ShownName(title), where);
  for (const std::string& rule : log.tried) {
    if (is_asked(rule) && log.disabled.contains(rule))
      text += fmt::format("{}: disabled (--disable-rules)\n", rule);
  }
  text += written;
  for (const RuleMiss& miss : shown) {
    if (miss.matches && log.disabled.contains(miss.rule)) {
      text += fmt::format("{}: would fire at {}\n", miss.rule, PlaceText(miss));
      continue;
    }
    text += fmt::format(
        "{}{}: nearly at {}: {}\n", miss.rule,
        is_asked(miss.rule) ? std::string() : fmt::format(" (which {} builds on)", title),
        PlaceText(miss), MissText(miss));
  }
  if (rest > 0)
    text += fmt::format("{}: {}, none nearer than these\n", title, Count(rest, "more place"));
  std::string passed;
  for (const std::string& rule : log.tried) {
    if (shown.empty() && written.empty() && fired == 0 && is_asked(rule))
      passed += PassedByText(log, view, rule);
  }
  text += passed;
  if (shown.empty() && written.empty() && passed.empty() && (log.nodes.empty() || fired == 0)) {
    text += nearest && fired == 0
                ? fmt::format("{}: no place nearly matches; the nearest is {}: {}\n{}",
                              nearest->rule, PlaceText(*nearest), MissText(*nearest),
                              nearest->written ? ChangedText(view, *nearest) : "")
            : log.nodes.empty()
                ? fmt::format("{}: no {}place nearly matches\n", title, fired > 0 ? "other " : "")
                : fmt::format("{}: no op that is left there occurs in {}\n", title,
                              asked == 1 ? "the rule" : "these rules");
  }
  if (asked == 1) {
    const auto place = std::find_if(log.tried.begin(), log.tried.end(), is_asked);
    if (auto it = log.places.find(*place); it != log.places.end())
      text += fmt::format("{}: defined in {}\n", *place, it->second);
  }
  // Where the nodes asked for have gone.
  size_t notes = 0;
  for (const RuleHit& hit : log.hits) {
    if (log.nodes.empty() || any_near || !written.empty() || log.wanted(hit.rule) ||
        notes == kNotes)
      continue;
    const auto node = std::find_if(hit.nodes.begin(), hit.nodes.end(),
                                   [&](const std::string& n) { return log.nodes.count(n) != 0; });
    if (node == hit.nodes.end()) continue;
    ++notes;
    text += fmt::format(
        "note: rule {} has changed {}{}\n", hit.rule, ShownName(*node),
        hit.made.empty() ? "" : fmt::format(", into {}", ShownMessage(hit.made.back())));
  }
  return text;
}

}  // namespace tenon
