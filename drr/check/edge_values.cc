// Numbers at the edges of their types, for the leaves of an instance.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>

#include "drr/check/edges.h"
#include "drr/check/instance.h"
#include "drr/check/run.h"
#include "ir/base/guarded_read.h"
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

// The exponent of the smallest normal number.
int LowestNormal(DType dtype) {
  return dtype == DType::kF64 ? -1022 : dtype == DType::kF16 ? -14 : -126;
}

// True if an op of the rule grows or saturates as exponentials do: what it makes of moderate
// numbers spans the whole type.
bool HasFunctions(const CompiledRule& rule) {
  return std::any_of(rule.nodes.begin(), rule.nodes.end(), [](const Node& node) {
    if (node.kind != ValNode::Kind::kOp) return false;
    const std::string_view op = node.info->name();
    const bool is_function =
        node.info->Has(Trait::kElementwise) && node.operands.size() == 1 && !AddsNothing(op);
    return is_function || op == "ten.pow" || op == "ten.reduce_log_sum_exp" || op == "nn.softmax" ||
           op == "nn.log_softmax";
  });
}

// True if an op of the source adds numbers of one operand.
bool HasSums(const CompiledRule& rule) {
  static constexpr std::string_view kSums[] = {"ten.reduce_sum", "ten.reduce_mean", "ten.matmul",
                                               "ten.cumsum", "ten.einsum"};
  return std::any_of(rule.nodes.begin(), rule.nodes.end(), [](const Node& node) {
    return node.in_source && node.kind == ValNode::Kind::kOp &&
           std::find(std::begin(kSums), std::end(kSums), node.info->name()) != std::end(kSums);
  });
}

// Exponents of small and of large numbers that leave room for what is computed from them.
Range FineRangeOf(DType dtype) { return dtype == DType::kF16 ? Range{-7, 4} : Range{-24, 7}; }

// The exponents of numbers other than 0 and 1 that the source writes as constants.
std::vector<int> WrittenExponents(const CompiledRule& rule) {
  std::vector<int> exponents;
  for (const Node& node : rule.nodes) {
    if (!node.in_source || node.kind != ValNode::Kind::kSplat ||
        node.splat.kind != AttrCode::Kind::kLiteral)
      continue;
    const std::optional<double> number = NumberOf(ToAttrValue(node.splat.literal));
    if (!number || !std::isfinite(*number) || *number == 0) continue;
    if (std::ilogb(*number) != 0) exponents.push_back(std::ilogb(*number));
  }
  return exponents;
}

// Does the source divide by the value of a node?
bool IsDivisor(const CompiledRule& rule, uint16_t value) {
  return std::any_of(rule.nodes.begin(), rule.nodes.end(), [&](const Node& node) {
    return node.in_source && node.kind == ValNode::Kind::kOp && node.info->name() == "ten.div" &&
           node.operands.size() == 2 && node.operands[1].size() == 1 &&
           node.operands[1][0].node == value;
  });
}

class Values {
 public:
  Values(std::mt19937_64& random, EdgeMode mode, const CompiledRule& rule)
      : random_(random), mode_(mode) {
    if (mode == EdgeMode::kBetween) beside_ = NumbersBeside(rule);
    if (beside_.empty()) beside_ = {0};
    large_exponent_ = Pick(53, 61);
    large_sign_ = Pick(0, 1) == 0 ? -1 : 1;
    logarithmic_ = mode == EdgeMode::kWide && HasFunctions(rule) && Pick(0, 2) == 0;
  }

