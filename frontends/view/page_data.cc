// The data of a page: texts once each, and numbers that refer to them.
#include <algorithm>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "fmt/format.h"
#include "frontends/view/nested.h"
#include "frontends/view/view.h"
#include "ir/base/shown_text.h"

namespace tenon::view {
namespace {

class PageWriter {
 public:
  std::string Write(const Comparison& c) {
    std::string programs = ProgramText(c.before);
    if (c.after.has_value()) programs += "," + ProgramText(*c.after);
    std::string misses;
    for (const RuleMiss& miss : c.misses) {
      misses += fmt::format("{}{{\"rule\":{},\"matched\":{},\"wanted\":{},\"stops\":{},\"or\":{}}}",
                            misses.empty() ? "" : ",\n", Text(miss.rule), miss.matched_ops,
                            miss.wanted_ops, Stops(miss.stops), Stops(miss.alternatives));
    }
    std::string fates;
    for (const Fate fate :
         {Fate::kKept, Fate::kFused, Fate::kRewritten, Fate::kFolded, Fate::kRemoved, Fate::kNew}) {
      fates += fmt::format("{}[\"{}\",{}]", fates.empty() ? "" : ",", FateName(fate),
                           JsonQuoted(FateSign(fate)));
    }
    std::string strings;
    for (const std::string_view text : strings_)
      strings += (strings.empty() ? "" : ",\n") + JsonQuoted(text);
    return fmt::format(
        "{{\"version\":1,\"input\":{},\"pipeline\":{},\"shown_ms\":{:.6f},\"all_ms\":{:.6f},\n"
        "\"metrics\":{{\"op_height\":{},\"gap\":{},\"port_gap\":{},\"pad\":{},\"head\":{}}},\n"
        "\"fates\":[{}],\n\"programs\":[{}],\n\"misses\":[{}],\n\"strings\":[{}]}}\n",
        JsonQuoted(c.input), JsonQuoted(c.pipeline), c.shown_ms, c.all_ms, kMetrics.op_height,
        kMetrics.gap, kMetrics.port_gap, kMetrics.pad, kMetrics.head, fates, programs, misses,
        strings);
  }

 private:
  // The number of a text. It must live as long as this.
  int Text(std::string_view text) {
    const auto [at, added] = numbers_.try_emplace(text, static_cast<int>(strings_.size()));
    if (added) strings_.push_back(text);
    return at->second;
  }
  // The same for a text that is made here.
  int MadeText(std::string text) {
    if (const auto at = numbers_.find(text); at != numbers_.end()) return at->second;
    made_.push_back(std::make_unique<std::string>(std::move(text)));
    return Text(*made_.back());
  }

  template <typename List, typename F>
  static std::string Numbers(const List& list, const F& number) {
    std::string text = "[";
    for (const auto& entry : list) {
      if (text.size() > 1) text += ',';
      text += fmt::format("{}", number(entry));
    }
    return text + "]";
  }
  static std::string Numbers(const std::vector<int>& list) {
    return Numbers(list, [](int number) { return number; });
  }

  std::string Stops(const std::vector<RuleMiss::Stop>& stops) {
    return Numbers(stops, [&](const RuleMiss::Stop& stop) {
      return fmt::format("[{},{}]", Text(stop.node), Text(stop.reason));
    });
  }

