#include "patterns/facts/magnitude.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "ir/core/attribute.h"
#include "ir/core/constants/constant.h"
#include "ir/core/constants/number_range.h"
#include "ir/core/operation.h"
#include "patterns/facts/value_range.h"

namespace tenon::pattern {
namespace {

bool IsAnyOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

double MagnitudeOf(Value value) { return ProvenRange(value).magnitude(); }

bool IsZeroOrOne(Value value) {
  while (true) {
    if (value.type().is_any_tensor() && value.type().dtype() == DType::kBool) return true;
    const Operation* op = value.defining_op();
    if (op == nullptr) return false;
    if (const Attribute elements = ConstantElementsOf(op)) {
      const int64_t n = elements.is_splat() ? 1 : elements.type().num_elements();
      for (int64_t i = 0; i < n; ++i) {
        const double x = elements.ElementAsDouble(i);
        if (x != 0 && x != 1) return false;
      }
      return true;
    }
    if (!IsAnyOf(op->name(),
                 {"ten.cast", "ten.reshape", "ten.transpose", "ten.slice", "ten.split",
                  "ten.expand", "ten.tile", "ten.trilu", "ten.gather", "ten.dynamic_slice"})) {
      return false;
    }
    value = op->operand(0);
  }
}

std::optional<double> NumberOfHidden(Value keep, Value rest) {
  const Attribute kept = ConstantElementsOf(keep), other = ConstantElementsOf(rest);
  if (!kept || !other || !IsZeroOrOne(keep)) return std::nullopt;
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

}  // namespace tenon::pattern
