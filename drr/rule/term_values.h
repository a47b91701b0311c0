// What the operators of terms compute. Internal to drr/rule.
#ifndef TENON_DRR_RULE_TERM_VALUES_H_
#define TENON_DRR_RULE_TERM_VALUES_H_

#include <optional>
#include <vector>

#include "drr/rule/term.h"

namespace tenon::drr {

// An extent as a value: a constant one is an integer.
AttrValue SimpleExtent(DimExpr extent);

// The integer that the number is; nullopt if it has a fraction, or is too large.
std::optional<int64_t> WholeOf(double number);

// The elements of a list of integers, numbers or extents; nullopt for all else.
std::optional<std::vector<AttrValue>> ElementsOf(const TermValue& list);
// The list of these elements; no value if they do not go together.
TermValue ListOfElements(const std::vector<AttrValue>& elements);

// Whether two values are equal. Nullopt if it is not known, as of two symbols, or if they are of
// different kinds.
Truth Equal(const TermValue& a, const TermValue& b);
// Whether the list ends with the elements of `end`, and all elements before are 1.
Truth EqualBehindOnes(const TermValue& list, const TermValue& end);
// Whether a < b, or a <= b. Nullopt if it is not known.
Truth IsLess(const TermValue& a, const TermValue& b, bool or_equal);
// Whether two tensors have equal extents, and one element type too. Nullopt if one has no rank.
Truth EqualShapes(Type a, Type b);
Truth SameTypes(Type a, Type b);

// Return what && and || make of two answers, each of which may be unknown.
Truth Both(Truth a, Truth b);
Truth Either(Truth a, Truth b);

// The smaller or the larger one of two numbers or extents; no value for other kinds.
TermValue LeastOf(const TermValue& a, const TermValue& b);
TermValue MostOf(const TermValue& a, const TermValue& b);

enum class Arithmetic : uint8_t { kAdd, kSubtract, kMultiply, kDivide, kRemainder };
TermValue Combine(Arithmetic how, const TermValue& a, const TermValue& b);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_TERM_VALUES_H_
