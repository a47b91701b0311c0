// Provable bounds on the elements of a value. They hold for all inputs of the program
// (value_range.h).
#ifndef TENON_PATTERNS_FACTS_MAGNITUDE_H_
#define TENON_PATTERNS_FACTS_MAGNITUDE_H_

#include <optional>

#include "ir/core/value.h"

namespace tenon::pattern {

// Returns a bound on |x| of all elements that are not NaN; infinity if none can be proved.
double MagnitudeOf(Value value);

// True if every element is provably 0 or 1, in any element type.
bool IsZeroOrOne(Value value);

// If `rest` is (1 - keep) * c for a constant `keep` of zeros and ones, returns c; 0 if `keep` has
// no zero. The two must have one type, or one of them a single element.
std::optional<double> NumberOfHidden(Value keep, Value rest);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FACTS_MAGNITUDE_H_
