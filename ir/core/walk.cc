#include "ir/core/walk.h"

#include <utility>

#include "absl/container/inlined_vector.h"
#include "ir/core/block.h"

namespace tenon {
namespace {

// A place in the regions of an op whose next op is known before the one at hand is visited. On the
// heap: no nesting is too deep.
struct Place {
  Operation* owner;
  unsigned region = 0;  // the next one to enter
  Block* block = nullptr;
  Operation* next = nullptr;

  // The next op of the regions; null behind the last one.
  Operation* Take() {
    while (next == nullptr) {
      if (block != nullptr) block = block->next();
      while (block == nullptr) {
        if (region == owner->num_regions()) return nullptr;
        Region& entered = owner->region(region++);
        block = entered.empty() ? nullptr : &entered.front();
      }
      next = block->front();
    }
    return std::exchange(next, next->next());
  }
};

using PlaceStack = absl::InlinedVector<Place, 8>;

}  // namespace

bool WalkOps(Operation* top, absl::FunctionRef<WalkResult(Operation*)> f) {
  PlaceStack places;
  for (Operation* op = top;;) {
    switch (f(op)) {
      case WalkResult::kInterrupt:
        return false;
      case WalkResult::kSkip:
        break;
      case WalkResult::kAdvance:
        if (op->num_regions() > 0) places.push_back({.owner = op});
    }
    for (op = nullptr; op == nullptr && !places.empty();) {
      op = places.back().Take();
      if (op == nullptr) places.pop_back();
    }
    if (op == nullptr) return true;
  }
}

bool WalkOpsInside(Operation* top, absl::FunctionRef<WalkResult(Operation*)> f) {
  PlaceStack places = {{.owner = top}};
  while (!places.empty()) {
    Operation* op = places.back().Take();
    if (op == nullptr) {
      op = places.back().owner;
      places.pop_back();
    } else if (op->num_regions() > 0) {
      places.push_back({.owner = op});
      continue;
    }
    if (f(op) == WalkResult::kInterrupt) return false;
  }
  return true;
}

}  // namespace tenon
