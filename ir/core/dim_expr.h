// Dimensions of tensors: numbers, and expressions over named symbols.
#ifndef TENON_IR_CORE_DIM_EXPR_H_
#define TENON_IR_CORE_DIM_EXPR_H_

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

// An interned dimension expression in normal form: a constant, a symbol, or a sum of integer
// multiples of products of symbols and of floordiv / mod / min / broadcast terms. Symbols
// stand for extents, so they are never negative. Equal pointers mean equal expressions, except for
// Unknown, which is not equal to anything, itself included. Trivially copyable; lives as long as
// its Context.
class DimExpr {
 public:
  enum class Kind : uint8_t {
    kConstant,
    kSymbol,
    kSum,
    kFloorDiv,
    kMod,
    kMin,
    kBroadcast,
    kUnknown
  };

  DimExpr() = default;  // null: only to be assigned to
  explicit DimExpr(const DimExprStorage* storage) : storage_(storage) {}

  static DimExpr Constant(Context& context, int64_t value);
  static DimExpr Symbol(Context& context, std::string_view name);
  static DimExpr Unknown(Context& context);

  // Reads the text form: + - * floordiv mod min(a, b) max(a, b) broadcast(a, b), parentheses,
  // integers, symbols ([A-Za-z_][A-Za-z0-9_.$]*, or any text between backquotes), "?" for Unknown.
  // nullopt if the text is malformed.
  static std::optional<DimExpr> Parse(Context& context, std::string_view text);

  Kind kind() const;
  Context& context() const;
  bool is_constant() const { return kind() == Kind::kConstant; }
  bool is_unknown() const { return kind() == Kind::kUnknown; }
  bool is_constant(int64_t value) const { return is_constant() && constant() == value; }
  int64_t constant() const;         // REQUIRES: is_constant()
  std::string_view symbol() const;  // REQUIRES: kSymbol
  // The text form; also the order in which terms print. Stable for equal expressions.
  const std::string& text() const;

  // Value for a binding of symbols; nullopt if a symbol is unbound, or on overflow, division by
  // zero, or a broadcast of extents that do not fit.
  std::optional<int64_t> Evaluate(
      const std::function<std::optional<int64_t>(std::string_view symbol)>& lookup) const;
  // Replaces symbols for which `lookup` gives an expression.
  DimExpr Substitute(
      const std::function<std::optional<DimExpr>(std::string_view symbol)>& lookup) const;
  // Adds the names of all symbols, in order of first appearance, without repeats.
  void CollectSymbols(std::vector<std::string_view>& out) const;

  // True only if a proof exists for all values of the symbols (>= 0).
  static bool ProvablyEqual(DimExpr a, DimExpr b) {
    return a.storage_ == b.storage_ && !a.is_unknown();
  }
  static bool ProvablyLessEqual(DimExpr a, DimExpr b);
  // Exact quotient when b divides a as polynomials; nullopt otherwise.
  static std::optional<DimExpr> ExactDiv(DimExpr a, DimExpr b);

  explicit operator bool() const { return storage_ != nullptr; }
  // Identity of the expression (Unknown equals itself here): for interning and hashing.
  bool operator==(const DimExpr& o) const { return storage_ == o.storage_; }
  const DimExprStorage* storage() const { return storage_; }

 private:
  const DimExprStorage* storage_ = nullptr;
};

DimExpr operator+(DimExpr a, DimExpr b);
DimExpr operator-(DimExpr a, DimExpr b);
DimExpr operator*(DimExpr a, DimExpr b);
DimExpr operator+(DimExpr a, int64_t b);
DimExpr operator-(DimExpr a, int64_t b);
DimExpr operator*(DimExpr a, int64_t b);
DimExpr FloorDiv(DimExpr a, DimExpr b);  // division by constant 0 gives Unknown
DimExpr FloorDiv(DimExpr a, int64_t b);
DimExpr CeilDiv(DimExpr a, int64_t b);
DimExpr Mod(DimExpr a, DimExpr b);
DimExpr Min(DimExpr a, DimExpr b);
DimExpr Max(DimExpr a, DimExpr b);
// The extent of numpy-broadcasting a with b. Assumes that they fit: extents that are equal or 1.
// (So broadcast(S, 1) = S, broadcast(S, 768) = 768 and broadcast(S, min(S, 512)) = S.)
DimExpr Broadcast(DimExpr a, DimExpr b);
// Product of all; 1 for none.
DimExpr Product(Context& context, std::span<const DimExpr> dims);

}  // namespace tenon

#endif  // TENON_IR_CORE_DIM_EXPR_H_
