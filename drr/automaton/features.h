// What the source graph of a rule asks of a program, as a list of simple tests. The automaton
// (automaton.h) shares the tests of many rules.
#ifndef TENON_DRR_AUTOMATON_FEATURES_H_
#define TENON_DRR_AUTOMATON_FEATURES_H_

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "drr/compile/compiled.h"

namespace tenon::drr {

// A place in a program, seen from the operation at which a match is rooted: an operand of the
// operation that computes the value at another place. Place 0 is the root itself, without a parent.
struct Place {
  uint16_t parent = kNone;
  uint16_t group = 0, item = 0;  // which operand of the parent's operation
  // The number of that operand if it follows from the definition of the op, else -1.
  int32_t operand = -1;
  auto operator<=>(const Place&) const = default;
};

// A question about a place. The answer is a 64-bit key.
struct Test {
  enum class Kind : uint8_t {
    kOp,        // which result of which op the value is: KeyOfOp
    kConstant,  // whether it is a constant: 1
    kPresent,   // whether operand group `detail` of its op has operands: 0 or 1
    kCount,     // how many operands group `detail` of its op has
    kNumber,    // the number of a constant whose elements are equal: KeyOfNumber
    kRank,      // the rank of the value
    kDType,     // its element type
    kDim,       // its extent along axis `detail`, which may be negative
    kAttr,      // attribute `detail` of its op: the address of the interned attribute
    kAxis,      // the same, as an axis that counts from the end
    kSame,      // whether it is the value at place `detail`: 1
  };
  Kind kind = Kind::kOp;
  uint16_t place = 0;
  int16_t detail = 0;
  auto operator<=>(const Test&) const = default;
};

// The key of kOp.
inline uint64_t KeyOfOp(OpId op, unsigned result) {
  return op ^ (uint64_t{result} * 0x9e3779b97f4a7c15ull);
}
// The key of kNumber. A program may have another number that is near enough: SameNumber (number.h).
uint64_t KeyOfNumber(double number);
double NumberOfKey(uint64_t key);

// One bit of a set of ops; different ops may share one.
inline uint64_t BitOf(OpId op) { return uint64_t{1} << (op >> 58); }
// Returns the nodes that every match of a rule has: those that no alternative and no absent operand
// leaves out. Ascending.
std::vector<uint16_t> NodesOfEveryMatch(const CompiledRule& rule);
// The ops among these: BitOf of each.
uint64_t NeedsOf(const CompiledRule& rule);

// One requirement: a test must have one of these answers.
struct Feature {
  uint16_t test = 0;                      // in Tests
  absl::InlinedVector<uint64_t, 1> keys;  // sorted
  uint64_t after = 0;  // the features that must hold before the test makes sense: bit i for i
};

// One way to match a rule: its features, at most 64, those that others need first.
struct Variant {
  uint16_t rule = 0;  // its number
  std::vector<Feature> features;
};

// Numbers places and tests, so that rules share them.
class Tests {
 public:
  Tests() { Add(Place{}); }
  uint16_t Add(const Place& place);
  uint16_t Add(const Test& test);
  const std::vector<Place>& places() const { return places_; }
  const std::vector<Test>& tests() const { return tests_; }

 private:
  std::vector<Place> places_;
  std::vector<Test> tests_;
  std::map<Place, uint16_t> place_numbers_;
  std::map<Test, uint16_t> test_numbers_;
};

// Appends the variants of `rule` that are rooted at an operation `root`. Every match of the rule
// has all features of one of them. The reverse need not hold: features say nothing about computed
// attributes, uses, and conditions in C++. Operands of commutative ops in either order, and
// alternatives, make up to `most` variants; beyond that, features are left out.
void AddVariants(uint16_t number, const CompiledRule& rule, OpId root, size_t most, Tests& tests,
                 std::vector<Variant>& variants);

// Returns the tests that every program of one variant answers, with the answers (one of several, if
// there are more), sorted. Unlike features they tell also what follows from shared parts.
std::vector<std::pair<uint16_t, uint64_t>> DescriptionOf(const CompiledRule& rule, OpId root,
                                                         Tests& tests);

}  // namespace tenon::drr

#endif  // TENON_DRR_AUTOMATON_FEATURES_H_
