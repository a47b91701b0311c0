// The kinds of values that terms may have, known before anything is matched.
#ifndef TENON_DRR_RULE_TERM_KINDS_H_
#define TENON_DRR_RULE_TERM_KINDS_H_

#include <cstdint>
#include <functional>
#include <string>

#include "drr/rule/term.h"

namespace tenon::drr {

// A set of kinds.
using Kinds = uint32_t;
inline constexpr Kinds kWholeKind = 1;    // an integer or an extent
inline constexpr Kinds kRealKind = 2;     // a number with a point
inline constexpr Kinds kFlagKind = 4;     // true or false
inline constexpr Kinds kTextKind = 8;     // a text
inline constexpr Kinds kTypeKind = 16;    // an element type
inline constexpr Kinds kWholesKind = 32;  // a list of integers and extents
inline constexpr Kinds kRealsKind = 64;   // a list of numbers
inline constexpr Kinds kGraphKind = 128;  // a value of the program
inline constexpr Kinds kOtherKind = 256;  // what no term makes, such as the contents of a tensor
inline constexpr Kinds kAllKinds = 511;   // nothing is known
inline constexpr Kinds kNumberKinds = kWholeKind | kRealKind;  // a number
inline constexpr Kinds kListKinds = kWholesKind | kRealsKind;  // a list

// The kinds of an attribute variable.
using KindsOfVariable = std::function<Kinds(const AttrNode&)>;

// A superset of the kinds that the value of the term may have; 0 if it never has one.
Kinds KindsOf(const TermNode& term, const KindsOfVariable& of_variable);
// The same for an attribute of a rule.
Kinds KindsOf(const AttrNode& attr, const KindsOfVariable& of_variable);
// The kinds of the values of an attribute.
Kinds KindsHeldBy(AttrType type);
// The kinds of which some value becomes an attribute (ToAttribute in attr.h).
Kinds KindsTakenBy(AttrType type);
// Whether some two values of these kinds can be equal.
bool MayBeEqual(Kinds a, Kinds b);
// The words of messages: "an integer", "a value of the graph".
std::string NameOfKinds(Kinds kinds);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_TERM_KINDS_H_