  // Draws the sizes of kHidden for a program in `dtype`.
  HiddenSizes DrawSizes(DType dtype, const CompiledRule& rule) {
    const int end = RangeOf(dtype).highest + 1, headroom = dtype == DType::kF16 ? 6 : 40;
    HiddenSizes sizes;
    const std::vector<int> written = WrittenExponents(rule);
    sizes.factor = !written.empty() && Pick(0, 3) > 0
                       ? std::abs(written[static_cast<size_t>(Pick(0, Last(written.size())))])
                       : Pick(2, dtype == DType::kF16 ? headroom + 2 : 2 * headroom);
    sizes.factor = std::min(sizes.factor, end);
    // With headroom of its own, if the factor is large enough.
    const bool roomy = sizes.factor > headroom && Pick(0, 1) == 0;
    sizes.large = Pick(end - sizes.factor, roomy ? end - headroom - 1 : end - 1);
    sizes.shown = Pick(0, 1) == 0 ? Pick(-1, 1) - sizes.factor : Pick(-2, 2);
    sizes.columns = Pick(0, 3) == 0 ? 0xff : static_cast<unsigned>(Pick(1, 0xff));
    return sizes;
  }
  void set_sizes(const HiddenSizes& sizes) { sizes_ = sizes; }
  // Chooses what the next leaf holds in kHidden. A splat is a factor, and a divisor is small.
  void NextHidden(bool is_splat, bool is_divisor) {
    static constexpr double kInfinity = std::numeric_limits<double>::infinity();
    static constexpr double kHidden[] = {-kInfinity, -kInfinity, kInfinity, 0};
    const int large = std::min(sizes_.large, RangeOf(dtype_).highest);
    const int size = Pick(0, 7) == 0 ? 0 : sizes_.factor;
    const bool is_small = (Pick(0, 7) == 0) != is_divisor;
    const int factor = is_small ? -size : size;
    const int shown = Pick(0, 2) == 0 ? 0 : sizes_.shown;
    const bool is_factor = is_splat || Pick(0, 5) == 0;
    shown_ = std::ldexp(sign_, is_factor ? factor : shown);
    is_alike_ = is_factor || Pick(0, 1) == 0;
    const int role = is_factor ? 0 : Pick(0, 4);
    hidden_.reset();
    if (role == 1 || role == 2) hidden_ = std::ldexp(1.5 * sign_, large);
    if (role > 2) hidden_ = kHidden[Pick(0, 3)];
  }
  // The number of a column of the leaf.
  double Hidden(size_t column) {
    if (!IsFloat(dtype_)) return Next();
    if (hidden_ && (sizes_.columns >> (column % 8) & 1) != 0) return Rounded(dtype_, *hidden_);
    static constexpr double kFactors[] = {1, -1, 1.5, -1.5};
    return Rounded(dtype_, is_alike_ ? shown_ : shown_ * kFactors[Pick(0, 3)]);
  }
  // Numbers drawn from here on relate to the size of this one, which bounds numbers of the program.
  void Relate(double bound) {
    if (std::isfinite(bound) && bound != 0) exponents_.push_back(std::ilogb(bound));
    has_bounds_ = !exponents_.empty();
  }

