// Provable bounds on the elements of a value. They hold for all inputs of the program
// (value_range.h).
#ifndef TENON_PATTERNS_FACTS_MAGNITUDE_H_
#define TENON_PATTERNS_FACTS_MAGNITUDE_H_

#include <optional>

#include "ir/core/value.h"

namespace tenon::pattern {

// Returns a bound on |x| of all elements that are not NaN; infinity if none can be proved.
double MagnitudeOf(Value value);

// True if every element is provably NaN or finite.
bool IsBounded(Value value);

// True if no finite element overflows when it is multiplied by `factor`.
bool StaysFinite(Value value, double factor);

// True for a constant without infinities and NaNs.
bool AreFinite(Value value);

// True if every element is provably 0 or 1, in any element type.
bool IsZeroOrOne(Value value);

// If `rest` is (1 - keep) * c for a constant `keep` of zeros and ones, returns c; 0 if `keep` has
// no zero. The two must have one type, or one of them a single element.
std::optional<double> NumberOfHidden(Value keep, Value rest);

// True if the magnitude is provably at most 1e20, so that adding 1e30 or more hides the element.
// Then a mask with the lowest f32 gives the same result whether it is added or selected.
bool IsModerate(Value value);

// True for 1e-4 <= |scale| <= 1e4. Only such numbers are moved from scores to the factors of their
// product, which might overflow or underflow otherwise.
bool IsModerateScale(double scale);

// True if that holds for every element of a constant.
bool AreModerateScales(Value scales);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FACTS_MAGNITUDE_H_
