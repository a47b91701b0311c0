// Integers that depend on positions in a tensor: constant + sum of coefficient * variable.
#ifndef TENON_TRANSFORMS_MASK_AFFINE_H_
#define TENON_TRANSFORMS_MASK_AFFINE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/core/dim_expr.h"

namespace tenon::mask {

using Var = int;
// The position of a score of attention; further variables stand for positions in other tensors.
inline constexpr Var kBatch = 0, kHead = 1, kQuery = 2, kKey = 3, kScoreVars = 4;

// A set of score variables as bits; a further variable counts as all of them.
using VarSet = unsigned;
inline constexpr VarSet kAllVars = 15;
constexpr VarSet SetOf(Var v) { return v < kScoreVars ? 1u << v : kAllVars; }

struct Affine {
  DimExpr constant;
  absl::InlinedVector<std::pair<Var, DimExpr>, 3> terms;  // sorted by variable; no coefficient is 0

  static Affine Of(DimExpr constant) { return {constant, {}}; }
  static Affine Of(Context& context, int64_t constant) {
    return Of(DimExpr::Constant(context, constant));
  }
  static Affine Of(Context& context, Var variable, int64_t coefficient);

  bool is_constant() const { return terms.empty(); }
  bool is_constant(int64_t value) const { return terms.empty() && constant.is_constant(value); }
  // The variable this is, with nothing added.
  std::optional<Var> variable() const;
  // The coefficient if it is a number (0 for a variable that is not there).
  std::optional<int64_t> Coefficient(Var v) const;
  VarSet variables() const;
  std::string text() const;  // the same for equal ones only
  bool known() const;        // no unknown extent in it
  bool operator==(const Affine& o) const;
};

Affine operator+(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, DimExpr factor);
Affine operator*(const Affine& a, int64_t factor);
inline Affine operator-(const Affine& a, const Affine& b) { return a + b * -1; }
Affine operator+(const Affine& a, DimExpr b);
Affine operator+(const Affine& a, int64_t b);

// What is known of variables: 0 <= v < extent(v). The first kScoreVars extents are those of the
// scores, of which there is at least one; other tensors may be empty.
class Ranges {
 public:
  explicit Ranges(std::vector<DimExpr> extents) : extents_(std::move(extents)) {}
  Var Add(DimExpr extent);
  DimExpr extent(Var v) const { return extents_[v]; }
  Context& context() const { return extents_[0].context(); }

  // True only if a proof exists for all sizes and positions.
  bool NonNegative(const Affine& a) const;
  bool Negative(const Affine& a) const;  // < 0
  bool InRange(const Affine& a, DimExpr extent) const;
  // Takes an extent that is a symbol to be equal to another from now on.
  void Assume(DimExpr symbol, DimExpr extent) { assumed_.emplace_back(symbol, extent); }
  bool Equal(DimExpr a, DimExpr b) const;

 private:
  bool NonNegative(DimExpr e) const;
  // `e` with s + 1 for each extent of the scores that is a symbol s: those are at least 1.
  DimExpr Shifted(DimExpr e) const;
  std::optional<DimExpr> LowerBound(const Affine& a) const;
  DimExpr Known(DimExpr e) const;  // with what is assumed put in
  std::vector<DimExpr> extents_;
  std::vector<std::pair<DimExpr, DimExpr>> assumed_;
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASK_AFFINE_H_
