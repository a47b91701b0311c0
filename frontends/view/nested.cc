#include "frontends/view/nested.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace tenon::view {
namespace {

size_t At(int index) { return static_cast<size_t>(index); }

// The number of characters of UTF-8 text.
size_t Letters(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

int TextWidth(std::string_view text) {
  return static_cast<int>(std::ceil(kMetrics.letter * static_cast<double>(Letters(text))));
}

class PictureBuilder {
 public:
  explicit PictureBuilder(const Program& program) : p_(program) {
    picture_.interiors.resize(p_.groups.size());
    depth_.assign(p_.groups.size(), 0);
    item_of_group_.assign(p_.groups.size(), -1);
    item_of_op_.assign(p_.ops.size(), -1);
    for (size_t g = 1; g < p_.groups.size(); ++g) depth_[g] = depth_[At(p_.groups[g].parent)] + 1;
  }

  Picture Build() {
    Measure();
    for (size_t i = 0; i < p_.ops.size(); ++i) AddOp(static_cast<int>(i));
    for (size_t g = 1; g < p_.groups.size(); ++g) AddGroup(static_cast<int>(g));
    for (size_t i = 0; i < p_.ops.size(); ++i) {
      int drawn = 0;
      for (const Input& input : p_.ops[i].inputs) {
        if (input.value >= 0) Connect(input.value, static_cast<int>(i), drawn++);
      }
      drawn_inputs_.push_back(drawn);
    }
    // A group after those inside it.
    for (size_t g = p_.groups.size(); g-- > 0;) Arrange(picture_.interiors[g]);
    return std::move(picture_);
  }

 private:
  void Measure() {
    for (const Op& op : p_.ops) {
      // Types are in a smaller font, and may stick out a little.
      int results = 0;
      for (const int value : op.results)
        results += std::max(14, TextWidth(ShortLabel(p_.values[At(value)].type)) * 5 / 4);
      // Names are bold, with room for a sign.
      const int label =
          std::max(TextWidth(op.name) * 9 / 8 + 38, TextWidth(ShortLabel(op.label)) + 16);
      picture_.op_widths.push_back(std::max({70, label, results}));
    }
    for (const Group& group : p_.groups)
      picture_.closed_group_widths.push_back(
          std::max(110, TextWidth(ShortLabel(group.label)) + 40));
  }

  Interior& Of(int group) { return picture_.interiors[At(group)]; }

  int AddItem(int group, Item item) {
    Of(group).items.push_back(item);
    return static_cast<int>(Of(group).items.size()) - 1;
  }

  // Groups come where their first operation comes.
  void AddGroup(int group) {
    if (group == 0 || item_of_group_[At(group)] >= 0) return;
    const int parent = p_.groups[At(group)].parent;
    AddGroup(parent);
    item_of_group_[At(group)] = AddItem(parent, {Item::Kind::kGroup, group});
  }

  void AddOp(int index) {
    const Op& op = p_.ops[At(index)];
    if (op.inner >= 0) return AddGroup(op.inner);
    AddGroup(op.group);
    item_of_op_[At(index)] = AddItem(op.group, {Item::Kind::kOp, index});
  }

  // The item of an op in its group: itself, or the group of its regions.
  int HomeItem(int op) const {
    const int inner = p_.ops[At(op)].inner;
    return inner >= 0 ? item_of_group_[At(inner)] : item_of_op_[At(op)];
  }

  // Where a value enters or leaves a group. `added` tells whether the port is new.
  int Port(int group, int value, Item::Kind kind, bool& added) {
    const auto [at, is_new] = ports_.try_emplace({group, value, kind}, 0);
    added = is_new;
    if (is_new) at->second = AddItem(group, {kind, value});
    return at->second;
  }

  // From the op of a value, through the groups around it, to a user.
  void Connect(int value, int user, int input) {
    const int source = p_.values[At(value)].op;
    int from_group = p_.ops[At(source)].group, to_group = p_.ops[At(user)].group;
    int from = HomeItem(source), to = HomeItem(user);
    if (p_.ops[At(user)].inner >= 0) input = -1;
    bool more = true;  // false: the rest of the way down is there already
    while (from_group != to_group) {
      if (depth_[At(from_group)] > depth_[At(to_group)]) {
        bool added = false;
        const int port = Port(from_group, value, Item::Kind::kOut, added);
        if (added) Of(from_group).edges.push_back({from, port, value, -1});
        from = item_of_group_[At(from_group)];
        from_group = p_.groups[At(from_group)].parent;
      } else {
        bool added = false;
        const int port = Port(to_group, value, Item::Kind::kIn, added);
        if (more) AddEdge(to_group, {port, to, value, input});
        more = more && added;
        to = item_of_group_[At(to_group)];
        input = -1;
        to_group = p_.groups[At(to_group)].parent;
      }
    }
    if (more) AddEdge(from_group, {from, to, value, input});
  }

  // A region op can use a value twice, and is one box.
  void AddEdge(int group, ItemEdge edge) {
    if (edge.input >= 0 || to_groups_.insert({group, edge.to, edge.value}).second)
      Of(group).edges.push_back(edge);
  }

  void Arrange(Interior& interior) {
    LayeredGraph graph;
    for (const Item& item : interior.items) {
      graph.pins.push_back(item.kind == Item::Kind::kIn    ? LayeredGraph::Pin::kFirst
                           : item.kind == Item::Kind::kOut ? LayeredGraph::Pin::kLast
                                                           : LayeredGraph::Pin::kNone);
    }
    for (const ItemEdge& edge : interior.edges)
      graph.edges.push_back({edge.from, edge.to, edge.value});
    interior.layering = view::Arrange(graph);
    picture_.steps += interior.layering.steps;
    for (const std::vector<int>& row : interior.layering.rows) {
      interior.row_is_ports.push_back(std::all_of(row.begin(), row.end(), [&](int node) {
        if (node >= interior.layering.num_vertices) return true;
        const Item::Kind kind = interior.items[At(node)].kind;
        return kind == Item::Kind::kIn || kind == Item::Kind::kOut;
      }));
    }
    for (const bool open : {false, true}) {
      std::vector<double> widths, from, to;
      for (const Item& item : interior.items) widths.push_back(WidthOf(item, open));
      for (const ItemEdge& edge : interior.edges) {
        from.push_back(EndOffset(interior, edge.from, edge.value, -1, open));
        to.push_back(EndOffset(interior, edge.to, edge.value, edge.input, open));
      }
      const LayerSizes sizes = {
          .widths = widths, .from_offsets = from, .to_offsets = to, .steps = &picture_.steps};
      const std::vector<double> middles = Place(interior.layering, sizes);
      std::vector<int>& rounded = open ? interior.open_middles : interior.closed_middles;
      for (const double middle : middles) rounded.push_back(static_cast<int>(std::lround(middle)));
      (open ? interior.open_width : interior.closed_width) =
          static_cast<int>(std::ceil(view::WidthOf(interior.layering, middles, sizes)));
    }
  }

  double WidthOf(const Item& item, bool open) const {
    switch (item.kind) {
      case Item::Kind::kOp:
        return picture_.op_widths[At(item.index)];
      case Item::Kind::kGroup: {
        const int closed = picture_.closed_group_widths[At(item.index)];
        return open ? std::max(closed,
                               picture_.interiors[At(item.index)].open_width + 2 * kMetrics.pad)
                    : closed;
      }
      default:
        return 8;
    }
  }

  double EndOffset(const Interior& interior, int index, int value, int input, bool open) const {
    const Item& item = interior.items[At(index)];
    if (item.kind == Item::Kind::kOp) {
      const Op& op = p_.ops[At(item.index)];
      const int width = picture_.op_widths[At(item.index)];
      if (input < 0) {
        return PortOffset(p_.values[At(value)].result, static_cast<int>(op.results.size()), width);
      }
      return PortOffset(input, drawn_inputs_[At(item.index)], width);
    }
    if (item.kind != Item::Kind::kGroup || !open) return 0;
    const Interior& inside = picture_.interiors[At(item.index)];
    for (const Item::Kind kind : {Item::Kind::kIn, Item::Kind::kOut}) {
      const auto at = ports_.find({item.index, value, kind});
      if (at == ports_.end()) continue;
      // A value of this group leaves it; one of another group enters it.
      return inside.open_middles[At(at->second)] - inside.open_width / 2.0;
    }
    return 0;
  }

  const Program& p_;
  Picture picture_;
  std::vector<int> depth_, item_of_group_, item_of_op_, drawn_inputs_;
  std::map<std::tuple<int, int, Item::Kind>, int> ports_;
  std::set<std::tuple<int, int, int>> to_groups_;
};

}  // namespace

std::string ShortLabel(std::string_view label) {
  const size_t most = static_cast<size_t>(kMetrics.longest_label);
  if (Letters(label) <= most) return std::string(label);
  // Whole characters from both ends.
  const auto starts = [&](size_t i) {
    return i >= label.size() || (static_cast<unsigned char>(label[i]) & 0xC0) != 0x80;
  };
  size_t front = 0, back = label.size();
  for (size_t count = 0; count < most / 3 && front < back; ++count) do
      ++front;
    while (!starts(front));
  for (size_t count = 0; count < most - most / 3 - 1 && back > front; ++count) do
      --back;
    while (!starts(back));
  return std::string(label.substr(0, front)) + "…" + std::string(label.substr(back));
}

double PortOffset(int k, int n, int width) {
  if (n <= 1) return 0;
  return ((k + 0.5) / n - 0.5) * (width - 12);
}

Picture LayOut(const Program& program) { return PictureBuilder(program).Build(); }

}  // namespace tenon::view
