// The whole log of a run: --fusion-report.
#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/base/shown_text.h"
#include "pass/reports/log_view.h"
#include "pass/reports/miss_text.h"
#include "pass/rule_log.h"

namespace tenon {
namespace {

constexpr size_t kMissesInReport = 5;

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

std::string FusionReportText(const RuleLog& log) {
  std::string text;
  std::vector<std::string> idle;
  const LogView view(log);
  for (const std::string& rule : log.tried) {
    const std::vector<const RuleHit*>& hits = view.HitsOf(rule);
    const std::vector<const RuleMiss*> misses = view.MissesOf(rule);
    if (hits.empty() && misses.empty()) {
      idle.push_back(rule);
      continue;
    }
    text += fmt::format(
        "{}: fired {}, {}\n", rule, Count(hits.size(), "time"),
        misses.size() == 1 ? "1 near miss" : fmt::format("{} near misses", misses.size()));
    for (const RuleHit* hit : hits) text += fmt::format("  at {}\n", NodesText(hit->nodes));
    for (size_t i = 0; i < misses.size() && i < kMissesInReport; ++i) {
      text += fmt::format("  nearly at {}: {}\n", PlaceText(*misses[i]), MissText(*misses[i]));
    }
    if (misses.size() > kMissesInReport)
      text += fmt::format("  and {} more\n", misses.size() - kMissesInReport);
  }
  if (!idle.empty()) text += fmt::format("no match and no near miss: {}\n", fmt::join(idle, ", "));
  return text;
}

std::string FusionReportJson(const RuleLog& log) {
  const LogView view(log);
  std::string text = "{\"rules\": [";
  for (size_t i = 0; i < log.tried.size(); ++i) {
    const std::string& rule = log.tried[i];
    const std::vector<const RuleHit*>& hits = view.HitsOf(rule);
    const auto place = log.places.find(rule);
    text += fmt::format(
        "{}\n  {{\"rule\": {}, \"place\": {}, \"fired\": {}, \"hits\": ", i == 0 ? "" : ",",
        JsonQuoted(rule), JsonQuoted(place == log.places.end() ? "" : place->second), hits.size());
    text += JsonList(hits, [](const RuleHit* hit) {
      return fmt::format(R"({{"nodes": {}, "made": {}}})", JsonList(hit->nodes, JsonQuoted),
                         JsonList(hit->made, JsonQuoted));
    });
    text += ", \"near_misses\": ";
    text += JsonList(view.MissesOf(rule), [](const RuleMiss* miss) {
      return fmt::format(R"({{"matched": {}, "wanted": {}, "nodes": {}, "stops": {}, "or": {}}})",
                         miss->matched_ops, miss->wanted_ops, JsonList(miss->nodes, JsonQuoted),
                         JsonStops(miss->stops), JsonStops(miss->alternatives));
    });
    text += "}";
  }
  return text + "\n]}\n";
}

}  // namespace tenon
