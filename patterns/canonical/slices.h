// The rule that joins slices of slices. Private to patterns.
#ifndef TENON_PATTERNS_CANONICAL_SLICES_H_
#define TENON_PATTERNS_CANONICAL_SLICES_H_

#include "patterns/prelude.h"

namespace tenon::pattern {

Rule SliceOfSlice();

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_CANONICAL_SLICES_H_
