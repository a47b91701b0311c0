// What each application of a rule makes smaller, so that rewriting ends.
#ifndef TENON_DRR_RULE_MEASURE_H_
#define TENON_DRR_RULE_MEASURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::drr {

// A number of the operations that a rule matches, which is smaller for those that it leaves and
// makes. The check of rules measures each application (drr/rewrite/measuring.h), and debug builds
// measure all of them.
struct Measure {
  // What is counted.
  enum class Kind : uint8_t {
    kNone,      // the rule names nothing
    kWords,     // what `words` say, for readers: nothing can check it
    kOps,       // operations `ops`
    kBefore,    // pairs of an operation of `ops` and an operand of one of `behind` that is computed
                // from its result
    kElements,  // elements of results
    kBytes,     // bytes of results
  };
  Kind kind = Kind::kNone;               // what is counted
  std::string words;                     // kWords
  std::vector<std::string> ops, behind;  // names with their dialects: "ten.add"
};
// Returns the notation behind `lowers`: `ops(ten.div)`. Empty for kNone.
std::string ToString(const Measure& measure);

// The number of these operations, such as "ten.div".
Measure OpsOf(std::vector<std::string> ops);
// The number of pairs of an operation of `ops` and an operand of one of `behind` that is computed
// from its result. A rule that moves transposes behind sums lowers OpsBefore({"ten.transpose"},
// {"ten.add"}).
Measure OpsBefore(std::vector<std::string> ops, std::vector<std::string> behind);
// The number of elements that operations other than constants compute. Unknown extents are not
// measured.
Measure ElementsComputed();
Measure BytesComputed();  // the same in bytes

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_MEASURE_H_
