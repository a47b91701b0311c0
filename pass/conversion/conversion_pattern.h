// Patterns of a dialect conversion, and the rewriter that they get.
#ifndef TENON_PASS_CONVERSION_CONVERSION_PATTERN_H_
#define TENON_PASS_CONVERSION_CONVERSION_PATTERN_H_

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "pass/conversion/type_converter.h"
#include "pass/rewrite_pattern.h"

namespace tenon {

class ConversionCasts;

// A Rewriter that may replace a value by one of another type. Ops that are not converted yet, or
// not at all, go on to see a value of the old type.
class ConversionRewriter : public Rewriter {
 public:
  // For the driver. `converter` is that of the pattern, which may be null.
  ConversionRewriter(Context& context, IrListener* listener, ConversionCasts& casts,
                     const TypeConverter* converter)
      : Rewriter(context, listener), casts_(casts), converter_(converter) {}

  // As in Rewriter, but the types of values and results may differ.
  void Replace(Operation* op, std::span<const Value> values);
  void Replace(Operation* op, Value value) { Replace(op, {&value, 1}); }
  // Replaces `op` by the results of `made`, which must have as many.
  void ReplaceByResultsOf(Operation* op, Operation* made);
  // Makes an op of the generated class `Op` before `op`, and replaces `op` by its results. Errors
  // are those of Op::Create.
  template <typename Op, typename... Args>
  absl::StatusOr<Op> ReplaceWith(Operation* op, Args&&... args) {
    OpBuilder before = OpBuilder::Before(op);
    before.set_listener(listener());
    absl::StatusOr<Op> made = Op::Create(before, op->location(), std::forward<Args>(args)...);
    if (made.ok()) ReplaceByResultsOf(op, made->op());
    return made;
  }
  using Rewriter::Erase;
  void Erase(Operation* op);  // As in Rewriter.

  // Converts the types of all block arguments of `region`. Returns false, and changes nothing, if
  // one cannot be converted.
  bool ConvertArguments(Region& region, const TypeConverter& converter);
  // Converts the types of the results of `op` in place. Returns false, and changes nothing, if one
  // cannot be converted.
  bool ConvertResults(Operation* op, const TypeConverter& converter);
  // What `value` has become, before any change of its type for ops that are not converted.
  Value Converted(Value value) const;

  // Says why the pattern does not apply, for the message about an op that stays illegal. Returns
  // false, so that a pattern can say: return rewriter.Fail("the rate is not constant").
  bool Fail(std::string why);
  const std::string& why() const { return why_; }  // what Fail said last

 private:
  void ReplaceUses(Value was, Value now);
  void SetType(Value value, Type type, TypeConverter::Need need, const TypeConverter& converter);

  ConversionCasts& casts_;
  const TypeConverter* converter_;
  std::string why_;
};

// The operands of an op in the types that a pattern works with.
class ConvertedOperands {
 public:
  // Does not own `op` and `values`. `values` has one for each operand of `op`.
  ConvertedOperands(const Operation* op, std::span<const Value> values)
      : op_(op), values_(values) {}
  size_t size() const { return values_.size(); }           // the number of operands
  Value operator[](size_t i) const { return values_[i]; }  // requires i < size()
  std::span<const Value> all() const { return values_; }   // in order
  std::span<const Value> group(unsigned group) const {     // of an operand of the definition
    const auto [first, count] = op_->operand_group(group);
    return values_.subspan(first, count);
  }

 private:
  const Operation* op_;
  std::span<const Value> values_;
};

// Makes an illegal op legal. A pattern is constant and thread-safe. It has the duties of a
// RewritePattern: it looks first and changes afterwards, and only through its rewriter. The driver
// of rules (drr/rewrite/driver.h) does not run it.
class ConversionPattern : public RewritePattern {
 public:
  // As for RewritePattern. With a converter, which must outlive the pattern, operands have the
  // converted types of those of the op, and the pattern does not apply if one has no such type.
  // Without one, operands are what replaced those of the op.
  ConversionPattern(std::string name, std::string root, const TypeConverter* converter = nullptr,
                    int benefit = 0)
      : RewritePattern(std::move(name), std::move(root), benefit), converter_(converter) {}

  // Returns true if it has replaced, erased or changed `op`.
  virtual absl::StatusOr<bool> Convert(Operation* op, const ConvertedOperands& operands,
                                       ConversionRewriter& rewriter) const = 0;
  const TypeConverter* converter() const { return converter_; }  // may be null
  const ConversionPattern* AsConversionPattern() const final { return this; }

 private:
  absl::StatusOr<bool> Rewrite(Operation* op, Rewriter& rewriter) const final;

  const TypeConverter* converter_;
};

// A conversion pattern for the ops of the generated class `Op`.
template <typename Op>
class OpConversionPattern : public ConversionPattern {
 public:
  // The arguments are those of ConversionPattern.
  explicit OpConversionPattern(std::string name, const TypeConverter* converter = nullptr,
                               int benefit = 0)
      : ConversionPattern(std::move(name), std::string(Op::kName), converter, benefit) {}
  // ConversionPattern::Convert.
  virtual absl::StatusOr<bool> ConvertOp(Op op, const ConvertedOperands& operands,
                                         ConversionRewriter& rewriter) const = 0;

 private:
  absl::StatusOr<bool> Convert(Operation* op, const ConvertedOperands& operands,
                               ConversionRewriter& rewriter) const final {
    return ConvertOp(Op(op), operands, rewriter);
  }
};

// Adds a pattern "convert-types-of-<op>" for each of these ops, such as "func.func": it converts
// the types of operands, results, block arguments and function types, and leaves everything else.
// `converter` must outlive the patterns. TypeConverter::IsLegal(op) says when such an op is legal.
void AddTypeConversions(PatternSet& patterns, const TypeConverter& converter,
                        std::span<const std::string_view> ops);

}  // namespace tenon

#endif  // TENON_PASS_CONVERSION_CONVERSION_PATTERN_H_
