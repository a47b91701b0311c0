#include "frontends/view/layout/ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace tenon::view {
namespace {

using Pin = LayeredGraph::Pin;

// Bends for each vertex, and for a graph of few vertices.
constexpr int64_t kBendsPerVertex = 8;
constexpr int64_t kSpareBends = 512;

// The edges that leave each vertex, or that enter it.
std::vector<std::vector<int>> EdgesBy(const LayeredGraph& graph, int LayeredGraph::Edge::*end) {
  std::vector<std::vector<int>> edges(graph.pins.size());
  for (size_t e = 0; e < graph.edges.size(); ++e)
    edges[static_cast<size_t>(graph.edges[e].*end)].push_back(static_cast<int>(e));
  return edges;
}

// The vertices so that few edges go back; those that do are cut. In a cycle, the vertex with the
// fewest open inputs comes first.
std::vector<int> OrderVertices(const LayeredGraph& graph, const std::vector<std::vector<int>>& out,
                               Ranks& ranks) {
  const size_t n = graph.pins.size();
  std::vector<int> open(n, 0);
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const LayeredGraph::Edge& edge = graph.edges[e];
    if (edge.from == edge.to || graph.pins[static_cast<size_t>(edge.to)] == Pin::kFirst ||
        graph.pins[static_cast<size_t>(edge.from)] == Pin::kLast) {
      ranks.cut[e] = true;
    } else {
      ++open[static_cast<size_t>(edge.to)];
    }
  }
  std::set<std::pair<int, int>> waiting;
  for (size_t v = 0; v < n; ++v) waiting.insert({open[v], static_cast<int>(v)});
  std::vector<int> order;
  std::vector<bool> done(n, false);
  while (!waiting.empty()) {
    const int vertex = waiting.begin()->second;
    waiting.erase(waiting.begin());
    done[static_cast<size_t>(vertex)] = true;
    order.push_back(vertex);
    for (const int e : out[static_cast<size_t>(vertex)]) {
      ++ranks.steps;
      if (ranks.cut[static_cast<size_t>(e)]) continue;
      const int to = graph.edges[static_cast<size_t>(e)].to;
      if (done[static_cast<size_t>(to)]) {
        ranks.cut[static_cast<size_t>(e)] = true;
        continue;
      }
      int& left = open[static_cast<size_t>(to)];
      waiting.erase({left, to});
      waiting.insert({--left, to});
    }
  }
  return order;
}

// Rows without vertices disappear.
void CloseRows(Ranks& ranks) {
  std::vector<int> number;
  for (const int row : ranks.row_of) {
    if (static_cast<size_t>(row) >= number.size()) number.resize(static_cast<size_t>(row) + 1, 0);
    number[static_cast<size_t>(row)] = 1;
  }
  int next = 0;
  for (int& row : number) row = row == 1 ? next++ : -1;
  for (int& row : ranks.row_of) row = number[static_cast<size_t>(row)];
  ranks.num_rows = next;
}

// Cuts the longest edges until the bends of all others are few.
void CutLongEdges(const LayeredGraph& graph, Ranks& ranks) {
  const auto span_of = [&](const LayeredGraph::Edge& edge) {
    return ranks.row_of[static_cast<size_t>(edge.to)] -
           ranks.row_of[static_cast<size_t>(edge.from)];
  };
  std::map<std::pair<int, int>, std::vector<int>> spans;  // of the edges that share a way
  for (size_t e = 0; e < graph.edges.size(); ++e) {
    const LayeredGraph::Edge& edge = graph.edges[e];
    if (!ranks.cut[e] && span_of(edge) <= kMaxEdgeRows)
      spans[{edge.from, edge.value}].push_back(span_of(edge));
  }
  std::vector<int64_t> bends(kMaxEdgeRows + 1, 0);  // that edges of this span add to shorter ones
  for (auto& [way, list] : spans) {
    std::sort(list.begin(), list.end());
    int shorter = 1;
    for (const int span : list) {
      bends[static_cast<size_t>(span)] += span - shorter;
      shorter = span;
      ++ranks.steps;
    }
  }
  const int64_t most = kSpareBends + kBendsPerVertex * static_cast<int64_t>(graph.pins.size());
  int longest = 1;
  int64_t all = 0;
  while (longest < kMaxEdgeRows && all + bends[static_cast<size_t>(longest) + 1] <= most)
    all += bends[static_cast<size_t>(++longest)];
  for (size_t e = 0; e < graph.edges.size(); ++e)
    if (!ranks.cut[e] && span_of(graph.edges[e]) > longest) ranks.cut[e] = true;
}

}  // namespace

Ranks RankVertices(const LayeredGraph& graph) {
  const size_t n = graph.pins.size();
  Ranks ranks;
  ranks.row_of.assign(n, 0);
  ranks.cut.assign(graph.edges.size(), false);
  const std::vector<std::vector<int>> out = EdgesBy(graph, &LayeredGraph::Edge::from);
  const std::vector<std::vector<int>> in = EdgesBy(graph, &LayeredGraph::Edge::to);
  const std::vector<int> order = OrderVertices(graph, out, ranks);
  const bool has_first =
      std::find(graph.pins.begin(), graph.pins.end(), Pin::kFirst) != graph.pins.end();
  const int first = has_first ? 1 : 0;
  int last = first - 1;
  for (const int v : order) {
    int& row = ranks.row_of[static_cast<size_t>(v)];
    if (graph.pins[static_cast<size_t>(v)] != Pin::kFirst) row = std::max(row, first);
    if (graph.pins[static_cast<size_t>(v)] == Pin::kNone) last = std::max(last, row);
    for (const int e : out[static_cast<size_t>(v)]) {
      if (ranks.cut[static_cast<size_t>(e)]) continue;
      int& below = ranks.row_of[static_cast<size_t>(graph.edges[static_cast<size_t>(e)].to)];
      below = std::max(below, row + 1);
    }
  }
  for (size_t v = 0; v < n; ++v)
    if (graph.pins[v] == Pin::kLast) ranks.row_of[v] = last + 1;
  // Down to the nearest user, where that makes edges shorter.
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const size_t v = static_cast<size_t>(*at);
    if (graph.pins[v] != Pin::kNone) continue;
    int lowest = -1;
    size_t uses = 0, inputs = 0;
    for (const int e : out[v]) {
      ++ranks.steps;
      if (ranks.cut[static_cast<size_t>(e)]) continue;
      const int row = ranks.row_of[static_cast<size_t>(graph.edges[static_cast<size_t>(e)].to)] - 1;
      lowest = uses++ == 0 ? row : std::min(lowest, row);
    }
    for (const int e : in[v]) inputs += ranks.cut[static_cast<size_t>(e)] ? 0 : 1;
    if (uses > inputs) ranks.row_of[v] = std::max(ranks.row_of[v], lowest);
  }
  CloseRows(ranks);
  CutLongEdges(graph, ranks);
  return ranks;
}

}  // namespace tenon::view
