#include "patterns/magnitude.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "ir/core/attribute.h"
#include "ir/core/operation.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::pattern {
namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kProduct = 1e6;
constexpr double kInteger = 1e10;  // positions, lengths, identifiers
constexpr double kModerate = 1e20;

struct Extremes {
  double smallest = kUnbounded, largest = 0;  // of |x|
};

Extremes ExtremesOf(Attribute elements) {
  Extremes e;
  const int64_t n = elements.is_splat() ? 1 : elements.type().num_elements();
  for (int64_t i = 0; i < n; ++i) {
    const double x = std::abs(elements.ElementAsDouble(i));
    if (std::isnan(x)) return {0, kUnbounded};
    e.smallest = std::min(e.smallest, x);
    e.largest = std::max(e.largest, x);
  }
  return e;
}

bool OneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

double LargestOf(DType dtype) {
  return dtype == DType::kF16    ? 65504
         : dtype == DType::kBF16 ? 255 * std::exp2(120)
         : dtype == DType::kF64  ? std::numeric_limits<double>::max()
                                 : std::numeric_limits<float>::max();
}

class Bounds {
 public:
  // `proved`: nothing is taken for granted of products and norms, and what a type may not hold is
  // unbounded.
  explicit Bounds(bool proved = false) : proved_(proved) {}

  double Of(Value value) {
    if (!proved_) return Any(value);
    const Type type = value.type();
    const double bound = Any(value);
    if (!type.is_any_tensor()) return kUnbounded;
    return !IsFloat(type.dtype()) || bound <= LargestOf(type.dtype()) ? bound : kUnbounded;
  }

 private:
  double Any(Value value) {
    if (--budget_ < 0) return kUnbounded;
    const Type type = value.type();
    if (type.is_any_tensor() && !IsFloat(type.dtype())) {
      return type.dtype() == DType::kBool ? 1 : proved_ ? std::exp2(64) : kInteger;
    }
    Operation* op = value.defining_op();
    // Keys or values of the past, and the new ones behind them: what they were before.
    if (op != nullptr && op->name() == "fused.attention" && value.result_index() > 0)
      return Largest(*op, 1);
    return op == nullptr ? kUnbounded : OfOp(*op);
  }

  double Largest(const Operation& op, unsigned first) {
    double most = 0;
    for (unsigned i = first; i < op.num_operands(); ++i) most = std::max(most, Of(op.operand(i)));
    return most;
  }

  double OfOp(const Operation& op) {
    if (op.Has(Trait::kConstantLike)) return ExtremesOf(op.slot(0)).largest;
    const std::string_view name = op.name();
    if (OneOf(name, {"ten.sigmoid", "ten.tanh", "ten.erf", "ten.sin", "ten.cos", "nn.softmax"})) {
      return 1;
    }
    if (OneOf(name, {"ten.matmul", "ten.einsum", "fused.linear", "nn.conv", "fused.conv",
                     "nn.conv_transpose", "fused.conv_transpose", "nn.layer_norm", "nn.rms_norm",
                     "nn.batch_norm", "fused.skip_layer_norm", "fused.skip_rms_norm",
                     "fused.attention", "fused.rotary"})) {
      return proved_ ? kUnbounded : kProduct;
    }
    if (name == "ten.clip") {
      const Attribute min = op.attr("min"), max = op.attr("max");
      if (!min || !max) return Of(op.operand(0));
      const double most = std::max(std::abs(min.float_value()), std::abs(max.float_value()));
      return std::min(most, Of(op.operand(0)));
    }
    if (OneOf(name, {"ten.add", "ten.sub"})) return Of(op.operand(0)) + Of(op.operand(1));
    if (name == "ten.mul") return Of(op.operand(0)) * Of(op.operand(1));
    if (name == "ten.div") {
      Operation* divisor = op.operand(1).defining_op();
      if (divisor == nullptr || !divisor->Has(Trait::kConstantLike)) return kUnbounded;
      return Of(op.operand(0)) / ExtremesOf(divisor->slot(0)).smallest;
    }
    if (OneOf(name,
              {"ten.neg", "ten.abs", "ten.relu", "ten.ceil", "ten.floor", "ten.cast", "ten.reshape",
               "ten.transpose", "ten.slice", "ten.split", "ten.expand", "ten.tile", "ten.trilu",
               "ten.gather", "ten.gather_elements", "ten.gather_nd", "ten.dynamic_slice"})) {
      return Of(op.operand(0));
    }
    if (OneOf(name, {"ten.concat", "ten.max", "ten.min"})) return Largest(op, 0);
    if (name == "ten.where") return Largest(op, 1);
    return kUnbounded;
  }

  const bool proved_;
  int budget_ = 200;
};

}  // namespace

double MagnitudeOf(Value value) {
  const double bound = Bounds().Of(value);
  return std::isnan(bound) ? kUnbounded : bound;
}

bool IsBounded(Value value) { return Bounds(true).Of(value) < kUnbounded; }

bool StaysFinite(Value value, double factor) {
  return std::abs(factor) <= 1 ||
         MagnitudeOf(value) * std::abs(factor) <= LargestOf(value.type().dtype());
}

bool IsZeroOrOne(Value value) {
  while (true) {
    if (value.type().is_any_tensor() && value.type().dtype() == DType::kBool) return true;
    const Operation* op = value.defining_op();
    if (op == nullptr) return false;
    if (op->Has(Trait::kConstantLike)) {
      const Attribute elements = op->slot(0);
      const int64_t n = elements.is_splat() ? 1 : elements.type().num_elements();
      for (int64_t i = 0; i < n; ++i) {
        const double x = elements.ElementAsDouble(i);
        if (x != 0 && x != 1) return false;
      }
      return true;
    }
    if (!OneOf(op->name(),
               {"ten.cast", "ten.reshape", "ten.transpose", "ten.slice", "ten.split", "ten.expand",
                "ten.tile", "ten.trilu", "ten.gather", "ten.dynamic_slice"})) {
      return false;
    }
    value = op->operand(0);
  }
}

std::optional<double> NumberOfHidden(Value keep, Value rest) {
  const Operation *a = keep.defining_op(), *b = rest.defining_op();
  if (a == nullptr || b == nullptr || !a->Has(Trait::kConstantLike) ||
      !b->Has(Trait::kConstantLike) || !IsZeroOrOne(keep)) {
    return std::nullopt;
  }
  const Attribute kept = a->slot(0), other = b->slot(0);
  const int64_t n = kept.type().num_elements(), m = other.type().num_elements();
  if (n != 1 && m != 1 && keep.type() != rest.type()) return std::nullopt;
  std::optional<double> number;
  for (int64_t i = 0; i < std::max(n, m); ++i) {
    const double x = other.ElementAsDouble(m == 1 ? 0 : i);
    if (kept.ElementAsDouble(n == 1 ? 0 : i) != 0) {
      if (x != 0) return std::nullopt;
    } else if (x != number.value_or(x)) {
      return std::nullopt;
    } else {
      number = x;
    }
  }
  return number.value_or(0);
}

bool IsModerateScale(double scale) { return std::abs(scale) >= 1e-4 && std::abs(scale) <= 1e4; }

bool AreModerateScales(Value scales) {
  const Operation* op = scales.defining_op();
  if (op == nullptr || !op->Has(Trait::kConstantLike)) return false;
  const Extremes e = ExtremesOf(op->slot(0));
  return IsModerateScale(e.smallest) && IsModerateScale(e.largest);
}

bool IsModerate(Value value) { return MagnitudeOf(value) <= kModerate; }

}  // namespace tenon::pattern
