// Layered drawings of directed graphs: rows, the order in each row, and horizontal positions.
//
// Arrange decides what does not depend on the sizes of boxes, so that it serves a graph in every
// size. Place then finds positions for given widths. Both are deterministic and thread-safe.
#ifndef TENON_FRONTENDS_VIEW_LAYOUT_LAYERED_H_
#define TENON_FRONTENDS_VIEW_LAYOUT_LAYERED_H_

#include <cstdint>
#include <span>
#include <vector>

namespace tenon::view {

// A directed graph. Vertices are numbers from 0.
struct LayeredGraph {
  // Where a vertex must lie.
  enum class Pin : uint8_t {
    kNone,   // anywhere
    kFirst,  // in the first row, with vertices of this kind alone
    kLast    // in the last row, with vertices of this kind alone
  };
  // An edge. Edges of one vertex and value share their way.
  struct Edge {
    int from = 0,   // the vertex where it begins
        to = 0,     // the vertex where it ends
        value = 0;  // what it carries
  };
  std::vector<Pin> pins;    // one for each vertex
  std::vector<Edge> edges;  // may form cycles, and may repeat
};

// Rows of nodes. A node is a vertex or, from the number of vertices on, a bend: a place where a
// long edge passes through a row.
struct Layering {
  // A part of an edge, from a node to one of the next row.
  struct Link {
    int from = 0,  // the upper node
        to = 0,    // the lower node
        edge = 0;  // the edge, or one of those that share this part
  };
  int num_vertices = 0;                // nodes below this number are vertices
  std::vector<std::vector<int>> rows;  // the nodes of each row, from left to right
  std::vector<int> row_of;             // by node
  std::vector<Link> links;             // sorted by the row of `from`
  // Edges without links: those that go up or within a row, and those over too many rows.
  std::vector<int> cut;
  int64_t crossings = 0;  // of links
  int64_t steps = 0;      // the work done, for tests of its growth
};

// The longest edge that is drawn, in rows.
inline constexpr int kMaxEdgeRows = 100;

// Arranges the vertices in rows so that edges go down, and orders rows so that few links cross.
// Breaks cycles. Cuts the longest edges if they need more than eight bends for each vertex. Takes
// O((vertices + edges) log(vertices + edges)) time. Requires edges between existing vertices.
Layering Arrange(const LayeredGraph& graph);

// Sizes for Place, in any unit.
struct LayerSizes {
  std::span<const double> widths{};  // by vertex
  // By edge: where it begins, relative to the middle of its vertex. Empty: in the middle.
  std::span<const double> from_offsets{};
  std::span<const double> to_offsets{};  // the same: where it ends
  double gap = 20;                       // between neighbors in a row
  double bend_width = 4;                 // room for an edge that passes a row
  int64_t* steps = nullptr;              // grows by the work done, if it is not null
};

// Returns the middle of each node. Nodes of a row keep their order and do not overlap. The left
// side of the leftmost node is at 0.
std::vector<double> Place(const Layering& layering, const LayerSizes& sizes);

// Returns the right side of the rightmost node; 0 for none.
double WidthOf(const Layering& layering, std::span<const double> middles, const LayerSizes& sizes);

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_LAYOUT_LAYERED_H_
