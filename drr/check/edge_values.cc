// Numbers at the edges of their types, for the leaves of an instance.
#include <algorithm>
#include <cmath>
#include <limits>

#include "drr/check/instance.h"
#include "ir/core/attribute.h"

namespace tenon::drr {
namespace {

struct Range {
  int lowest, highest;  // exponents of the smallest subnormal number and of the largest number
};

Range RangeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {-1074, 1023};
    case DType::kF16:
      return {-24, 15};
    case DType::kBF16:
      return {-133, 127};
    default:
      return {-149, 127};
  }
}

double Rounded(DType dtype, double value) {
  std::byte bytes[8];
  StoreFromDouble(dtype, value, bytes);
  return LoadAsDouble(dtype, bytes);
}

class Values {
 public:
  Values(std::mt19937_64& random, EdgeMode mode) : random_(random), mode_(mode) {}

  // How large the numbers of one leaf are: beside those of the leaves before it more often than
  // not.
  void NextLeaf(DType dtype) {
    dtype_ = dtype;
    style_ = mode_ == EdgeMode::kPlain ? 0 : Pick(0, 3);
    if (!IsFloat(dtype)) return;
    const Range range = RangeOf(dtype);
    const int related[] = {first_, first_, -first_, -2 * first_, first_ / 2, 0};
    const bool is_related = has_first_ && Pick(0, 3) > 0;
    exponent_ = is_related        ? related[Pick(0, 5)]
                : Pick(0, 5) == 0 ? range.highest - Pick(0, 2)
                                  : Pick(range.lowest, range.highest);
    exponent_ = std::clamp(exponent_, range.lowest, range.highest);
    if (!has_first_) first_ = exponent_;
    has_first_ = true;
  }
  double Next() { return IsFloat(dtype_) ? Float() : Integer(); }
  double Special() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double specials[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                               0,         -0.0,       -kInfinity};
    return specials[Pick(0, 5)];
  }
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

 private:
  double Float() {
    if (mode_ == EdgeMode::kPlain) return Pick(-128, 128) / 32.0;
    if (mode_ == EdgeMode::kSpecial) {
      static constexpr double kPlain[] = {1, -1, 0.5, -0.5, 2, -2, 1.5, -3};
      return style_ > 0 && Pick(0, 3) == 0 ? Special() : kPlain[Pick(0, 7)];
    }
    const double mantissa = 1 + Pick(0, 127) / 128.0;
    const double value = std::ldexp(mantissa, exponent_);
    // Three quarters have one sign, lest sums cancel.
    return Rounded(dtype_, Pick(0, 3) == 0 ? -value : value);
  }
  double Integer() {
    const int bits = static_cast<int>(8 * SizeOf(dtype_)) - 1;
    const double top = std::ldexp(1.0, bits);
    switch (style_) {
      case 0:
        return Pick(-9, 9);
      case 1: {
        const double edges[] = {-top, top, -1, 0, 1, -2, 2, top / 2, -top / 2};
        return edges[Pick(0, 8)];
      }
      case 2:
        return (Pick(0, 1) == 0 ? 1 : -1) * (std::ldexp(1.0, Pick(0, bits - 1)) + Pick(-1, 1));
      default:
        return std::floor(std::uniform_real_distribution<double>(-top, top)(random_));
    }
  }

  std::mt19937_64& random_;
  EdgeMode mode_;
  DType dtype_ = DType::kF32;
  int style_ = 0, exponent_ = 0, first_ = 0;
  bool has_first_ = false;
};

}  // namespace

void InstancePlan::SetEdgeValues(std::mt19937_64& random, DType dtype, EdgeMode mode,
                                 bool constants) {
  Values values(random, mode);
  std::map<uint16_t, double> variables;
  for (auto& [n, leaf] : leaves_) {
    const Node& node = rule_->nodes[leaf.node];
    const DType type = leaf.dtype == DType::kInvalid ? dtype : leaf.dtype;
    if (leaf.constant && (!constants || mode != EdgeMode::kWide)) continue;
    if (leaf.boolean || leaf.index) {
      if (leaf.boolean)
        for (double& value : leaf.values) value = values.Pick(0, 1);
      continue;
    }
    values.NextLeaf(type);
    leaf.exact = true;
    if (node.kind == ValNode::Kind::kSplat) {
      if (node.splat.kind != AttrCode::Kind::kVariable || !OnlyOfSplats(node.splat.variable))
        continue;
      leaf.values = {variables.emplace(node.splat.variable, values.Next()).first->second};
      continue;
    }
    for (double& value : leaf.values)
      value = leaf.positive ? std::abs(values.Next()) : values.Next();
    // What cancels: the numbers of a leaf before it, all or most of them negated.
    if (mode == EdgeMode::kWide && !leaf.constant && !leaf.positive && values.Pick(0, 5) == 0) {
      for (const auto& [before, other] : leaves_) {
        if (before >= n || other.values.size() != leaf.values.size() || other.dtype != leaf.dtype ||
            other.boolean || other.index)
          continue;
        const bool all = values.Pick(0, 1) == 0;
        for (size_t i = 0; i < leaf.values.size(); ++i)
          if (all || values.Pick(0, 4) > 0) leaf.values[i] = -other.values[i];
        break;
      }
    }
    // A row of one kind: what is hidden completely.
    const auto row = leaf.shape.empty() ? int64_t{1} : leaf.shape.back();
    if (mode != EdgeMode::kSpecial || !IsFloat(type) || leaf.positive || row == 0 ||
        leaf.values.empty() || values.Pick(0, 5) > 0)
      continue;
    const double special = values.Special();
    const int rows = static_cast<int>(static_cast<int64_t>(leaf.values.size()) / row);
    const auto begin = leaf.values.begin() + values.Pick(0, rows - 1) * row;
    std::fill(begin, begin + row, special);
  }
}

bool InstancePlan::OnlyOfSplats(uint16_t variable) const {
  for (const Node& node : rule_->nodes) {
    if (!node.in_source) continue;
    for (const AttrCode& code : node.attrs)
      if (code.kind == AttrCode::Kind::kVariable && code.variable == variable) return false;
  }
  return true;
}

}  // namespace tenon::drr
