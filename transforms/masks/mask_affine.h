// Integers that depend on positions in a tensor: a constant plus a sum of coefficient * variable.
#ifndef TENON_TRANSFORMS_MASKS_MASK_AFFINE_H_
#define TENON_TRANSFORMS_MASKS_MASK_AFFINE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "ir/core/dims/dim_expr.h"

namespace tenon::mask {

using Var = int;
// Variables for the position of an attention score. Further ones stand for positions in other
// tensors.
inline constexpr Var kBatch = 0, kHead = 1, kQuery = 2, kKey = 3, kScoreVars = 4;

// A set of score variables as bits. A further variable counts as all of them.
using VarSet = unsigned;
inline constexpr VarSet kAllVars = 15;
constexpr VarSet SetOf(Var v) { return v < kScoreVars ? 1u << v : kAllVars; }

// An affine function of variables.
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
  // The variable, if the function is just one variable.
  std::optional<Var> variable() const;
  // The coefficient of a variable if it is a number; 0 for a variable that does not occur.
  std::optional<int64_t> Coefficient(Var v) const;
  VarSet variables() const;
  std::string text() const;  // equal functions have equal texts
  bool known() const;        // has no Unknown extent
  bool operator==(const Affine& o) const;
};

Affine operator+(const Affine& a, const Affine& b);
Affine operator*(const Affine& a, DimExpr factor);
Affine operator*(const Affine& a, int64_t factor);
inline Affine operator-(const Affine& a, const Affine& b) { return a + b * -1; }
Affine operator+(const Affine& a, DimExpr b);
Affine operator+(const Affine& a, int64_t b);

// What is known about variables: 0 <= v < extent(v). The first kScoreVars extents are those of the
// scores and are >= 1; other tensors may be empty.
class Ranges {
 public:
  explicit Ranges(std::vector<DimExpr> extents) : extents_(std::move(extents)) {}
  Var Add(DimExpr extent);
  DimExpr extent(Var v) const { return extents_[v]; }
  Context& context() const { return extents_[0].context(); }

  // True if a proof is found for all sizes and positions.
  bool NonNegative(const Affine& a) const;
  bool Negative(const Affine& a) const;  // < 0
  bool InRange(const Affine& a, DimExpr extent) const;
  // From now on takes `symbol`, an extent, to be equal to `extent`.
  void Assume(DimExpr symbol, DimExpr extent) { assumed_.emplace_back(symbol, extent); }
  bool Equal(DimExpr a, DimExpr b) const;

 private:
  bool NonNegative(DimExpr e) const;
  // `e` with s + 1 in place of s, for each symbol s that is an extent of the scores: those are >=
  // 1.
  DimExpr Shifted(DimExpr e) const;
  std::optional<DimExpr> LowerBound(const Affine& a) const;
  DimExpr Known(DimExpr e) const;  // with the assumptions applied
  std::vector<DimExpr> extents_;
  std::vector<std::pair<DimExpr, DimExpr>> assumed_;
};

}  // namespace tenon::mask

#endif  // TENON_TRANSFORMS_MASKS_MASK_AFFINE_H_
