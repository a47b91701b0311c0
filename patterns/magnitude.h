// How large the elements of a value can become.
#ifndef TENON_PATTERNS_MAGNITUDE_H_
#define TENON_PATTERNS_MAGNITUDE_H_

#include <optional>

#include "ir/core/value.h"

namespace tenon::pattern {

// A bound on |x| of the elements of a value that are not NaN, whatever the inputs of the program
// hold (value_range.h); infinity if none is provable.
double MagnitudeOf(Value value);

// Is every element provably NaN or a finite number?
bool IsBounded(Value value);

// Does no finite element of the value become an infinity when it is multiplied by the factor?
bool StaysFinite(Value value, double factor);

// Is it a constant without infinities and NaNs?
bool AreFinite(Value value);

// Is every element of the value, of whatever dtype, provably 0 or 1?
bool IsZeroOrOne(Value value);

// The number c, if `rest` is (1 - keep) * c for a constant `keep` of zeros and ones; 0 if no
// element of `keep` is 0. The two have one type, or one of them has a single element.
std::optional<double> NumberOfHidden(Value keep, Value rest);

// Does adding 1e30 swallow the value? Masks with the lowest number of f32 then mean the same
// whether they are added or selected.
bool IsModerate(Value value);

// Can a number move from the scores to what they are products of? Beyond these bounds the products
// of what is scaled might overflow or vanish where the scores did not.
bool IsModerateScale(double scale);

// The same of every element of a constant.
bool AreModerateScales(Value scales);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_MAGNITUDE_H_
