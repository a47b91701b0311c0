// Layered drawings: boxes never overlap, trees have no crossings, work grows slowly.
#include "frontends/view/layout/layered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

namespace tenon::view {
namespace {

using Pin = LayeredGraph::Pin;

LayeredGraph Graph(size_t vertices) {
  LayeredGraph graph;
  graph.pins.assign(vertices, Pin::kNone);
  return graph;
}

void Connect(LayeredGraph& graph, int from, int to, int value = -1) {
  graph.edges.push_back({from, to, value < 0 ? from : value});
}

LayeredGraph Random(std::mt19937& random, bool cycles) {
  LayeredGraph graph = Graph(1 + random() % 60);
  const int n = static_cast<int>(graph.pins.size());
  const int edges = static_cast<int>(random() % 120);
  for (int i = 0; i < edges; ++i) {
    int from = static_cast<int>(random() % static_cast<unsigned>(n));
    int to = static_cast<int>(random() % static_cast<unsigned>(n));
    if (!cycles && from > to) std::swap(from, to);
    Connect(graph, from, to, from * 3 + static_cast<int>(random() % 3));
  }
  if (random() % 2 == 0) graph.pins.front() = Pin::kFirst;
  if (random() % 2 == 0) graph.pins.back() = Pin::kLast;
  return graph;
}

// Each node is in one row, links go one row down, and all edges are links or cut.
void ExpectWhole(const LayeredGraph& graph, const Layering& layering) {
  std::vector<int> seen(layering.row_of.size(), 0);
  for (size_t r = 0; r < layering.rows.size(); ++r) {
    EXPECT_FALSE(layering.rows[r].empty());
    for (const int node : layering.rows[r]) {
      ++seen[static_cast<size_t>(node)];
      EXPECT_EQ(layering.row_of[static_cast<size_t>(node)], static_cast<int>(r));
    }
  }
  for (const int count : seen) EXPECT_EQ(count, 1);
  std::vector<int> ends(graph.edges.size(), 0);
  for (const Layering::Link& link : layering.links) {
    EXPECT_EQ(layering.row_of[static_cast<size_t>(link.from)] + 1,
              layering.row_of[static_cast<size_t>(link.to)]);
    if (link.to < layering.num_vertices) {
      EXPECT_EQ(graph.edges[static_cast<size_t>(link.edge)].to, link.to);
      ++ends[static_cast<size_t>(link.edge)];
    }
  }
  for (const int edge : layering.cut) ++ends[static_cast<size_t>(edge)];
  for (const int count : ends) EXPECT_EQ(count, 1);
  for (size_t v = 0; v < graph.pins.size(); ++v) {
    if (graph.pins[v] == Pin::kFirst) {
      EXPECT_EQ(layering.row_of[v], 0);
    }
    if (graph.pins[v] == Pin::kLast) {
      EXPECT_EQ(layering.row_of[v], static_cast<int>(layering.rows.size()) - 1);
    }
  }
}

void ExpectNoOverlap(const Layering& layering, const std::vector<double>& middles,
                     const LayerSizes& sizes) {
  const auto half = [&](int node) {
    return (node < layering.num_vertices ? sizes.widths[static_cast<size_t>(node)]
                                         : sizes.bend_width) /
           2;
  };
  for (const std::vector<int>& row : layering.rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      EXPECT_GE(middles[static_cast<size_t>(row[i + 1])] - half(row[i + 1]) -
                    (middles[static_cast<size_t>(row[i])] + half(row[i])),
                sizes.gap - 1e-6);
    }
    if (!row.empty()) {
      EXPECT_GE(middles[static_cast<size_t>(row.front())] - half(row.front()), -1e-6);
      EXPECT_LE(middles[static_cast<size_t>(row.back())] + half(row.back()),
                WidthOf(layering, middles, sizes) + 1e-6);
    }
  }
}

TEST(LayeredTest, BoxesOfRandomGraphsNeverOverlap) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const LayeredGraph graph = Random(random, i % 2 == 0);
    const Layering layering = Arrange(graph);
    ExpectWhole(graph, layering);
    std::vector<double> widths, from, to;
    for (size_t v = 0; v < graph.pins.size(); ++v) widths.push_back(1 + random() % 200);
    for (size_t e = 0; e < graph.edges.size(); ++e) {
      from.push_back(static_cast<double>(random() % 100) - 50);
      to.push_back(static_cast<double>(random() % 100) - 50);
    }
    const LayerSizes sizes = {.widths = widths, .from_offsets = from, .to_offsets = to};
    ExpectNoOverlap(layering, Place(layering, sizes), sizes);
  }
}

TEST(LayeredTest, EdgesWithoutCyclesGoDown) {
  std::mt19937 random(11);
  for (int i = 0; i < 100; ++i) {
    LayeredGraph graph = Random(random, false);
    graph.pins.assign(graph.pins.size(), Pin::kNone);
    const Layering layering = Arrange(graph);
    size_t loops = 0;
    for (const LayeredGraph::Edge& edge : graph.edges) loops += edge.from == edge.to ? 1 : 0;
    EXPECT_EQ(layering.cut.size(), loops);
  }
}

