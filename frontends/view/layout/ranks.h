// Rows of vertices: the first step of a layered drawing.
#ifndef TENON_FRONTENDS_VIEW_LAYOUT_RANKS_H_
#define TENON_FRONTENDS_VIEW_LAYOUT_RANKS_H_

#include <cstdint>
#include <vector>

#include "frontends/view/layout/layered.h"

namespace tenon::view {

// The row of each vertex.
struct Ranks {
  std::vector<int> row_of;  // by vertex
  int num_rows = 0;         // every row below it has a vertex
  std::vector<bool> cut;    // by edge: true if it is not drawn
  int64_t steps = 0;        // the work done
};

// Puts each vertex below those from which it is reached, near its users. Cuts edges that close a
// cycle, contradict a pin, or span too many rows.
Ranks RankVertices(const LayeredGraph& graph);

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_LAYOUT_RANKS_H_