  // How large the numbers of one leaf are: beside those of the leaves before it more often than
  // not.
  void NextLeaf(DType dtype) {
    dtype_ = dtype;
    static constexpr int kFineBits[] = {3, 3, 3, 10, 13, 26};
    fine_bits_ = mode_ == EdgeMode::kFine ? kFineBits[Pick(0, 5)] : 3;
    style_ = mode_ == EdgeMode::kPlain ? 0 : Pick(0, 3);
    center_ = beside_[static_cast<size_t>(Pick(0, static_cast<int>(beside_.size()) - 1))];
    sign_ = Pick(0, 1) == 0 ? -1 : 1;
    if (!IsFloat(dtype)) {
      // Beyond 2^53 a double does not tell neighbors apart.
      if (mode_ != EdgeMode::kPlain && SizeOf(dtype) == 8 && Pick(0, 3) == 0) style_ = 4;
      return;
    }
    if (mode_ == EdgeMode::kFine) {
      const Range range = FineRangeOf(dtype);
      exponent_ = Pick(range.lowest, range.highest);
      return;
    }
    const Range range = RangeOf(dtype);
    if (logarithmic_) {
      const double most = 1.5 * std::log(2.0) * (range.highest + 1);
      const double near = Pick(0, 1) == 0 ? center_log_ : -center_log_;
      center_log_ = has_center_log_ && Pick(0, 1) == 0 ? near + Pick(-16, 16)
                                                       : Pick(-1024, 1024) / 1024.0 * most;
      has_center_log_ = true;
      return;
    }
    if (!exponents_.empty() && Pick(0, 3) > 0) {
      // Of the same size, or so that a product or quotient lies at an end of the type.
      const int other = exponents_[static_cast<size_t>(Pick(0, Last(exponents_.size())))];
      const int highest = range.highest - other + Pick(-1, 4);
      const int related[] = {other,     other, -other,  -2 * other,
                             other / 2, 0,     highest, LowestNormal(dtype) - other + Pick(-4, 1)};
      exponent_ =
          has_bounds_ && Pick(0, 2) == 0 ? highest : related[Pick(0, Last(std::size(related)))];
    } else {
      exponent_ = Pick(0, 5) == 0 ? range.highest - Pick(0, 2) : Pick(range.lowest, range.highest);
    }
    exponent_ = std::clamp(exponent_, range.lowest, range.highest);
    if (exponents_.empty()) exponents_.push_back(exponent_);
    // All numbers of some leaves are one but for their signs: they reach an end together.
    mantissa_ = Pick(0, 3) == 0 ? 1 + Pick(0, 127) / 128.0 : 0;
  }
  // Where integers have no sign, those below zero stand for the upper half of them.
  double Next() {
    if (IsFloat(dtype_)) return Float();
    const double value = Integer();
    const bool wraps = value < 0 && IsUnsignedInt(dtype_);
    return wraps ? value + std::ldexp(1.0, 8 * static_cast<int>(SizeOf(dtype_))) : value;
  }
  // What is to be added to the number that Next returned last.
  bool has_rests() const { return !IsFloat(dtype_) && style_ == 4; }
  int64_t Rest() { return Pick(-3, 3); }
  // A subnormal number.
  double Smallest() { return std::ldexp(1.0, RangeOf(dtype_).lowest); }
  double Special() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const double specials[] = {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                               0,         -0.0,       -kInfinity};
    return specials[Pick(0, 5)];
  }
  int Pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  static int Last(size_t size) { return static_cast<int>(size) - 1; }

 private:
  double Float() {
    if (mode_ == EdgeMode::kPlain) return Pick(-128, 128) / 32.0;
    if (mode_ == EdgeMode::kBetween) {
      if (style_ == 3) return Pick(-128, 128) / 32.0;
      const double center = style_ == 2 ? AnyBeside() : center_;
      // Beside it by an amount of its own size or of that of 1.
      const double step = Pick(0, 1) == 0 ? 0.25 : center / 128;
      const double value = Rounded(dtype_, center + Pick(-16, 16) * step);
      return std::isfinite(value) ? value : Pick(-128, 128) / 32.0;
    }
    if (mode_ == EdgeMode::kFine) {
      const double value =
          Rounded(dtype_, std::ldexp(1 + Pick(0, (1 << 24) - 1) / 16777216.0, exponent_));
      return style_ < 2 ? sign_ * value : Pick(0, 1) == 0 ? -value : value;
    }
    if (mode_ == EdgeMode::kSpecial) {
      static constexpr double kPlain[] = {1, -1, 0.5, -0.5, 2, -2, 1.5, -3};
      return style_ > 0 && Pick(0, 3) == 0 ? Special() : kPlain[Pick(0, 7)];
    }
    if (logarithmic_) return Rounded(dtype_, center_log_ + Pick(-32, 32) / 16.0);
    const double mantissa = mantissa_ != 0 ? mantissa_ : 1 + Pick(0, 127) / 128.0;
    const double value = std::ldexp(mantissa, exponent_);
    // Three quarters have one sign, lest sums cancel.
    return Rounded(dtype_, Pick(0, 3) == 0 ? -value : value);
  }
  double Integer() {
    const int bits = static_cast<int>(8 * SizeOf(dtype_)) - 1;
    const double top = std::ldexp(1.0, bits);
    if (style_ == 4) return large_sign_ * std::ldexp(1.0, large_exponent_);
    // Beside the largest ones that the float types hold, as far as these, and further.
    if (mode_ == EdgeMode::kFine && style_ == 3) {
      static constexpr int kHeld[] = {8, 11, 24, 53};
      const int held = kHeld[Pick(0, Last(std::size(kHeld)))];
      const double beside = std::ldexp(1.0, std::min(held, bits - 1)) + Pick(-3, 3);
      return Pick(0, 1) == 0 ? -beside : beside;
    }
    if (mode_ == EdgeMode::kFine) {
      const int most = 1 << std::min(bits - 1, fine_bits_);
      return Pick(-most, most);
    }
    if (mode_ == EdgeMode::kBetween)
      return std::clamp(std::round(style_ == 2 ? AnyBeside() : center_) + Pick(-2, 2), -top, top);
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

  double AnyBeside() {
    return beside_[static_cast<size_t>(Pick(0, static_cast<int>(beside_.size()) - 1))];
  }

  std::mt19937_64& random_;
  EdgeMode mode_;
  std::vector<double> beside_;  // numbers that the rule writes, and others beside them
  double center_ = 0, sign_ = 1;
  // All large integers of a program lie beside this one.
  int large_exponent_ = 53, large_sign_ = 1;
  DType dtype_ = DType::kF32;
  int style_ = 0, exponent_ = 0, fine_bits_ = 3;
  double mantissa_ = 0;         // of all numbers of the leaf; 0: each has its own
  std::vector<int> exponents_;  // that those of other leaves relate to
  bool has_bounds_ = false;     // some of these are of bounds
  // All numbers are so large that exponentials of them span the type, those of a leaf beside one.
  bool logarithmic_ = false, has_center_log_ = false;
  double center_log_ = 0;
  // Of kHidden: the numbers of columns that are shown, all the same or not, and of those that are
  // hidden, if they differ from these.
  HiddenSizes sizes_;
  double shown_ = 1;
  bool is_alike_ = false;
  std::optional<double> hidden_;
};

