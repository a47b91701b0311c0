#include "pass/rule_log.h"

#include <algorithm>
#include <optional>

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon {
namespace {

constexpr size_t kHits = 10, kMisses = 10, kMissesInReport = 5, kNodes = 4, kNotes = 5;

std::string Count(size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// "a (with b, c and 3 more)"
std::string NodesText(const std::vector<std::string>& nodes, bool all = true) {
  if (nodes.empty()) return "an op without a name";
  std::string text = ShownName(nodes[0]);
  if (!all) return text;
  for (size_t i = 1; i < nodes.size() && i < kNodes; ++i)
    text += fmt::format("{}{}", i == 1 ? " (with " : ", ", ShownName(nodes[i]));
  if (nodes.size() > kNodes) text += fmt::format(" and {} more", nodes.size() - kNodes);
  return text + (nodes.size() > 1 ? ")" : "");
}

std::string PlaceText(const RuleMiss::Stop& stop) { return ShownName(stop.node); }
// Where it nearly matched.
std::string PlaceText(const RuleMiss& miss) {
  return (miss.nodes.empty() ? PlaceText(miss.stops[0]) : ShownName(miss.nodes[0])) +
         (miss.written ? " (as the model is written)" : "");
}

std::string MissText(const RuleMiss& miss) {
  std::string text =
      fmt::format("matched {} of {} ops; stopped at {}: {}", miss.matched_ops, miss.wanted_ops,
                  PlaceText(miss.stops[0]), ShownMessage(miss.stops[0].reason));
  for (const RuleMiss::Stop& other : miss.alternatives) {
    text += other.node == miss.stops[0].node
                ? fmt::format("; or {}", ShownMessage(other.reason))
                : fmt::format("; or at {}: {}", PlaceText(other), ShownMessage(other.reason));
  }
  if (!miss.taken_by.empty())
    text += fmt::format("; rule {} has since replaced part of it", miss.taken_by);
  for (size_t i = 1; i < miss.stops.size(); ++i)
    text += fmt::format("; also at {}: {}", PlaceText(miss.stops[i]),
                        ShownMessage(miss.stops[i].reason));
  return text;
}

bool Better(const RuleMiss& a, const RuleMiss& b) { return a.cost < b.cost; }

// Do the two speak of one place: is half of the smaller in the other?
bool SamePlace(const RuleMiss& a, const RuleMiss& b) {
  size_t common = 0;
  for (const std::string& node : a.nodes)
    common += std::find(b.nodes.begin(), b.nodes.end(), node) != b.nodes.end() ? 1 : 0;
  return common * 2 >= std::min(a.nodes.size(), b.nodes.size()) && common > 0;
}

// `far`: also those where little matches, though no node is asked for.
std::vector<RuleMiss> MissesOf(const RuleLog& log, const std::function<bool(std::string_view)>& of,
                               bool far = false) {
  std::vector<RuleMiss> all;
  for (const std::string& rule : log.tried) {
    if (!of(rule)) continue;
    for (const auto& [key, misses] : log.misses) {
      if (key.second != rule) continue;
      // What another rule in question has taken is where it should be.
      for (const RuleMiss& miss : misses) {
        if (!miss.near && !far && log.nodes.empty()) continue;
        if (miss.taken_by.empty() || !log.wanted(miss.taken_by)) all.push_back(miss);
      }
    }
  }
  std::stable_sort(all.begin(), all.end(), Better);
  return all;
}

std::vector<const RuleHit*> HitsOf(const RuleLog& log, std::string_view rule) {
  std::vector<const RuleHit*> hits;
  for (const RuleHit& hit : log.hits) {
    const bool here = log.nodes.empty() ||
                      std::any_of(hit.nodes.begin(), hit.nodes.end(), [&](const std::string& node) {
                        return log.nodes.count(node) != 0;
                      });
    if (hit.rule == rule && here) hits.push_back(&hit);
  }
  return hits;
}

bool HaveCommon(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& node) {
    return std::find(b.begin(), b.end(), node) != b.end();
  });
}

// What matches as the model is written, and did not fire: who was faster. Empty if it fired there.
std::string WrittenText(const RuleLog& log, const RuleMiss& miss) {
  for (const RuleHit& hit : log.hits) {
    if (hit.rule == miss.rule && HaveCommon(hit.nodes, miss.nodes)) return "";
  }
  std::string text =
      fmt::format("{}: fits the model as it is written at {}", miss.rule, NodesText(miss.nodes));
  if (log.disabled.contains(miss.rule)) return text + "\n";
  for (const ProgramChange& change : log.changes) {
    if (!HaveCommon(change.nodes, miss.nodes)) continue;
    const auto node =
        std::find_if(change.nodes.begin(), change.nodes.end(), [&](const std::string& n) {
          return std::find(miss.nodes.begin(), miss.nodes.end(), n) != miss.nodes.end();
        });
    return text + fmt::format(", but {} (in {}) changed {} first{}\n", change.by, change.pass,
                              ShownName(*node),
                              change.made.empty() ? ""
                                                  : fmt::format(", into {}: match that instead",
                                                                ShownMessage(change.made.back())));
  }
  return text + ", but no pass applied it there\n";
}

// Of a place in the program as it is written: what has become of it. Empty if nothing changed it.
std::string ChangedText(const RuleLog& log, const RuleMiss& miss) {
  for (const ProgramChange& change : log.changes) {
    const auto node =
        std::find_if(change.nodes.begin(), change.nodes.end(), [&](const std::string& n) {
          return std::find(miss.nodes.begin(), miss.nodes.end(), n) != miss.nodes.end();
        });
    if (node == change.nodes.end()) continue;
    return fmt::format(
        "note: {} (in {}) has changed {}{}\n", change.by, change.pass, ShownName(*node),
        change.made.empty() ? "" : fmt::format(", into {}", ShownMessage(change.made.back())));
  }
  return "";
}

// Of a given rule that met nothing: the op where it begins may have been made and changed again by
// rules of one family, between which it is not applied. Empty if that did not happen.
std::string PassedByText(const RuleLog& log, const std::string& rule) {
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
    const auto taker =
        std::find_if(log.changes.begin() + static_cast<ptrdiff_t>(i) + 1, log.changes.end(),
                     [&](const ProgramChange& change) {
                       return !change.made.empty() && HaveCommon(change.nodes, maker.nodes);
                     });
    if (taker == log.changes.end() || ++places > 1) continue;
    text = fmt::format(
        "{}: {} was made by {} and taken by {} (in {}) before the rule saw it, into {}: match that "
        "instead, or see --disable-rules",
        rule, ShownMessage(*made), maker.by, taker->by, taker->pass,
        ShownMessage(taker->made.back()));
  }
  if (places > 1) text += fmt::format("; also at {}", Count(places - 1, "more place"));
  return places == 0 ? "" : text + "\n";
}

