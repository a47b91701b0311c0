// The picture of a program: a layered drawing of each group, in which groups are boxes.
#ifndef TENON_FRONTENDS_VIEW_NESTED_H_
#define TENON_FRONTENDS_VIEW_NESTED_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/view/layout/layered.h"
#include "frontends/view/program.h"

namespace tenon::view {

// Lengths in pixels at a scale of 1.
struct Metrics {
  int op_height = 40;      // of an operation and of a closed group
  int gap = 40;            // between rows, with room for a type
  int port_gap = 18;       // between a row of ports and another one
  int pad = 12;            // inside a group, at its sides and its bottom
  int head = 26;           // the title of an open group
  double letter = 7.2;     // the width of a letter of a label, at most
  int longest_label = 30;  // letters of a label that a box shows
};
inline constexpr Metrics kMetrics;  // The only ones.

// What a box of a group shows.
struct Item {
  // The kind of a box.
  enum class Kind : uint8_t {
    kOp,     // an operation
    kGroup,  // a group inside this one
    kIn,     // a port: the place where a value enters the group
    kOut     // a port: the place where a value leaves it
  };
  Kind kind = Kind::kOp;  // decides what `index` means
  int index = 0;          // of an op, a group, or for ports a value
};

// An edge between items. It carries a value to an input.
struct ItemEdge {
  int from = 0,    // an item
      to = 0,      // an item
      value = 0,   // by Program::values
      input = -1;  // of the op `to`, among its drawn inputs; -1: `to` is no op
};

// The inside of a group.
struct Interior {
  std::vector<Item> items;        // the vertices of `layering`
  std::vector<ItemEdge> edges;    // the edges of `layering`
  Layering layering;              // rows, order, and links
  std::vector<int> row_is_ports;  // by row: 1 if it has only ports and bends
  // The middle of each node where all groups inside are closed, and where all are open.
  std::vector<int> closed_middles, open_middles;
  int closed_width = 0,  // of the whole interior
      open_width = 0;    // the same, where all groups inside are open
};

// The picture of a program.
struct Picture {
  std::vector<Interior> interiors;       // by group
  std::vector<int> op_widths;            // by op
  std::vector<int> closed_group_widths;  // by group
  int64_t steps = 0;                     // the work done
};

// Lays out a program. Takes O(n log n) time for n ops, values and uses.
Picture LayOut(const Program& program);

// The text of a label, shortened in its middle to Metrics::longest_label letters.
std::string ShortLabel(std::string_view label);

// The place of input `k` of `n`, or of a result, relative to the middle of an op of this width.
double PortOffset(int k, int n, int width);

}  // namespace tenon::view

#endif  // TENON_FRONTENDS_VIEW_NESTED_H_