void AddNumbers(const TermNode& term, std::vector<double>& numbers) {
  if (term.kind == TermNode::Kind::kLiteral) {
    const double* real = std::get_if<double>(&term.literal);
    const int64_t* integer = std::get_if<int64_t>(&term.literal);
    if (real != nullptr && std::isfinite(*real)) numbers.push_back(*real);
    if (integer != nullptr) numbers.push_back(static_cast<double>(*integer));
  }
  for (const TermRef& operand : term.operands) AddNumbers(*operand, numbers);
}

void AddNumbers(const ConditionNode& condition, std::vector<double>& numbers) {
  if (condition.term != nullptr) AddNumbers(*condition.term, numbers);
  for (const auto& part : condition.parts)
    for (const auto& inner : part) AddNumbers(*inner, numbers);
}

}  // namespace

std::vector<double> NumbersOfConditions(const CompiledRule& rule) {
  std::vector<double> numbers;
  for (const ConditionCode& condition : rule.conditions) AddNumbers(*condition.source, numbers);
  return numbers;
}

std::vector<double> NumbersBeside(const CompiledRule& rule) {
  std::vector<double> written = NumbersOfConditions(rule), all;
  const auto write = [&](const AttrCode& code) {
    if (code.kind != AttrCode::Kind::kLiteral || code.source == nullptr || !code.literal) return;
    const AttrValue value = ToAttrValue(code.literal);
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && std::isfinite(*number)) written.push_back(*number);
  };
  for (const Node& node : rule.nodes) {
    if (node.kind == ValNode::Kind::kSplat) write(node.splat);
    for (const AttrCode& code : node.attrs) write(code);
  }
  for (size_t i = 0; i < written.size(); ++i) {
    const double a = written[i];
    for (const double number : {a, a * 1.5, a / 2, -a}) all.push_back(number);
    if (a == 0) all.insert(all.end(), {1, -1, 0.25, -0.25});
    for (size_t j = 0; j < i; ++j) {
      const double b = written[j];
      if (a == b) continue;
      all.push_back((a + b) / 2);
      if (a * b > 0) all.push_back(std::copysign(std::sqrt(a * b), a));
    }
  }
  return all;
}