// Adds what the given rules meet in the program as it is written. A miss there is preferred to one
// in the normal form of the same place, unless that is nearer. `text` receives lines about matches.
void AddWritten(const RuleLog& log, std::vector<RuleMiss>& misses, std::string& text) {
  size_t lines = 0, more = 0;
  for (const RuleMiss& miss : log.written) {
    const auto same = [&](const RuleMiss& other) {
      return other.rule == miss.rule && (SamePlace(other, miss) || other.stops == miss.stops);
    };
    if (miss.matches) {
      misses.erase(std::remove_if(misses.begin(), misses.end(), same), misses.end());
      const std::string line = WrittenText(log, miss);
      if (line.empty() || text.find(line) != std::string::npos) continue;
      ++lines <= kHits ? void(text += line) : void(++more);
      continue;
    }
    // Where nothing fits says little beside a place where all does.
    const bool answered = std::any_of(log.hits.begin(), log.hits.end(),
                                      [&](const RuleHit& hit) { return hit.rule == miss.rule; });
    if (answered && miss.matched_ops == 0) continue;
    const bool fired = std::any_of(log.hits.begin(), log.hits.end(), [&](const RuleHit& hit) {
      return hit.rule == miss.rule && HaveCommon(hit.nodes, miss.nodes);
    });
    const bool nearer = std::any_of(misses.begin(), misses.end(), [&](const RuleMiss& other) {
      return same(other) &&
             (Better(other, miss) || other.stops == miss.stops || (other.near && !miss.near));
    });
    if (fired || nearer) continue;
    misses.erase(std::remove_if(misses.begin(), misses.end(), same), misses.end());
    misses.push_back(miss);
    misses.back().written = true;
  }
  if (more > 0) text += fmt::format("  and at {}\n", Count(more, "more place"));
  std::erase_if(misses, [&](const RuleMiss& miss) {
    return miss.matched_ops == 0 &&
           std::any_of(log.written.begin(), log.written.end(), [&](const RuleMiss& other) {
             return other.matches && other.rule == miss.rule;
           });
  });
  std::stable_sort(misses.begin(), misses.end(), Better);
}

template <typename List, typename F>
std::string JsonList(const List& list, const F& text) {
  std::string out = "[";
  for (const auto& item : list) out += (out.size() > 1 ? ", " : "") + text(item);
  return out + "]";
}