TEST(LayeredTest, TreesHaveNoCrossings) {
  std::mt19937 random(3);
  for (const bool down : {true, false}) {
    for (int i = 0; i < 50; ++i) {
      LayeredGraph graph = Graph(2 + random() % 200);
      for (int v = 1; v < static_cast<int>(graph.pins.size()); ++v) {
        const int other = static_cast<int>(random() % static_cast<unsigned>(v));
        down ? Connect(graph, other, v) : Connect(graph, v, other);
      }
      EXPECT_EQ(Arrange(graph).crossings, 0);
    }
  }
}

TEST(LayeredTest, ACrossingThatCanBeAvoidedIsAvoided) {
  LayeredGraph graph = Graph(4);
  Connect(graph, 0, 3);
  Connect(graph, 1, 2);
  EXPECT_EQ(Arrange(graph).crossings, 0);
  LayeredGraph whole = Graph(4);  // each upper one to each lower one
  for (const int from : {0, 1})
    for (const int to : {2, 3}) Connect(whole, from, to);
  EXPECT_EQ(Arrange(whole).crossings, 1);
}

TEST(LayeredTest, AnEdgeThatClosesACycleIsCut) {
  LayeredGraph graph = Graph(3);
  Connect(graph, 0, 1);
  Connect(graph, 1, 2);
  Connect(graph, 2, 0);
  Connect(graph, 1, 1);
  const Layering layering = Arrange(graph);
  EXPECT_EQ(layering.cut.size(), 2u);
  EXPECT_EQ(layering.rows.size(), 3u);
}

TEST(LayeredTest, AChainIsStraight) {
  LayeredGraph graph = Graph(20);
  for (int v = 0; v + 1 < 20; ++v) Connect(graph, v, v + 1);
  std::vector<double> widths(20, 30);
  widths[7] = 90;
  const Layering layering = Arrange(graph);
  const std::vector<double> middles = Place(layering, {.widths = widths});
  for (const double middle : middles) EXPECT_NEAR(middle, middles[0], 1e-6);
}

TEST(LayeredTest, OneWayServesAllUsersOfAValue) {
  LayeredGraph graph = Graph(12);
  for (int v = 0; v + 1 < 11; ++v) Connect(graph, v, v + 1);
  for (int v = 3; v < 11; ++v) Connect(graph, 11, v, 99);
  Connect(graph, 0, 11);
  const Layering layering = Arrange(graph);
  // The value of 11 passes rows 2 to 9; nothing else needs a bend.
  EXPECT_EQ(layering.row_of.size(), 12u + 8u);
}

TEST(LayeredTest, EqualGraphsGiveEqualDrawings) {
  std::mt19937 random(5);
  for (int i = 0; i < 20; ++i) {
    const LayeredGraph graph = Random(random, true);
    const std::vector<double> widths(graph.pins.size(), 40);
    const Layering a = Arrange(graph), b = Arrange(graph);
    EXPECT_EQ(a.rows, b.rows);
    EXPECT_EQ(Place(a, {.widths = widths}), Place(b, {.widths = widths}));
  }
}

// Blocks of a transformer: chains with a skip connection, and one value that all blocks use.
LayeredGraph Blocks(int blocks) {
  LayeredGraph graph = Graph(static_cast<size_t>(blocks) * 10 + 1);
  for (int b = 0; b < blocks; ++b) {
    const int first = 1 + b * 10;
    for (int k = 0; k + 1 < 10; ++k) Connect(graph, first + k, first + k + 1);
    Connect(graph, first, first + 9);
    Connect(graph, 0, first + 4);
    if (b > 0) Connect(graph, first - 1, first);
  }
  return graph;
}

LayeredGraph Wide(int n) {  // all of one value, into one user
  LayeredGraph graph = Graph(static_cast<size_t>(n));
  for (int v = 1; v + 1 < n; ++v) {
    Connect(graph, 0, v);
    Connect(graph, v, n - 1);
  }
  return graph;
}

LayeredGraph Late(int n) {  // a chain, each value of which is used again at the end
  LayeredGraph graph = Graph(static_cast<size_t>(n));
  for (int v = 0; v + 1 < n; ++v) Connect(graph, v, v + 1);
  for (int v = 0; v + 2 < n; ++v) Connect(graph, v, n - 1);
  return graph;
}

int64_t StepsOf(const LayeredGraph& graph) {
  const Layering layering = Arrange(graph);
  int64_t steps = layering.steps;
  const std::vector<double> widths(graph.pins.size(), 40);
  Place(layering, {.widths = widths, .steps = &steps});
  return steps;
}

TEST(LayeredTest, WorkGrowsWithTheGraph) {
  for (const auto& [small, large] :
       {std::pair(Blocks(100), Blocks(1000)), std::pair(Wide(1000), Wide(10000)),
        std::pair(Late(1000), Late(10000))}) {
    const int64_t few = StepsOf(small), many = StepsOf(large);
    EXPECT_LT(many, 14 * few);  // ten times the vertices, and a logarithm
    const auto n = static_cast<double>(large.pins.size() + large.edges.size());
    EXPECT_LT(static_cast<double>(many), 60 * n * std::log2(n));
  }
}

TEST(LayeredTest, EmptyGraphs) {
  const Layering layering = Arrange(Graph(0));
  EXPECT_TRUE(layering.rows.empty());
  EXPECT_TRUE(Place(layering, {}).empty());
  EXPECT_EQ(WidthOf(layering, {}, {}), 0);
}

}  // namespace
}  // namespace tenon::view
