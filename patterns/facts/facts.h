// What rules may ask of values, as words of the rule language: proven ranges (value_range.h) and
// the numbers in constants.
#ifndef TENON_PATTERNS_FACTS_FACTS_H_
#define TENON_PATTERNS_FACTS_FACTS_H_

#include <span>

#include "drr/rule/condition.h"
#include "drr/rule/words.h"

namespace tenon::pattern {

// All words of this file, for ParseRules.
std::span<const drr::Word> Facts();

// A bound on |x| of all elements that are not NaN; infinity if none is proved.
drr::Term Magnitude(const drr::Val& x);
// The least and the largest element that x may have.
drr::Term LowerBound(const drr::Val& x);
drr::Term UpperBound(const drr::Val& x);
// The smallest |x| other than zero, and the largest |x|, in a constant; no value for other values.
// The largest is infinity if one element is infinite or NaN.
drr::Term SmallestSize(const drr::Val& constant);
drr::Term LargestSize(const drr::Val& constant);
// The largest |x / u| of two constants, where every element of x is a whole multiple of its unit as
// f32 rounds it; no value otherwise. There is one unit, or one for each element.
drr::Term LargestMultiple(const drr::Val& x, const drr::Val& units);
// Some element of a constant is zero.
drr::Term HasZero(const drr::Val& constant);
// All elements of a constant are equal; no value for other values.
drr::Term IsUniform(const drr::Val& constant);
// True if every element is provably 0 or 1, in any element type; else no value.
drr::Term HoldsZerosAndOnes(const drr::Val& x);
// A user of x, or of what is computed from it, may tell +0 from -0 (ir/dialect/folds/zero_signs.h).
drr::Term TellsSignOfZero(const drr::Val& x);

// ---- conditions made of them --------------------------------------------------------------------

// The elements are NaN or finite, whatever the inputs hold.
drr::Condition IsBounded(const char* words, const drr::Val& x);
// The magnitude is at most 1e20, so that adding 1e30 or more hides the element.
drr::Condition HasModerateSize(const char* words, const drr::Val& x);
// 1e-4 <= |scale| <= 1e4. Only such numbers are moved from scores to the factors of their product,
// which might overflow or underflow otherwise.
drr::Term IsModerateNumber(const drr::Term& scale);
drr::Condition IsModerateScale(const char* words, const drr::Term& scale);
// No finite element of x overflows when it is multiplied by the factor.
drr::Term StaysFinite(const drr::Val& x, const drr::Term& factor);
// A factor that moves from a sum of products to what is summed. Terms of the sum have headroom and
// may cancel, so that a factor above that headroom makes infinities of them. Sums of f16 are
// computed in f32.
drr::Term IsFactorOfTerms(const drr::Term& size, const drr::Val& sum);
// The same for the factors in a constant, which are finite.
drr::Condition AreFactorsOfTerms(const drr::Val& factors, const drr::Val& sum);
// A constant without infinities and NaNs.
drr::Condition AreFinite(const char* words, const drr::Val& constant);

// b has an element for each one of the last axis of y: [N], [1, N], and so on.
drr::Term IsRow(const drr::Val& b, const drr::Val& y);
// b is one number, of no more axes than y.
drr::Term IsNumber(const drr::Val& b, const drr::Val& y);
// b has an element for each channel of y, which is axis 1: [C, 1, ...] or [1, C, 1, ...].
drr::Term IsPerChannel(const drr::Val& b, const drr::Val& y);

}  // namespace tenon::pattern

#endif  // TENON_PATTERNS_FACTS_FACTS_H_