std::string JsonStops(const std::vector<RuleMiss::Stop>& stops) {
  return JsonList(stops, [](const RuleMiss::Stop& stop) {
    return fmt::format(R"({{"node": {}, "reason": {}}})", JsonQuoted(stop.node),
                       JsonQuoted(stop.reason));
  });
}

}  // namespace

std::string ExplainText(const RuleLog& log, std::string_view title) {
  std::string text;
  auto is_asked = [&](std::string_view rule) {
    return log.wanted(rule) && log.below.count(rule) == 0;
  };
  const auto asked = std::count_if(log.tried.begin(), log.tried.end(), is_asked);
  if (asked == 0) return text;
  size_t fired = 0;
  for (const std::string& rule : log.tried) {
    if (!is_asked(rule)) continue;
    const std::vector<const RuleHit*> hits = HitsOf(log, rule);
    if (hits.empty()) continue;
    ++fired;
    text += fmt::format("{}: fired {}\n", rule, Count(hits.size(), "time"));
    for (size_t i = 0; i < hits.size() && i < kHits; ++i)
      text += fmt::format("  at {}\n", NodesText(hits[i]->nodes, asked == 1));
    if (hits.size() > kHits)
      text += fmt::format("  and at {}\n", Count(hits.size() - kHits, "more place"));
  }
  std::string written;
  std::vector<RuleMiss> misses = MissesOf(log, log.wanted, true), shown;
  AddWritten(log, misses, written);
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
      passed += PassedByText(log, rule);
  }
  text += passed;
  if (shown.empty() && written.empty() && passed.empty() && (log.nodes.empty() || fired == 0)) {
    text += nearest && fired == 0
                ? fmt::format("{}: no place nearly matches; the nearest is {}: {}\n{}",
                              nearest->rule, PlaceText(*nearest), MissText(*nearest),
                              nearest->written ? ChangedText(log, *nearest) : "")
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

std::vector<RuleMiss> NearMisses(const RuleLog& log, std::string_view rule) {
  return MissesOf(log, [&](std::string_view name) { return name == rule; });
}

std::string FusionReportText(const RuleLog& log) {
  std::string text;
  std::vector<std::string> idle;
  for (const std::string& rule : log.tried) {
    const std::vector<const RuleHit*> hits = HitsOf(log, rule);
    const std::vector<RuleMiss> misses = NearMisses(log, rule);
    if (hits.empty() && misses.empty()) {
      idle.push_back(rule);
      continue;
    }
    text += fmt::format(
        "{}: fired {}, {}\n", rule, Count(hits.size(), "time"),
        misses.size() == 1 ? "1 near miss" : fmt::format("{} near misses", misses.size()));
    for (const RuleHit* hit : hits) text += fmt::format("  at {}\n", NodesText(hit->nodes));
    for (size_t i = 0; i < misses.size() && i < kMissesInReport; ++i) {
      text += fmt::format("  nearly at {}: {}\n", PlaceText(misses[i]), MissText(misses[i]));
    }
    if (misses.size() > kMissesInReport)
      text += fmt::format("  and {} more\n", misses.size() - kMissesInReport);
  }
  if (!idle.empty()) text += fmt::format("no match and no near miss: {}\n", fmt::join(idle, ", "));
  return text;
}

std::string FusionReportJson(const RuleLog& log) {
  std::string text = "{\"rules\": [";
  for (size_t i = 0; i < log.tried.size(); ++i) {
    const std::string& rule = log.tried[i];
    const std::vector<const RuleHit*> hits = HitsOf(log, rule);
    const auto place = log.places.find(rule);
    text += fmt::format(
        "{}\n  {{\"rule\": {}, \"place\": {}, \"fired\": {}, \"hits\": ", i == 0 ? "" : ",",
        JsonQuoted(rule), JsonQuoted(place == log.places.end() ? "" : place->second), hits.size());
    text += JsonList(hits, [](const RuleHit* hit) {
      return fmt::format(R"({{"nodes": {}, "made": {}}})", JsonList(hit->nodes, JsonQuoted),
                         JsonList(hit->made, JsonQuoted));
    });
    text += ", \"near_misses\": ";
    text += JsonList(NearMisses(log, rule), [](const RuleMiss& miss) {
      return fmt::format(R"({{"matched": {}, "wanted": {}, "nodes": {}, "stops": {}, "or": {}}})",
                         miss.matched_ops, miss.wanted_ops, JsonList(miss.nodes, JsonQuoted),
                         JsonStops(miss.stops), JsonStops(miss.alternatives));
    });
    text += "}";
  }
  return text + "\n]}\n";
}

}  // namespace tenon
