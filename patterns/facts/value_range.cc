#include "patterns/facts/value_range.h"

#include <optional>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "ir/base/guarded_read.h"
#include "ir/core/constants/constant.h"
#include "ir/core/constants/number_range.h"
#include "ir/core/operation.h"
#include "patterns/facts/numbers.h"

namespace tenon::pattern {
namespace {

constexpr int kMostRangeSteps = 400;

// The innermost one of this thread.
RangeMemo*& CurrentMemo() {
  thread_local RangeMemo* memo = nullptr;
  return memo;
}

// Every range allows NaN. But 0 times infinity, which is NaN in a program, bounds nothing.
double BoundTimes(double a, double b) {
  if (a == 0) return std::isinf(b) ? b : 0;
  if (b == 0) return std::isinf(a) ? a : 0;
  return a * b;
}

ValueRange Symmetric(double magnitude) { return {-magnitude, magnitude}; }

ValueRange operator+(const ValueRange& a, const ValueRange& b) {
  return {a.low + b.low, a.high + b.high};
}
ValueRange operator-(const ValueRange& a) { return {-a.high, -a.low}; }
ValueRange operator*(const ValueRange& a, const ValueRange& b) {
  const double ends[] = {BoundTimes(a.low, b.low), BoundTimes(a.low, b.high),
                         BoundTimes(a.high, b.low), BoundTimes(a.high, b.high)};
  return {*std::min_element(std::begin(ends), std::end(ends)),
          *std::max_element(std::begin(ends), std::end(ends))};
}
ValueRange Hull(const ValueRange& a, const ValueRange& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

bool OneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

using KnownRanges = absl::flat_hash_map<const ValueImpl*, ValueRange>;  // never iterated

class Ranges {
 public:
  explicit Ranges(KnownRanges& known) : known_(known) { known_.clear(); }

  ValueRange Of(Value value) {
    if (!value) return Symmetric(0);
    const auto known = known_.find(value.impl());
    if (known != known_.end()) return known->second;
    if (--budget_ < 0) return {};
    ValueRange range = Fitting(value, Anew(value));
    known_.emplace(value.impl(), range);
    return range;
  }

  // Values that were visited.
  int64_t visited() const { return kMostRangeSteps - budget_; }

 private:
  static ValueRange Fitting(Value value, ValueRange range) {
    if (!value.type().is_any_tensor() || std::isnan(range.low) || std::isnan(range.high)) return {};
    const DType dtype = value.type().dtype();
    if (!IsFloat(dtype)) return range;
    // One end may be proved where the other one is not: an overflow is an infinity of the same
    // sign.
    const double largest = LargestFinite(dtype);
    if (range.low < -largest) range.low = -kInfinity;
    if (range.high > largest) range.high = kInfinity;
    return range;
  }

  ValueRange Anew(Value value) {
    const Type type = value.type();
    if (!type.is_any_tensor()) return {};
    if (type.dtype() == DType::kBool) return {0, 1};
    Operation* op = value.defining_op();
    if (const Attribute elements = ConstantElementsOf(op)) return OfConstant(elements);
    if (!IsFloat(type.dtype())) return Symmetric(std::exp2(64));
    if (op == nullptr) return {};
    // An op that is not as its definition says has no range.
    return GuardedRead([&] { return OfResult(*op, value.result_index()); }).value_or(ValueRange());
  }

  static ValueRange OfConstant(Attribute elements) {
    if (!elements || elements.kind() != Attribute::Kind::kElements) return {};
    const NumberRange range = RangeOf(elements);
    if (!range.is_finite()) return {};  // a NaN of a constant is seen
    if (range.lowest > range.highest) return Symmetric(0);
    return {range.lowest, range.highest};
  }

  ValueRange Operand(const Operation& op, unsigned i) { return Of(op.operand(i)); }

  ValueRange OfResult(const Operation& op, unsigned result) {
    const std::string_view name = op.name();
    if (name.starts_with("ten.")) return OfTen(op, name.substr(4));
    if (name.starts_with("nn.")) return OfNn(op, name.substr(3));
    if (name.starts_with("fused.")) return OfFused(op, name.substr(6), result);
    return {};
  }

  ValueRange OfTen(const Operation& op, std::string_view name) {
    if (OneOf(name, {"tanh", "erf", "sin", "cos"})) return Symmetric(1);
    if (name == "sigmoid" || name == "hard_sigmoid") return {0, 1};
    if (OneOf(name, {"ceil", "floor", "round", "cast"})) return Rounded(Operand(op, 0), name);
    if (OneOf(name, {"reshape", "dynamic_reshape", "dynamic_squeeze", "dynamic_unsqueeze",
                     "transpose", "slice", "dynamic_slice", "split", "expand", "dynamic_expand",
                     "tile", "dynamic_tile", "gather", "gather_elements", "gather_nd",
                     "reverse_sequence", "reduce_mean", "reduce_max", "reduce_min"})) {
      return Operand(op, 0);
    }
    if (name == "trilu") return Hull(Operand(op, 0), Symmetric(0));
    if (name == "pad") return Hull(Operand(op, 0), Of(op.operand_or_null(1)));
    if (name == "neg") return -Operand(op, 0);
    if (name == "abs") return Magnitudes(Operand(op, 0));
    if (name == "relu") return AtLeast(Operand(op, 0), 0);
    if (name == "exp") return {std::exp(Operand(op, 0).low), std::exp(Operand(op, 0).high)};
    if (name == "softplus") return {0, AtLeast(Operand(op, 0), 0).high + 1};
    if (name == "sqrt") return Root(Operand(op, 0));
    if (name == "reciprocal") return Quotient({1, 1}, Operand(op, 0));
    if (name == "add") return Operand(op, 0) + Operand(op, 1);
    if (name == "sub") return Operand(op, 0) + -Operand(op, 1);
    if (name == "mul") return Product(op);
    if (name == "div") {
      if (const double bound = NormBound(op.operand(0), op.operand(1)); bound < kInfinity)
        return Symmetric(bound);
      return Quotient(Operand(op, 0), Operand(op, 1));
    }
    if (name == "pow") return Power(op);
    if (name == "clip") return Clipped(op);
    if (name == "max") {
      const ValueRange a = Operand(op, 0), b = Operand(op, 1);
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    }
    if (name == "min") {
      const ValueRange a = Operand(op, 0), b = Operand(op, 1);
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    }
    if (name == "where") return Hull(Operand(op, 1), Operand(op, 2));
    if (name == "concat") return OfAll(op, 0);
    if (name == "reduce_sum") return Sum(Operand(op, 0), Reduced(op));
    if (name == "reduce_l2") {
      return {0, std::sqrt(Reduced(op)) * Operand(op, 0).magnitude()};
    }
    if (name == "matmul") return MatrixProduct(op);
    return {};
  }

  ValueRange OfNn(const Operation& op, std::string_view name) {
    if (name == "softmax" || name == "hardmax") return {0, 1};
    if (OneOf(name, {"gelu", "silu", "mish"})) return Activation(Operand(op, 0), name);
    if (name == "layer_norm" || name == "rms_norm") {
      return Norm(op.operand(0), op.attr("axis").int_value(), op.operand_or_null(1),
                  name == "layer_norm" ? op.operand_or_null(2) : Value());
    }
    if (name == "max_pool" || name == "average_pool") return Hull(Operand(op, 0), Symmetric(0));
    if (name == "conv") {
      return Convolution(op) + Of(op.operand_or_null(2));
    }
    if (name == "attention") return Hull(Operand(op, 2), Symmetric(0));
    return {};
  }

  ValueRange OfFused(const Operation& op, std::string_view name, unsigned result) {
    if (name == "linear") {
      const int64_t axis = op.attr("transpose_w").bool_value() ? 1 : 0;
      const ValueRange product =
          Products(Operand(op, 0), Operand(op, 1), Extent(op.operand(1), axis));
      return Activation(product + Of(op.operand_or_null(2)), op.attr("activation").str()) +
             Of(op.operand_or_null(3));
    }
    if (name == "conv") {
      return Activation(Convolution(op) + Of(op.operand_or_null(2)) + Of(op.operand_or_null(3)),
                        op.attr("activation").str());
    }
    if (name == "attention") {
      // Keys or values of the past, and the new ones behind them; else a mean of values, or zeros.
      if (result == 1) return Hull(Of(op.operand_or_null(6)), Operand(op, 1));
      const ValueRange values = Operand(op, 2);
      const Value past = op.operand_or_null(7);
      const ValueRange all = past ? Hull(values, Of(past)) : values;
      return result == 2 ? all : Hull(all, Symmetric(0));
    }
    if (name == "rotary") {
      const ValueRange x = Operand(op, 0);
      return Symmetric(x.magnitude()) + Symmetric(x.magnitude());
    }
    const bool is_layer = name == "skip_layer_norm";
    if (is_layer || name == "skip_rms_norm") {
      if (result == 1) {
        const ValueRange sum = Operand(op, 0) + Operand(op, 1);
        const Value offset = op.operand_or_null(is_layer ? 4 : 3);
        return offset ? sum + Of(offset) : sum;
      }
      return Norm(op.operand(0), op.attr("axis").int_value(), op.operand_or_null(2),
                  is_layer ? op.operand_or_null(3) : Value());
    }
    return {};
  }

  ValueRange OfAll(const Operation& op, unsigned first) {
    std::optional<ValueRange> hull;
    for (unsigned i = first; i < op.num_operands(); ++i)
      hull = hull ? Hull(*hull, Operand(op, i)) : Operand(op, i);
    return hull.value_or(ValueRange());
  }

  static ValueRange Rounded(const ValueRange& x, std::string_view name) {
    return name == "cast" ? x : ValueRange{std::floor(x.low), std::ceil(x.high)};
  }
  static ValueRange Magnitudes(const ValueRange& x) {
    const double least = x.low > 0 ? x.low : x.high < 0 ? -x.high : 0;
    return {least, x.magnitude()};
  }
  static ValueRange AtLeast(const ValueRange& x, double bound) {
    return {std::max(x.low, bound), std::max(x.high, bound)};
  }
  static ValueRange Root(const ValueRange& x) {
    return {x.low > 0 ? std::sqrt(x.low) : 0, x.high > 0 ? std::sqrt(x.high) : 0};
  }
  static ValueRange Quotient(const ValueRange& a, const ValueRange& b) {
    if (b.low <= 0 && b.high >= 0) {
      // A positive number by one that is not negative is positive or an infinity: not by -0.
      return {};
    }
    return a * ValueRange{1 / b.high, 1 / b.low};
  }

  ValueRange Product(const Operation& op) {
    for (unsigned i : {0u, 1u}) {
      const Operation* factor = op.operand(i).defining_op();
      if (factor == nullptr || factor->name() != "ten.reciprocal") continue;
      const double bound = NormBound(op.operand(1 - i), factor->operand(0));
      if (bound < kInfinity) return Symmetric(bound);
    }
    const ValueRange a = Operand(op, 0);
    if (op.operand(0) != op.operand(1)) return a * Operand(op, 1);
    const ValueRange size = Magnitudes(a);
    return {BoundTimes(size.low, size.low), BoundTimes(size.high, size.high)};
  }

  // The most that an element of x is in size after a division by `divisor`, which is a length of x
  // or no less. Else infinity.
  double NormBound(Value x, Value divisor, int most_steps = 6) {
    const Operation* op = divisor.defining_op();
    if (op == nullptr || most_steps == 0) return kInfinity;
    const std::string_view name = op->name();
    const auto of_part = [&](unsigned i) { return NormBound(x, op->operand(i), most_steps - 1); };
    if (name == "ten.sqrt") return RootBound(x, *op);
    if (name == "ten.reduce_l2")
      return op->operand(0) == x && KeepsAxes(*op) ? kUnitBound : kInfinity;
    if (name == "ten.expand" || name == "ten.dynamic_expand") return of_part(0);
    if (name == "ten.clip") {
      const Attribute max = op->attr("max");
      return !max || max.float_value() == kInfinity ? of_part(0) : kInfinity;
    }
    if (name == "ten.max") return std::min(of_part(0), of_part(1));
    if (name != "ten.add") return kInfinity;
    for (const unsigned i : {0u, 1u}) {
      const double bound = of_part(i);
      if (bound < kInfinity && Operand(*op, 1 - i).low >= 0) return bound;
    }
    return kInfinity;
  }

  // Without the axes that are reduced, the result stands beside other elements.
  static bool KeepsAxes(const Operation& reduction) {
    return reduction.attr("keepdims").bool_value();
  }

  // What divides each element by the root of the sum of all squares makes numbers of at most 1, but
  // for rounding.
  static constexpr double kUnitBound = 1 + 1e-2;

  // sqrt(n), if `sqrt` is the root of the mean of the n squares of x and a number that is not
  // negative: a norm in its parts. Of their sum, 1. Else infinity.
  double RootBound(Value x, const Operation& sqrt) {
    const Operation* sum = sqrt.operand(0).defining_op();
    if (sum == nullptr) return kInfinity;
    const bool is_sum = sum->name() == "ten.add";
    for (unsigned i = 0; i < (is_sum ? 2 : 1); ++i) {
      const Operation* mean = is_sum ? sum->operand(i).defining_op() : sum;
      if (mean == nullptr) continue;
      const bool is_mean = mean->name() == "ten.reduce_mean";
      if ((!is_mean && mean->name() != "ten.reduce_sum") || !KeepsAxes(*mean)) continue;
      const Operation* square = mean->operand(0).defining_op();
      if (square == nullptr || square->operand(0) != x) continue;
      const bool is_square = square->name() == "ten.mul" && square->operand(1) == x;
      if (!is_square && square->name() != "ten.pow") continue;
      if (!is_square && Operand(*square, 1).low != 2) continue;
      if (is_sum && Operand(*sum, 1 - i).low < 0) continue;
      return is_mean ? std::sqrt(Reduced(*mean)) * (1 + 1e-3) : kUnitBound;
    }
    return kInfinity;
  }

  ValueRange Power(const Operation& op) {
    const ValueRange exponent = Operand(op, 1), base = Operand(op, 0);
    if (exponent.low != exponent.high || !std::isfinite(exponent.low)) return {};
    if (exponent.low == 2) {
      const ValueRange size = Magnitudes(base);
      return {BoundTimes(size.low, size.low), BoundTimes(size.high, size.high)};
    }
    // Even powers and powers of what is not negative are no negative numbers.
    if (std::fmod(exponent.low, 2) == 0 || base.low >= 0) return {0, kInfinity};
    return {};
  }

  ValueRange Clipped(const Operation& op) {
    const Attribute min = op.attr("min"), max = op.attr("max");
    const double low = min ? min.float_value() : -kInfinity;
    const double high = max ? max.float_value() : kInfinity;
    if (std::isnan(low) || std::isnan(high)) return {};
    const ValueRange x = Operand(op, 0);
    return {std::min(std::max(x.low, low), high), std::min(std::max(x.high, low), high)};
  }

  static double Reduced(const Operation& op) {
    const Type type = op.operand(0).type();
    double count = 1;
    for (int64_t axis : op.attr("axes").ints()) {
      const DimExpr dim = type.dim(axis);
      count *= dim.is_constant() ? static_cast<double>(dim.constant()) : kInfinity;
    }
    return count;
  }
  static ValueRange Sum(const ValueRange& x, double count) {
    return {BoundTimes(std::min(x.low, 0.0), count), BoundTimes(std::max(x.high, 0.0), count)};
  }

  static double Extent(Value value, int64_t axis) {
    const DimExpr dim = value.type().dim(axis);
    return dim.is_constant() ? static_cast<double>(dim.constant()) : kInfinity;
  }
  static ValueRange Products(const ValueRange& a, const ValueRange& b, double terms) {
    return Symmetric(BoundTimes(BoundTimes(a.magnitude(), b.magnitude()), terms));
  }

  ValueRange MatrixProduct(const Operation& op) {
    const bool transpose_a = op.attr("transpose_a").bool_value();
    // Probabilities times values are means of the values.
    const Operation* weights = op.operand(0).defining_op();
    if (!transpose_a && weights != nullptr && weights->name() == "nn.softmax" &&
        weights->attr("axis").int_value() + 1 == op.operand(0).type().rank()) {
      return Hull(Operand(op, 1), Symmetric(0));
    }
    const Value a = op.operand(0);
    const double terms = Extent(a, transpose_a && a.type().rank() > 1 ? -2 : -1);
    return Products(Operand(op, 0), Operand(op, 1), terms);
  }

  ValueRange Convolution(const Operation& op) {
    const Value w = op.operand(1);
    double terms = 1;
    for (int64_t i = 1; i < w.type().rank(); ++i) terms = BoundTimes(terms, Extent(w, i));
    return Products(Operand(op, 0), Operand(op, 1), terms);
  }

  // A norm of n elements has at most sqrt(n), whatever it is of.
  ValueRange Norm(Value x, int64_t axis, Value scale, Value bias) {
    double count = 1;
    for (int64_t i = axis; i < x.type().rank(); ++i) count = BoundTimes(count, Extent(x, i));
    const ValueRange norm = Symmetric(std::sqrt(count) * (1 + 1e-6));
    return (scale ? norm * Of(scale) : norm) + Of(bias);
  }

  static ValueRange Activation(const ValueRange& x, std::string_view name) {
    if (name == "none") return x;
    if (name == "relu") return AtLeast(x, 0);
    if (name == "sigmoid" || name == "hard_sigmoid") return {0, 1};
    if (name == "tanh") return Symmetric(1);
    // x times something between 0 and 1.
    if (OneOf(name, {"gelu", "gelu_tanh", "gelu_sigmoid", "silu", "hard_swish", "mish"}))
      return Hull(x, Symmetric(0));
    return {};
  }

  KnownRanges& known_;
  int budget_ = kMostRangeSteps;
};

}  // namespace

RangeMemo::RangeMemo() : outer_(CurrentMemo()) { CurrentMemo() = this; }
RangeMemo::~RangeMemo() { CurrentMemo() = outer_; }

// Only of the value that is asked for: how far the search gets depends on where it begins.
ValueRange ProvenRange(Value value) {
  thread_local KnownRanges ranges_of_one;  // conditions that fail allocate nothing
  Ranges ranges(ranges_of_one);
  RangeMemo* const memo = CurrentMemo();
  if (memo == nullptr || !value) return ranges.Of(value);
  if (const auto known = memo->known_.find(value.impl()); known != memo->known_.end())
    return known->second;
  const ValueRange range = ranges.Of(value);
  memo->steps_ += ranges.visited();
  memo->known_.emplace(value.impl(), range);
  return range;
}

}  // namespace tenon::pattern
