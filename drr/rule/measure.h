// What each application of a rule makes smaller, so that rewriting ends.
#ifndef TENON_DRR_RULE_MEASURE_H_
#define TENON_DRR_RULE_MEASURE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tenon::drr {

// Operations of one name, as a measure counts them.
struct MeasuredOp {
  // What one of them counts.
  enum class Weight : uint8_t {
    kOne,        // 1
    kAxes,       // the rank of its first result
    kExchanges,  // the pairs of axes that its attribute `perm` has out of order
    kOperands,   // the number of its operands
    kNegatives,  // the operands that are constants with a negative first element
    kReads,      // the elements of its operands, where all extents are known
  };
  // NOLINTBEGIN(google-explicit-constructor): a name is such operations
  MeasuredOp(const char* op) : name(op) {}                  // each counts 1
  MeasuredOp(std::string op = {}) : name(std::move(op)) {}  // each counts 1
  // NOLINTEND(google-explicit-constructor)
  MeasuredOp(std::string op, Weight w) : name(std::move(op)), weight(w) {}
  // Only those with this attribute. `rank` stands for the rank of the first result,
  // and `operands` for the number of operands. A negative
  // number is also equal to the axis that it counts from the end.
  MeasuredOp With(std::string attribute, std::variant<int64_t, std::string> is) && {
    attr = std::move(attribute);
    value = std::move(is);
    return std::move(*this);
  }
  // Behind others: only what its operand `i` is computed from.
  MeasuredOp At(int i) && {
    operand = i;
    return std::move(*this);
  }

  std::string name;                          // with its dialect: "ten.add"; "core.constant" also
                                             // stands for constants that the rule does not match
  Weight weight = Weight::kOne;              // what one counts
  std::string attr;                          // empty: any
  std::variant<int64_t, std::string> value;  // of `attr`
  int operand = -1;                          // -1: any
};

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
  Kind kind = Kind::kNone;              // what is counted
  std::string words;                    // kWords
  std::vector<MeasuredOp> ops, behind;  // the operations that count
};
// Returns the notation behind `lowers`: `ops(ten.div)`. Empty for kNone.
std::string ToString(const Measure& measure);

// The number of these operations, such as "ten.div".
Measure OpsOf(std::vector<MeasuredOp> ops);
// The number of pairs of an operation of `ops` and an operand of one of `behind` that is computed
// from its result. A rule that moves transposes behind sums lowers OpsBefore({"ten.transpose"},
// {"ten.add"}).
Measure OpsBefore(std::vector<MeasuredOp> ops, std::vector<MeasuredOp> behind);
// The number of elements that operations other than constants compute. Unknown extents are not
// measured.
Measure ElementsComputed();
Measure BytesComputed();  // the same in bytes

// What single operations count in OpsOf and OpsBefore, in place of 1.
MeasuredOp AxesOf(std::string op);       // Weight::kAxes
MeasuredOp ExchangesOf(std::string op);  // Weight::kExchanges
MeasuredOp OperandsOf(std::string op);   // Weight::kOperands
MeasuredOp NegativesOf(std::string op);  // Weight::kNegatives
MeasuredOp ReadsOf(std::string op);      // Weight::kReads
// The word for a weight in text, such as "axes"; empty for kOne.
std::string_view NameOf(MeasuredOp::Weight weight);

}  // namespace tenon::drr

#endif  // TENON_DRR_RULE_MEASURE_H_
