// Dimensions of tensors: numbers, and expressions over named symbols.
#ifndef TENON_IR_CORE_DIMS_DIM_EXPR_H_
#define TENON_IR_CORE_DIMS_DIM_EXPR_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tenon {

class Context;
struct DimExprStorage;

// A handle to an interned dimension expression in normal form: a constant, a symbol, or a sum. A
// sum adds integer multiples of products; their factors are symbols and floordiv, mod, min and
// broadcast terms. A maximum is written as a sum with a min. Symbols stand for extents and are
// never negative.
//
// Equal expressions have equal handles. Two unknown extents may differ although both have the
// handle of Unknown: ProvablyEqual compares extents, and `==` compares handles. A handle is cheap
// to copy and lives as long as its Context. Functions that combine expressions require operands of
// one Context. All functions are thread-safe.
class DimExpr {
 public:
  // The kind of an expression, with an example of its text.
  enum class Kind : uint8_t {
    kConstant,   // 768
    kSymbol,     // S
    kSum,        // 2 * S + 1, B * S
    kFloorDiv,   // S floordiv 2
    kMod,        // S mod 2
    kMin,        // min(S, 512)
    kBroadcast,  // broadcast(S, T)
    kUnknown     // ?
  };

  // A null handle, only to be assigned to.
  DimExpr() = default;
  explicit DimExpr(const DimExprStorage* storage) : storage_(storage) {}  // For ir/core only.

  // Values may be negative: they occur inside of sums.
  static DimExpr Constant(Context& context, int64_t value);
  // The extent named `name`. A backquote in the name becomes an apostrophe.
  static DimExpr Symbol(Context& context, std::string_view name);
  // An extent of which nothing is known; prints as "?".
  static DimExpr Unknown(Context& context);

  // Reads the text form. It has + - * floordiv mod, min(a, b), max(a, b), broadcast(a, b),
  // parentheses, integers and symbols, and "?" for Unknown. A symbol is [A-Za-z_][A-Za-z0-9_.$]*,
  // or any text between backquotes. Returns nullopt if the text is malformed, has an integer out of
  // range, or nests parentheses too deep.
  static std::optional<DimExpr> Parse(Context& context, std::string_view text);

  Kind kind() const;         // Requires a handle that is not null.
  Context& context() const;  // The owner. Requires the same.
  bool is_constant() const { return kind() == Kind::kConstant; }  // True for a number.
  bool is_unknown() const { return kind() == Kind::kUnknown; }    // True for Unknown.
  // True for the number `value`.
  bool is_constant(int64_t value) const { return is_constant() && constant() == value; }
  int64_t constant() const;         // requires is_constant()
  std::string_view symbol() const;  // requires kSymbol
  // The text form, which Parse reads.
  const std::string& text() const;

  // The value for given values of the symbols. Returns nullopt if `lookup` gives none for a symbol,
  // on overflow or division by zero, for Unknown, or where extents cannot be broadcast.
  std::optional<int64_t> Evaluate(
      const std::function<std::optional<int64_t>(std::string_view symbol)>& lookup) const;
  // Replaces each symbol for which `lookup` gives an expression.
  DimExpr Substitute(
      const std::function<std::optional<DimExpr>(std::string_view symbol)>& lookup) const;
  // Appends the names of all symbols that `out` does not have yet, in order of appearance. The
  // Context owns the names.
  void CollectSymbols(std::vector<std::string_view>& out) const;

  // True if a proof of a = b is found for all values >= 0 of the symbols. False does not mean that
  // the opposite holds.
  static bool ProvablyEqual(DimExpr a, DimExpr b) {
    return a.storage_ == b.storage_ && !a.is_unknown();
  }
  static bool ProvablyLessEqual(DimExpr a, DimExpr b);  // The same for a <= b.
  // The exact quotient of the polynomials. Returns nullopt if `b` is 0 or none is found.
  static std::optional<DimExpr> ExactDiv(DimExpr a, DimExpr b);

  explicit operator bool() const { return storage_ != nullptr; }  // False for a null handle.
  // Identity of the handle: Unknown is equal to itself here. For hashing and lookup; use
  // ProvablyEqual to compare extents.
  bool operator==(const DimExpr& o) const { return storage_ == o.storage_; }
  const DimExprStorage* storage() const { return storage_; }  // Identity, for hashing.

 private:
  const DimExprStorage* storage_ = nullptr;
};

// ---- arithmetic in normal form
// Returns the sum. This function and the next ones return Unknown in three cases: an operand is
// Unknown, int64_t overflows, or the expression becomes too large.
DimExpr operator+(DimExpr a, DimExpr b);
DimExpr operator-(DimExpr a, DimExpr b);  // the difference
DimExpr operator*(DimExpr a, DimExpr b);  // the product
// The same with a number.
DimExpr operator+(DimExpr a, int64_t b);
DimExpr operator-(DimExpr a, int64_t b);  // the difference
DimExpr operator*(DimExpr a, int64_t b);  // the product
DimExpr FloorDiv(DimExpr a, DimExpr b);   // rounds down; Unknown for the constant divisor 0
// The same with a number.
DimExpr FloorDiv(DimExpr a, int64_t b);
// Rounds a / b up. Requires b > 0.
DimExpr CeilDiv(DimExpr a, int64_t b);
// a - b * FloorDiv(a, b).
DimExpr Mod(DimExpr a, DimExpr b);
DimExpr Min(DimExpr a, DimExpr b);  // the smaller one
DimExpr Max(DimExpr a, DimExpr b);  // the larger one: a + b - Min(a, b)
// The extent of broadcasting `a` with `b` as in numpy. Assumes that they fit: equal, or one is 1.
// Thus broadcast(S, 1) = S, broadcast(S, 768) = 768 and broadcast(S, min(S, 512)) = S. A constant
// other than 1 also wins over Unknown. Order and repetition of parts do not matter; at most 16.
DimExpr Broadcast(DimExpr a, DimExpr b);
// The product of all; 1 for none.
DimExpr Product(Context& context, std::span<const DimExpr> dims);

}  // namespace tenon

#endif  // TENON_IR_CORE_DIMS_DIM_EXPR_H_
