#include "pass/reports/miss_text.h"

#include "fmt/format.h"
#include "ir/base/shown_text.h"

namespace tenon {
namespace {

constexpr size_t kNodes = 4;  // of a hit

std::string PlaceText(const RuleMiss::Stop& stop) { return ShownName(stop.node); }

}  // namespace

std::string Count(size_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string NodesText(const std::vector<std::string>& nodes, bool all) {
  if (nodes.empty()) return "an op without a name";
  std::string text = ShownName(nodes[0]);
  if (!all) return text;
  for (size_t i = 1; i < nodes.size() && i < kNodes; ++i)
    text += fmt::format("{}{}", i == 1 ? " (with " : ", ", ShownName(nodes[i]));
  if (nodes.size() > kNodes) text += fmt::format(" and {} more", nodes.size() - kNodes);
  return text + (nodes.size() > 1 ? ")" : "");
}

std::string PlaceText(const RuleMiss& miss) {
  return (miss.nodes.empty() ? PlaceText(miss.stops[0]) : ShownName(miss.nodes[0])) +
         (miss.written ? " (as the model is written)" : "");
}

std::string MissText(const RuleMiss& miss) {
  // A pass has no number of operations that it wants.
  std::string text = miss.wanted_ops == 0
                         ? std::string()
                         : fmt::format("matched {} of {} ops; ", miss.matched_ops, miss.wanted_ops);
  text += fmt::format("stopped at {}: {}", PlaceText(miss.stops[0]),
                      ShownMessage(miss.stops[0].reason));
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

}  // namespace tenon
