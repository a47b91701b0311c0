#include "frontends/view/layout/layered.h"

#include <algorithm>
#include <map>
#include <utility>

#include "frontends/view/layout/ranks.h"

namespace tenon::view {
namespace {

constexpr int kSweeps = 12;
constexpr int kVainSweeps = 4;  // without fewer crossings

// Positions of nodes in their rows, and the links above and below each node.
class Orderer {
 public:
  explicit Orderer(Layering& layering)
      : l_(layering),
        above_(layering.row_of.size()),
        below_(layering.row_of.size()),
        position_(layering.row_of.size(), 0) {
    for (const Layering::Link& link : l_.links) {
      above_[At(link.to)].push_back(link.from);
      below_[At(link.from)].push_back(link.to);
    }
  }

  void Run() {
    StartWithTrees();
    std::vector<std::vector<int>> best = l_.rows;
    l_.crossings = Crossings();
    int vain = 0;
    for (int sweep = 0; sweep < kSweeps && l_.crossings > 0 && vain < kVainSweeps; ++sweep) {
      const bool down = sweep % 2 == 0;
      for (size_t i = 1; i < l_.rows.size(); ++i)
        SortRow(down ? i : l_.rows.size() - 1 - i, down ? above_ : below_);
      const int64_t crossings = Crossings();
      if (crossings < l_.crossings) {
        l_.crossings = crossings;
        best = l_.rows;
        vain = 0;
      } else {
        ++vain;
      }
    }
    l_.rows = std::move(best);
  }

 private:
  static size_t At(int node) { return static_cast<size_t>(node); }

  // Depth first, what is above a node before what is below it. Trees then have no crossings.
  void StartWithTrees() {
    for (std::vector<int>& row : l_.rows) row.clear();
    std::vector<bool> seen(l_.row_of.size(), false);
    struct Visit {
      int node;
      size_t next;
    };
    std::vector<Visit> stack;
    const auto enter = [&](int node) {
      if (seen[At(node)]) return;
      seen[At(node)] = true;
      stack.push_back({node, 0});
      std::vector<int>& row = l_.rows[At(l_.row_of[At(node)])];
      position_[At(node)] = static_cast<int>(row.size());
      row.push_back(node);
    };
    for (size_t start = 0; start < l_.row_of.size(); ++start) {
      enter(static_cast<int>(start));
      while (!stack.empty()) {
        Visit& visit = stack.back();
        const std::vector<int>& up = above_[At(visit.node)];
        const std::vector<int>& down = below_[At(visit.node)];
        const size_t next = visit.next++;
        ++l_.steps;
        if (next < up.size()) {
          enter(up[next]);
        } else if (next < up.size() + down.size()) {
          enter(down[next - up.size()]);
        } else {
          stack.pop_back();
        }
      }
    }
  }

  // By the mean position of the neighbors. A node without any stays where it is.
  void SortRow(size_t index, const std::vector<std::vector<int>>& neighbors) {
    std::vector<int>& row = l_.rows[index];
    std::vector<std::pair<double, int>> keys;
    keys.reserve(row.size());
    for (const int node : row) {
      double sum = 0;
      for (const int other : neighbors[At(node)]) sum += position_[At(other)];
      const size_t count = neighbors[At(node)].size();
      l_.steps += static_cast<int64_t>(count) + 1;
      keys.emplace_back(count == 0 ? position_[At(node)] : sum / static_cast<double>(count), node);
    }
    std::stable_sort(keys.begin(), keys.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < row.size(); ++i) {
      row[i] = keys[i].second;
      position_[At(row[i])] = static_cast<int>(i);
    }
  }

  // Inversions, counted with a tree of sums.
  int64_t Crossings() {
    int64_t crossings = 0;
    std::vector<std::pair<int, int>> ends;
    std::vector<int64_t> sums;
    for (size_t r = 0; r + 1 < l_.rows.size(); ++r) {
      ends.clear();
      for (const int node : l_.rows[r]) {
        for (const int other : below_[At(node)])
          ends.emplace_back(position_[At(node)], position_[At(other)]);
      }
      std::sort(ends.begin(), ends.end());
      sums.assign(l_.rows[r + 1].size() + 1, 0);
      int64_t seen = 0;
      for (const auto& [upper, lower] : ends) {
        int64_t not_right = 0;
        for (int i = lower + 1; i > 0; i -= i & -i, ++l_.steps) not_right += sums[At(i)];
        crossings += seen - not_right;
        for (int i = lower + 1; At(i) < sums.size(); i += i & -i, ++l_.steps) ++sums[At(i)];
        ++seen;
      }
    }
    return crossings;
  }

  Layering& l_;
  std::vector<std::vector<int>> above_, below_;
  std::vector<int> position_;
};

// The edges of each way become links from row to row.
void AddLinks(const LayeredGraph& graph, const Ranks& ranks, Layering& layering) {
  std::map<std::pair<int, int>, std::vector<int>> ways;  // edges by vertex and value
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    if (ranks.cut[e]) {
      layering.cut.push_back(static_cast<int>(e));
    } else {
      ways[{graph.edges[e].from, graph.edges[e].value}].push_back(static_cast<int>(e));
    }
  }
  for (auto& [way, edges] : ways) {
    const auto target_row = [&](int e) {
      return ranks.row_of[static_cast<size_t>(graph.edges[static_cast<size_t>(e)].to)];
    };
    std::stable_sort(edges.begin(), edges.end(),
                     [&](int a, int b) { return target_row(a) < target_row(b); });
    int node = way.first, row = ranks.row_of[static_cast<size_t>(way.first)];
    for (const int e : edges) {
      for (; row + 1 < target_row(e); ++row) {
        const int bend = static_cast<int>(layering.row_of.size());
        layering.row_of.push_back(row + 1);
        layering.links.push_back({node, bend, e});
        node = bend;
      }
      layering.links.push_back({node, graph.edges[static_cast<size_t>(e)].to, e});
    }
  }
  std::stable_sort(layering.links.begin(), layering.links.end(),
                   [&](const Layering::Link& a, const Layering::Link& b) {
                     return layering.row_of[static_cast<size_t>(a.from)] <
                            layering.row_of[static_cast<size_t>(b.from)];
                   });
}

}  // namespace

Layering Arrange(const LayeredGraph& graph) {
  const Ranks ranks = RankVertices(graph);
  Layering layering;
  layering.num_vertices = static_cast<int>(graph.pins.size());
  layering.row_of = ranks.row_of;
  layering.rows.resize(static_cast<size_t>(ranks.num_rows));
  layering.steps = ranks.steps;
  AddLinks(graph, ranks, layering);
  Orderer(layering).Run();
  return layering;
}

}  // namespace tenon::view
