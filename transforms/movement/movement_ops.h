// Operations that only move elements.
#ifndef TENON_TRANSFORMS_MOVEMENT_MOVEMENT_OPS_H_
#define TENON_TRANSFORMS_MOVEMENT_MOVEMENT_OPS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "ir/core/operation.h"

namespace tenon {

// True for a transpose, slice, split or concatenation, and for a gather of constant places along an
// axis: they copy elements.
bool IsCopy(const Operation& op);

// Can the operation, a copy or a reshape, be read as a map of elements within each sample? A sample
// is what one index of a symbolic outermost extent holds; that axis stays where it is.
bool IsMovement(Operation& op);

// The operands whose elements the operation moves: not the indices of a gather.
std::span<const OpOperand> MovedOperands(const Operation& op);

// The places along an axis of that extent that a gather for which IsCopy holds picks, counted from
// the start; empty if one of them is outside of it.
std::vector<int64_t> PickedPlaces(const Operation& op, int64_t extent);

}  // namespace tenon

#endif  // TENON_TRANSFORMS_MOVEMENT_MOVEMENT_OPS_H_
