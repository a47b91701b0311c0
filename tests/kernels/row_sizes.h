// Calls of norms and softmaxes with rows whose squares, or whose sums, no float holds.
#ifndef TENON_TESTS_KERNELS_ROW_SIZES_H_
#define TENON_TESTS_KERNELS_ROW_SIZES_H_

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/context/context.h"
#include "ir/core/context/op_info.h"
#include "tests/kernels/case_generators.h"

namespace tenon::kernels::testing {

// Exponents of 2 by which numbers of the usual size are multiplied.
inline constexpr int kRowSizes[] = {-100, -60, 60, 100, 125};

// The ops with an epsilon, and others that sum functions of a row.
inline std::vector<std::string> OpsOnRows(Context& context) {
  std::vector<std::string> ops = {"nn.log_softmax", "nn.softmax", "ten.reduce_l2"};
  for (const auto& [name, generator] : Generators()) {
    const std::vector<AttrDef>& attrs = context.FindOp(name)->def().attrs;
    if (std::any_of(attrs.begin(), attrs.end(),
                    [](const AttrDef& attr) { return attr.name == "epsilon"; }))
      ops.push_back(name);
  }
  return ops;
}

// The call with rows of another size. Scales, weights and what is added to the norm stay.
inline Case AtSize(const OpInfo& op, Case c, int exponent) {
  static const std::set<std::string_view> kRows = {"x",     "skip",    "residual", "offset",
                                                   "added", "lookups", "bias"};
  const std::vector<OperandDef>& operands = op.def().operands;
  const bool has_product = std::any_of(operands.begin(), operands.end(),
                                       [](const OperandDef& o) { return o.name == "w"; });
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string_view name = operands[std::min(i, operands.size() - 1)].name;
    const bool is_row = kRows.count(name) > 0 && (name != "bias" || has_product);
    if (!is_row || c.inputs[i].dtype != DType::kF32) continue;
    for (int64_t k = 0; k < c.inputs[i].numel(); ++k) {
      float& value = c.inputs[i].data<float>()[k];
      value = std::ldexp(value, exponent);
    }
  }
  return c;
}

// Empty if no element is further away than rounding moves it, else what differs.
inline std::string DifferenceOf(const Tensor& actual, const Tensor& expected) {
  if (expected.dtype != DType::kF32) return "";
  float largest = 0;
  for (const float v : expected.values<float>())
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const float a = actual.data<float>()[i], b = expected.data<float>()[i];
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (!(std::fabs(a - b) <= 2e-5F * largest))
      return "element " + std::to_string(i) + " is " + std::to_string(a) + ", expected " +
             std::to_string(b);
  }
  return "";
}

// Are all floats of the results finite?
inline bool IsFinite(const Case& c) {
  return std::all_of(c.outputs.begin(), c.outputs.end(), [](const Tensor& t) {
    if (t.dtype != DType::kF32) return true;
    const std::vector<float> values = t.values<float>();
    return std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); });
  });
}

}  // namespace tenon::kernels::testing

#endif  // TENON_TESTS_KERNELS_ROW_SIZES_H_