  std::string ProgramText(const Program& p) {
    const Picture picture = LayOut(p);
    const auto column = [&](const auto& number) { return Numbers(p.ops, number); };
    std::string text = fmt::format(
        "{{\"ops\":{{\"name\":{},\n\"label\":{},\n\"short\":{},\n\"node\":{},\n\"group\":{},\n"
        "\"inner\":{},\n\"attributes\":{},\n\"from\":{},\n\"fate\":{},\n\"rule\":{},\n\"place\":{},"
        "\n\"pass\":{},\n\"ms\":{},\n\"misses\":{},\n\"inputs\":{},\n\"results\":{},\n"
        "\"width\":{}}},\n",
        column([&](const Op& op) { return Text(op.name); }),
        column([&](const Op& op) { return Text(op.label); }),
        column([&](const Op& op) { return MadeText(ShortLabel(op.label)); }),
        column([&](const Op& op) { return Text(op.node); }),
        column([](const Op& op) { return op.group; }),
        column([](const Op& op) { return op.inner; }),
        column([&](const Op& op) { return Text(op.attributes); }), column([&](const Op& op) {
          return Numbers(op.from, [&](const std::string& node) { return Text(node); });
        }),
        column([](const Op& op) { return static_cast<int>(op.fate); }),
        column([&](const Op& op) { return Text(op.rule); }),
        column([&](const Op& op) { return Text(op.place); }),
        column([&](const Op& op) { return Text(op.pass); }),
        column([](const Op& op) { return op.ms < 0 ? "-1" : fmt::format("{:.6f}", op.ms); }),
        column([](const Op& op) { return Numbers(op.misses); }), column([&](const Op& op) {
          return Numbers(op.inputs, [&](const Input& input) {
            return fmt::format("{},{},{}", input.value, Text(input.name), Text(input.constant));
          });
        }),
        column([](const Op& op) { return Numbers(op.results); }), Numbers(picture.op_widths));
    const auto values = [&](const auto& number) { return Numbers(p.values, number); };
    text += fmt::format(
        "\"values\":{{\"type\":{},\n\"short\":{},\n\"op\":{},\n\"result\":{}}},\n\"groups\":[",
        values([&](const Shown& value) { return Text(value.type); }),
        values([&](const Shown& value) { return MadeText(ShortLabel(value.type)); }),
        values([](const Shown& value) { return value.op; }),
        values([](const Shown& value) { return value.result; }));
    for (size_t g = 0; g < p.groups.size(); ++g)
      text += (g == 0 ? "" : ",\n") + GroupText(p, picture, g);
    return text + "]}";
  }

  std::string GroupText(const Program& p, const Picture& picture, size_t g) {
    const Group& group = p.groups[g];
    const Interior& inside = picture.interiors[g];
    const auto edge = [&](int from, int to, int index) {
      const ItemEdge& e = inside.edges[static_cast<size_t>(index)];
      return fmt::format("{},{},{},{}", from, to, e.value, e.input);
    };
    return fmt::format(
        "{{\"label\":{},\"short\":{},\"parent\":{},\"op\":{},\"width\":{},\"items\":{},"
        "\"rows\":{},\"ports\":{},\"closed\":{},\"open\":{},\"closed_width\":{},\"open_width\":{},"
        "\"links\":{},\"cut\":{}}}",
        Text(group.label), MadeText(ShortLabel(group.label)), group.parent, group.op,
        picture.closed_group_widths[g],
        Numbers(inside.items,
                [](const Item& item) {
                  return fmt::format("{},{}", static_cast<int>(item.kind), item.index);
                }),
        Numbers(inside.layering.rows, [](const std::vector<int>& row) { return Numbers(row); }),
        Numbers(inside.row_is_ports), Numbers(inside.closed_middles), Numbers(inside.open_middles),
        inside.closed_width, inside.open_width,
        Numbers(inside.layering.links,
                [&](const Layering::Link& link) { return edge(link.from, link.to, link.edge); }),
        Numbers(inside.layering.cut, [&](int index) {
          const ItemEdge& e = inside.edges[static_cast<size_t>(index)];
          return edge(e.from, e.to, index);
        }));
  }

  std::unordered_map<std::string_view, int> numbers_;  // looked up, never iterated
  std::vector<std::string_view> strings_;
  std::vector<std::unique_ptr<std::string>> made_;
};

}  // namespace

std::string PageData(const Comparison& comparison) { return PageWriter().Write(comparison); }

}  // namespace tenon::view