void InstancePlan::SetEdgeValues(std::mt19937_64& random, DType dtype, EdgeMode mode,
                                 bool constants) {
  Values values(random, mode, *rule_);
  const bool draws_constants =
      constants && (mode == EdgeMode::kWide || mode == EdgeMode::kHidden ||
                    (mode == EdgeMode::kSpecial && values.Pick(0, 1) == 0));
  if (mode == EdgeMode::kHidden) {
    if (constants) sizes_ = values.DrawSizes(dtype, *rule_);
    values.set_sizes(sizes_);
  }
  const bool sums = HasSums(*rule_);
  std::map<uint16_t, double> variables;
  if ((draws_constants && mode != EdgeMode::kHidden) || (constants && mode == EdgeMode::kBetween))
    variables = DrawToConditions([&](uint16_t, double planned) {
      values.NextLeaf(dtype);
      const int kind = mode == EdgeMode::kBetween ? 1 : values.Pick(0, 3);
      return kind == 0 ? values.Special() : kind == 1 ? values.Next() : planned;
    });
  for (const auto& [variable, number] : variables) values.Relate(number);
  for (const auto& [n, leaf] : leaves_) {
    const bool is_between = leaf.guarding == Guarding::kBetween;
    if (is_between || leaf.guarding == Guarding::kAtMost) values.Relate(leaf.high);
    if (is_between || leaf.guarding == Guarding::kAtLeast) values.Relate(leaf.low);
  }
  for (auto& [n, leaf] : leaves_) {
    const Node& node = rule_->nodes[leaf.node];
    const DType type = leaf.dtype == DType::kInvalid ? dtype : leaf.dtype;
    const bool is_beside =
        constants && mode == EdgeMode::kBetween && node.kind == ValNode::Kind::kSplat;
    if (leaf.constant && !draws_constants && !is_beside) continue;
    leaf.rests.clear();
    if (leaf.boolean || leaf.index || leaf.given) {
      if (leaf.boolean)
        for (double& value : leaf.values) value = values.Pick(0, 1);
      continue;
    }
    values.NextLeaf(type);
    leaf.exact = true;
    const bool is_hidden = mode == EdgeMode::kHidden;
    if (is_hidden) {
      values.NextHidden(node.kind == ValNode::Kind::kSplat, IsDivisor(*rule_, leaf.node));
    }
    const size_t columns =
        leaf.shape.empty() ? 1 : std::max<size_t>(1, static_cast<size_t>(leaf.shape.back()));
    const auto next = [&](size_t i) {
      return is_hidden ? values.Hidden(i % columns) : values.Next();
    };
    if (node.kind == ValNode::Kind::kSplat) {
      if (node.splat.kind == AttrCode::Kind::kAny) leaf.values = {next(0)};
      if (node.splat.kind != AttrCode::Kind::kVariable || !OnlyOfSplats(node.splat.variable))
        continue;
      leaf.values = {variables.emplace(node.splat.variable, next(0)).first->second};
      continue;
    }
    for (size_t i = 0; i < leaf.values.size(); ++i)
      leaf.values[i] = leaf.positive ? std::abs(next(i)) : next(i);
    // A constant whose numbers are of several sizes: what holds of one need not hold of the others.
    if (mode == EdgeMode::kWide && leaf.constant && IsFloat(type) && leaf.values.size() > 1 &&
        values.Pick(0, 3) == 0) {
      const int last = static_cast<int>(leaf.values.size()) - 1;
      leaf.values[static_cast<size_t>(values.Pick(0, last))] =
          values.Pick(0, 1) == 0 ? values.Smallest() : values.Special();
    }
    if (values.has_rests())
      for (size_t i = 0; i < leaf.values.size(); ++i) leaf.rests.push_back(values.Rest());
    // What cancels: neighbors along an axis.
    if (mode == EdgeMode::kWide && IsFloat(type) && !leaf.constant && !leaf.positive &&
        !leaf.shape.empty() && values.Pick(0, sums ? 3 : 15) == 0) {
      const int last = Values::Last(leaf.shape.size());
      const auto axis = static_cast<size_t>(values.Pick(0, 1) == 0 ? last : values.Pick(0, last));
      size_t stride = 1;
      for (size_t i = axis + 1; i < leaf.shape.size(); ++i)
        stride *= static_cast<size_t>(leaf.shape[i]);
      const auto extent = static_cast<size_t>(leaf.shape[axis]);
      for (size_t i = 0; i < leaf.values.size(); ++i) {
        const size_t at = i / stride % extent;
        if (at % 2 == 1) leaf.values[i] = -leaf.values[i - stride];
        if (at % 2 == 0 && at + 1 == extent && extent > 1) leaf.values[i] = 0;
      }
    }
    // What cancels: the numbers of a leaf before it, all or most of them negated.
    if (mode == EdgeMode::kWide && !leaf.constant && !leaf.positive && values.Pick(0, 5) == 0) {
      for (const auto& [before, other] : leaves_) {
        if (before >= n || other.values.size() != leaf.values.size() || other.dtype != leaf.dtype ||
            other.boolean || other.index || other.given)
          continue;
        const bool all = values.Pick(0, 1) == 0;
        for (size_t i = 0; i < leaf.values.size(); ++i)
          if (all || values.Pick(0, 4) > 0) leaf.values[i] = -other.values[i];
        leaf.rests.clear();
        break;
      }
    }
    // Ranges say nothing about NaN.
    if (leaf.guarding != Guarding::kNone)
      for (double& value : leaf.values)
        if (std::isnan(value)) value = 0;
    // A row of one kind: what is hidden completely.
    const auto row = leaf.shape.empty() ? int64_t{1} : leaf.shape.back();
    if (mode != EdgeMode::kSpecial || !IsFloat(type) || leaf.positive ||
        leaf.guarding != Guarding::kNone || row == 0 || leaf.values.empty() ||
        values.Pick(0, 5) > 0)
      continue;
    const double special = values.Special();
    const int rows = static_cast<int>(static_cast<int64_t>(leaf.values.size()) / row);
    const auto begin = leaf.values.begin() + values.Pick(0, rows - 1) * row;
    std::fill(begin, begin + row, special);
  }
  if (!variables.empty()) ComputeSplats(variables);
}

