// The words of the rule language that know no operation by name: arithmetic, lists, extents and
// types. The families of rules add facts about values (patterns/facts/facts.h).
#ifndef TENON_DRR_RULE_WORDS_H_
#define TENON_DRR_RULE_WORDS_H_

#include <span>
#include <string_view>

#include "drr/rule/term.h"

namespace tenon::drr {

// All words of this file, without the operators.
std::span<const Word> BaseWords();
// The word of that name among those of this file; ends the program if there is none.
const Word& BaseWord(std::string_view name);

// ---- words for C++, named as in text ------------------------------------------------------------

Term RankOf(const Val& x);                      // the rank
Term ExtentOf(const Val& x, const Term& axis);  // the extent of an axis
Term ShapeOf(const Val& x);                     // the list of all extents
Term DTypeOf(const Val& x);                     // the element type
// The name of the operation that computes x, such as "nn.softmax"; empty for an argument.
Term OpOf(const Term& x);
// An operand of that operation.
Term OperandOf(const Term& x, const Term& i);
Term AttributeOf(const Term& x, const char* name);  // an attribute of that operation
// The program has one use of x.
Term HasOneUse(const Val& x);

// The number as a float.
Term Real(const Term& number);
Term AbsOf(const Term& number);            // |number|
Term SqrtOf(const Term& number);           // its root; no value below 0
Term FloorOf(const Term& number);          // the next integer below
Term MinOf(const Term& a, const Term& b);  // the smaller one
Term MaxOf(const Term& a, const Term& b);  // the larger one
Term IsPowerOfTwo(const Term& number);     // true for 2^n
// The number if the type holds it as zero, or as a finite and normal number; no value otherwise.
Term Held(const Term& type, const Term& number);
// The product in the same way. No value either if it is zero and no factor is.
Term HeldProduct(const Term& type, const Term& a, const Term& b);
Term LargestFiniteOf(const Term& type);  // the largest number of the type
// True if the term has a value.
Term Exists(const Term& term);

// True if the extent, or each one of the list, is a number.
Term IsFixed(const Term& extents);
// True unless the extent is the number `number`. True of a name, which may have that value in a
// run.
Term IsNotNumber(const Term& extent, int64_t number);
// The same list; no value if one of its extents is unknown.
Term Known(const Term& extents);
Term BroadcastOf(const Term& a, const Term& b);  // the shape to which both broadcast
// True if the first shape broadcasts to the second.
Term BroadcastsTo(const Term& narrow, const Term& wide);

Term LengthOf(const Term& list);  // the number of elements
// The first n elements; for a negative n all but the last -n.
Term Take(const Term& list, const Term& n);
// Without the first n elements; for a negative n the last -n.
Term Drop(const Term& list, const Term& n);
// begin, begin + 1, ... below end.
Term IntegersFrom(const Term& begin, const Term& end);
// n ones.
Term Ones(const Term& n);
// The list behind ones, n elements in all.
Term Padded(const Term& list, const Term& n);
Term ProductOf(const Term& list);   // the product of the elements
Term SmallestOf(const Term& list);  // the smallest element
// The only element; no value if there are more.
Term OnlyOf(const Term& list);
Term SwapLast(const Term& list);  // the last two elements swapped
// The permutation of n axes that brings the axis `from` to the place `to`.
Term MovedAxis(const Term& n, const Term& from, const Term& to);
// The list with 1 in these places.
Term WithOnes(const Term& list, const Term& places);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_WORDS_H_
