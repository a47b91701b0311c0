// Pictures as SVG: all groups are open, and no script is needed.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "frontends/view/nested.h"
#include "frontends/view/view.h"
#include "ir/base/shown_text.h"

namespace tenon::view {
namespace {

constexpr std::string_view kSvgStyle = R"css(<style>
text { font: 12px system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', Arial, sans-serif; fill: #1f2328 }
.title { font-weight: 600 } .note { fill: #57606a } .type { font-size: 10px; fill: #57606a } .type, .over { stroke: #ffffff; stroke-width: 3px; paint-order: stroke }
.card { fill: #ffffff } .group { fill: #8181810d; stroke: #b6bec8 } .box { fill: #f6f8fa; stroke-width: 1.2 }
.edge { fill: none; stroke: #818b98; stroke-width: 1.1 } .cut { fill: #818b98 }
.kept { --fate: #818b98 } .fused { --fate: #d55e00 } .rewritten { --fate: #0072b2 } .folded { --fate: #8a7a00 } .removed { --fate: #a3407c } .new { --fate: #008a63 }
.box { stroke: var(--fate) } .mark, .sign { fill: var(--fate) } .removed .box, .folded .box { stroke-dasharray: 5 3 } .time { fill: #d55e00 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .note { fill: #9da7b3 } .type { fill: #9da7b3 } .type, .over { stroke: #0d1117 } .card { fill: #0d1117 } .group { fill: #ffffff0a; stroke: #4a525c }
.box { fill: #1c2128 } .edge { stroke: #7d8590 } .cut { fill: #7d8590 }
.kept { --fate: #8b949e } .fused { --fate: #ff8c42 } .rewritten { --fate: #56b4e9 } .folded { --fate: #f0e442 } .removed { --fate: #e69ac8 } .new { --fate: #2fd6a5 } .time { fill: #ff8c42 }
}
</style>
)css";

constexpr double kMargin = 12, kTitle = 26, kBetween = 28, kLegend = 30;

std::string XmlText(std::string_view text) {
  std::string escaped;
  for (const char c : ShownText(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

// At most one digit behind the point.
std::string Pixels(double x) {
  const double rounded = std::round(x * 10) / 10;
  return fmt::format("{}", rounded == 0 ? 0.0 : rounded);
}

// One program, with its left upper corner at 0.
class SvgProgram {
 public:
  explicit SvgProgram(const Program& program) : p_(program), picture_(LayOut(program)) {
    frames_.resize(p_.groups.size());
    for (size_t g = p_.groups.size(); g-- > 0;) Measure(g);
    for (const Op& op : p_.ops) most_ms_ = std::max(most_ms_, op.ms);
  }
  double width() const { return frames_[0].width; }
  double height() const { return frames_[0].height; }

  std::string Draw() {
    for (size_t g = 0; g < p_.groups.size(); ++g) DrawGroup(g);
    return groups_ + edges_ + boxes_ + types_ + titles_;
  }

 private:
  struct Frame {
    double x = 0, y = 0, width = 0, height = 0, left = 0;
    std::vector<double> tops, heights;  // of rows
  };
  struct Point {
    double x, y;
  };

  static size_t At(int index) { return static_cast<size_t>(index); }

  // Groups inside come first.
  void Measure(size_t g) {
    const Interior& inside = picture_.interiors[g];
    Frame& frame = frames_[g];
    double y = kMetrics.head + kMetrics.pad;
    for (size_t r = 0; r < inside.layering.rows.size(); ++r) {
      double height = 0;
      for (const int node : inside.layering.rows[r]) {
        if (node >= inside.layering.num_vertices) continue;
        const Item& item = inside.items[At(node)];
        if (item.kind == Item::Kind::kOp) height = std::max<double>(height, kMetrics.op_height);
        if (item.kind == Item::Kind::kGroup)
          height = std::max(height, frames_[At(item.index)].height);
      }
      frame.tops.push_back(y);
      frame.heights.push_back(height);
      y += height;
      if (r + 1 < inside.layering.rows.size())
        y += inside.row_is_ports[r] != 0 || inside.row_is_ports[r + 1] != 0 ? kMetrics.port_gap
                                                                            : kMetrics.gap;
    }
    frame.width = std::max(picture_.closed_group_widths[g], inside.open_width + 2 * kMetrics.pad);
    frame.left = (frame.width - inside.open_width) / 2;
    frame.height = y + kMetrics.pad;
  }

  void DrawGroup(size_t g) {
    const Interior& inside = picture_.interiors[g];
    const Frame& frame = frames_[g];
    if (g > 0) {
      groups_ +=
          fmt::format("<rect class=\"group\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                      Pixels(frame.x), Pixels(frame.y), Pixels(frame.width), Pixels(frame.height));
      titles_ += fmt::format("<text class=\"title note over\" x=\"{}\" y=\"{}\">{}</text>\n",
                             Pixels(frame.x + 8), Pixels(frame.y + 17),
                             XmlText(ShortLabel(p_.groups[g].label)));
    }
    for (size_t i = 0; i < inside.items.size(); ++i) {
      const Item& item = inside.items[i];
      const double middle = frame.x + frame.left + inside.open_middles[i];
      const double top = frame.y + frame.tops[At(inside.layering.row_of[i])];
      if (item.kind == Item::Kind::kGroup) {
        Frame& kid = frames_[At(item.index)];
        kid.x = middle - kid.width / 2;
        kid.y = top;
      } else if (item.kind == Item::Kind::kOp) {
        DrawOp(item.index, middle, top);
      }
    }
    for (const Layering::Link& link : inside.layering.links) {
      const ItemEdge& edge = inside.edges[At(link.edge)];
      const int row = inside.layering.row_of[At(link.from)];
      const Point from = End(inside, frame, link.from, edge, true);
      const Point to = End(inside, frame, link.to, edge, false);
      // Straight to the end of its row, bent to the next row, and straight on to where it ends.
      const double low = frame.y + frame.tops[At(row)] + frame.heights[At(row)];
      const double high = frame.y + frame.tops[At(row) + 1];
      const double middle = (low + high) / 2;
      std::string path = fmt::format("M{} {}", Pixels(from.x), Pixels(from.y));
      if (low > from.y) path += fmt::format("V{}", Pixels(low));
      path += fmt::format("C{} {} {} {} {} {}", Pixels(from.x), Pixels(middle), Pixels(to.x),
                          Pixels(middle), Pixels(to.x), Pixels(high));
      if (to.y > high) path += fmt::format("V{}", Pixels(to.y));
      if (link.to >= inside.layering.num_vertices) {
        path += fmt::format("V{}",
                            Pixels(to.y + frame.heights[At(inside.layering.row_of[At(link.to)])]));
      } else if (inside.items[At(link.to)].kind == Item::Kind::kOp) {
        path += "m-3 -6l3 6l3 -6";
      }
      edges_ += fmt::format("<path class=\"edge\" d=\"{}\"/>\n", path);
    }
    for (const int index : inside.layering.cut) {
      const ItemEdge& edge = inside.edges[At(index)];
      for (const bool leaves : {true, false}) {
        const Point end = End(inside, frame, leaves ? edge.from : edge.to, edge, leaves);
        const double tip = leaves ? end.y + 9 : end.y - 9;
        edges_ += fmt::format(
            "<path class=\"edge\" d=\"M{0} {1}V{2}\"/><circle class=\"cut\" cx=\"{0}\" cy=\"{2}\" "
            "r=\"2.5\"/>\n",
            Pixels(end.x), Pixels(end.y), Pixels(tip));
      }
    }
  }

  Point End(const Interior& inside, const Frame& frame, int node, const ItemEdge& edge,
            bool leaves) const {
    const size_t row = At(inside.layering.row_of[At(node)]);
    const double middle = frame.x + frame.left + inside.open_middles[At(node)];
    const double top = frame.y + frame.tops[row];
    if (node >= inside.layering.num_vertices)
      return {middle, leaves ? top + frame.heights[row] : top};
    const Item& item = inside.items[At(node)];
    // Ports lie at the border of the group.
    if (item.kind == Item::Kind::kIn) return {middle, frame.y};
    if (item.kind == Item::Kind::kOut) return {middle, frame.y + frame.height};
    if (item.kind == Item::Kind::kGroup) {
      const Interior& kid = picture_.interiors[At(item.index)];
      const Frame& box = frames_[At(item.index)];
      double x = middle;
      for (size_t i = 0; i < kid.items.size(); ++i) {
        const bool port =
            kid.items[i].kind == Item::Kind::kIn || kid.items[i].kind == Item::Kind::kOut;
        if (port && kid.items[i].index == edge.value)
          x = middle - box.width / 2 + box.left + kid.open_middles[i];
      }
      return {x, leaves ? top + box.height : top};
    }
    const Op& op = p_.ops[At(item.index)];
    const int width = picture_.op_widths[At(item.index)];
    if (leaves) {
      return {middle + PortOffset(p_.values[At(edge.value)].result,
                                  static_cast<int>(op.results.size()), width),
              top + kMetrics.op_height};
    }
    const auto drawn = std::count_if(op.inputs.begin(), op.inputs.end(),
                                     [](const Input& input) { return input.value >= 0; });
    return {middle + PortOffset(edge.input, static_cast<int>(drawn), width), top};
  }

  void DrawOp(int index, double middle, double top) {
    const Op& op = p_.ops[At(index)];
    const double width = picture_.op_widths[At(index)], left = middle - width / 2;
    boxes_ += fmt::format("<g class=\"{}\"><title>{}</title>", FateName(op.fate),
                          XmlText(op.node.empty() ? op.name : op.name + " " + op.node));
    boxes_ += fmt::format("<rect class=\"box\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
                          Pixels(left), Pixels(top), Pixels(width), kMetrics.op_height);
    boxes_ += fmt::format("<rect class=\"mark\" x=\"{}\" y=\"{}\" width=\"5\" height=\"{}\"/>",
                          Pixels(left), Pixels(top), kMetrics.op_height);
    if (op.ms > 0) {
      boxes_ += fmt::format("<rect class=\"time\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"4\"/>",
                            Pixels(left + 5), Pixels(top + kMetrics.op_height - 4),
                            Pixels(std::max(1.0, (width - 5) * op.ms / most_ms_)));
    }
    boxes_ += fmt::format("<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>", Pixels(left + 11),
                          Pixels(top + 16), XmlText(op.name));
    if (!FateSign(op.fate).empty()) {
      boxes_ +=
          fmt::format("<text class=\"title sign\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>",
                      Pixels(left + width - 5), Pixels(top + 16), FateSign(op.fate));
    }
    if (!op.label.empty()) {
      boxes_ += fmt::format("<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>", Pixels(left + 11),
                            Pixels(top + 32), XmlText(ShortLabel(op.label)));
    }
    boxes_ += "</g>\n";
    for (size_t r = 0; r < op.results.size(); ++r) {
      const int count = static_cast<int>(op.results.size());
      const std::string type = ShortLabel(p_.values[At(op.results[r])].type);
      const double middle_of_edge =
          middle + PortOffset(static_cast<int>(r), count, picture_.op_widths[At(index)]);
      // It does not reach the neighbor.
      const double right = left + width * (static_cast<double>(r) + 1) / count + 10;
      types_ += fmt::format(
          "<text class=\"type\" x=\"{}\" y=\"{}\">{}</text>\n",
          Pixels(std::min(middle_of_edge + 4, right - 5.8 * static_cast<double>(type.size()))),
          Pixels(top + kMetrics.op_height + 13), XmlText(type));
    }
  }

  const Program& p_;
  const Picture picture_;
  std::vector<Frame> frames_;
  double most_ms_ = 0;
  std::string groups_, edges_, boxes_, types_, titles_;
};

}  // namespace

absl::StatusOr<std::string> ViewSvg(const Comparison& comparison) {
  if (const absl::Status status = CheckStillSize(comparison, "an SVG file"); !status.ok())
    return status;
  std::vector<const Program*> programs = {&comparison.before};
  if (comparison.after.has_value()) programs.push_back(&*comparison.after);
  const bool two = programs.size() > 1;
  std::string body;
  double x = kMargin, height = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    SvgProgram program(*programs[i]);
    body += fmt::format(
        "<g transform=\"translate({} {})\">\n<text class=\"title\" x=\"8\" "
        "y=\"0\">{}</text>\n",
        Pixels(x), Pixels(kMargin + kTitle),
        !two     ? "Program"
        : i == 0 ? "Before"
                 : "After");
    body += program.Draw() + "</g>\n";
    x += program.width() + kBetween;
    height = std::max(height, program.height());
  }
  double width = x - kBetween + kMargin;
  height += kMargin + kTitle;
  if (two) {  // what the colors mean
    const double y = height + 16;
    double at = kMargin + 8;
    for (const Fate fate :
         {Fate::kKept, Fate::kFused, Fate::kRewritten, Fate::kFolded, Fate::kRemoved, Fate::kNew}) {
      body += fmt::format(
          "<g class=\"{0}\"><rect class=\"box\" x=\"{1}\" y=\"{2}\" width=\"16\" "
          "height=\"12\"/><rect class=\"mark\" x=\"{1}\" y=\"{2}\" width=\"4\" "
          "height=\"12\"/><text class=\"note\" x=\"{3}\" y=\"{4}\">{5}</text></g>\n",
          FateName(fate), Pixels(at), Pixels(y - 10), Pixels(at + 21), Pixels(y),
          fmt::format("{} {}", FateName(fate), FateSign(fate)));
      at += 96;
    }
    width = std::max(width, at);
    height += kLegend;
  }
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 "
             "{0} {1}\" role=\"img\">\n<title>{2}</title>\n",
             Pixels(width), Pixels(height), XmlText(comparison.input)) +
         std::string(kSvgStyle) +
         fmt::format("<rect class=\"card\" width=\"{}\" height=\"{}\"/>\n", Pixels(width),
                     Pixels(height)) +
         body + "</svg>\n";
}

}  // namespace tenon::view