std::map<uint16_t, double> InstancePlan::DrawToConditions(
    const std::function<double(uint16_t, double)>& draw) const {
  std::map<uint16_t, double> variables;
  for (const auto& [variable, value] : attrs_) {
    const double* number = std::get_if<double>(&value);
    if (number != nullptr && OnlyOfSplats(variable) && AsksAboutAttr(*rule_, variable))
      variables.emplace(variable, *number);
  }
  if (variables.empty()) return variables;
  constexpr int kTries = 6;
  for (int i = 0; i < kTries; ++i) {
    std::map<uint16_t, AttrValue> attrs = attrs_;
    std::map<uint16_t, double> drawn;
    for (const auto& [variable, planned] : variables) {
      drawn[variable] = draw(variable, planned);
      attrs[variable] = drawn[variable];
    }
    if (HoldsForAttrs(*rule_, attrs)) return drawn;
  }
  return variables;
}

bool InstancePlan::OnlyOfSplats(uint16_t variable) const {
  for (const Node& node : rule_->nodes) {
    if (!node.in_source) continue;
    for (const AttrCode& code : node.attrs) {
      if (code.kind == AttrCode::Kind::kVariable && code.variable == variable) return false;
      for (const ArgCode& arg : code.args)
        if (arg.attr == variable) return false;
    }
  }
  return true;
}

void InstancePlan::ComputeSplats(const std::map<uint16_t, double>& variables) {
  for (auto& [n, leaf] : leaves_) {
    const Node& node = rule_->nodes[leaf.node];
    if (node.kind != ValNode::Kind::kSplat || node.splat.kind != AttrCode::Kind::kCompute) continue;
    std::vector<AttrValue> attributes;
    for (const ArgCode& arg : node.splat.args) {
      if (arg.attr == kNone) break;
      const auto drawn = variables.find(arg.attr);
      const auto planned = attrs_.find(arg.attr);
      if (drawn != variables.end())
        attributes.emplace_back(drawn->second);
      else if (planned != attrs_.end())
        attributes.push_back(planned->second);
    }
    // What is computed from shapes stays.
    if (attributes.size() != node.splat.args.size()) continue;
    std::vector<BoundArg> args(attributes.size());
    for (size_t i = 0; i < args.size(); ++i) args[i].literal = &attributes[i];
    const AttrValue value =
        GuardedRead([&] { return node.splat.source->compute(args); }).value_or(AttrValue());
    if (const std::optional<double> number = NumberOf(value)) leaf.values = {*number};
  }
}

}  // namespace tenon::drr
