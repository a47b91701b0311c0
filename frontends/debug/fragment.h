// A part of a function as a function of its own.
#ifndef TENON_FRONTENDS_DEBUG_FRAGMENT_H_
#define TENON_FRONTENDS_DEBUG_FRAGMENT_H_

#include <functional>
#include <span>
#include <vector>

#include "ir/core/operation.h"

namespace tenon {

// Returns a module with a function @main that computes `results` by copies of the operations for
// which `is_inside` holds, and of the constants that these read. Every other value becomes an
// argument: those of `inputs` first, in order, also where nothing reads them. Appends further ones
// to `inputs`. All values must be alive. Locations are kept.
OwnedOp MakeFragment(std::span<const Value> results,
                     const std::function<bool(const Operation* op)>& is_inside,
                     std::vector<Value>& inputs);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_FRAGMENT_H_
