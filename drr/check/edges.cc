#include "drr/check/edges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "drr/rewrite/constant_guard.h"
#include "fmt/format.h"

namespace tenon::drr {
namespace {

// Exponents: of the smallest normal number, one beyond that of the largest, of the headroom, of
// the distance to the number behind 1.
struct Limits {
  int lowest, highest, headroom, epsilon;
};

Limits LimitsOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return {-1022, 1024, 40, -52};
    case DType::kF16:
      return {-14, 16, 6, -10};
    case DType::kBF16:
      return {-126, 128, 40, -7};
    default:
      return {-126, 128, 40, -23};
  }
}

double LeastNormal(DType dtype) { return std::ldexp(1.0, LimitsOf(dtype).lowest); }

bool SameKind(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return std::isinf(a) || std::isinf(b) ? a == b : true;
}

// Of values that numbers decide the extents of.
bool SameExtents(Type a, Type b) {
  return std::equal(a.dims().begin(), a.dims().end(), b.dims().begin(), b.dims().end());
}

bool SameInteger(Attribute a, Attribute b, int64_t i) {
  return a.ElementAsInt(i) == b.ElementAsInt(i);
}

// Gross differences alone: rounding is judged on plain numbers.
bool Close(double want, double got, double relative, double slack) {
  if (!SameKind(want, got)) return false;
  if (!std::isfinite(want)) return true;
  return std::abs(got - want) <= relative * std::max(std::abs(want), std::abs(got)) + slack;
}

// Ops that return some of the numbers that they read. One without headroom is a constant, an
// argument, or the result of an op that is asked itself.
bool Selects(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "ten.clip",       "ten.concat",     "ten.expand",    "ten.gather",  "ten.max",
      "ten.min",        "ten.reduce_max", "ten.relu",      "ten.reshape", "ten.slice",
      "ten.reduce_min", "ten.split",      "ten.transpose", "ten.where"};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

bool AddsNothing(std::string_view op) {
  static constexpr std::string_view kOps[] = {
      "ten.abs",        "ten.cast", "ten.div",   "ten.mul",    "ten.neg",   "ten.pad",
      "ten.reciprocal", "ten.sqrt", "ten.rsqrt", "ten.is_nan", "ten.is_inf"};
  return Selects(op) || std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

namespace {

// The largest magnitude among the floats; infinities and NaN do not count if `finite`.
double Largest(const std::vector<Attribute>& values, bool finite) {
  double largest = 0;
  for (const Attribute value : values) {
    if (!IsFloat(value.type().dtype())) continue;
    const ElementReader elements(value);
    for (int64_t i = 0, end = value.type().num_elements(); i < end; ++i) {
      const double number = std::abs(elements[i]);
      if (!finite || std::isfinite(number)) largest = std::max(largest, number);
    }
  }
  return largest;
}

// The largest finite number that an op which may cancel reads or makes.
double LargestTerm(const Run& run) {
  double largest = 0;
  for (const RunStep& computed : run.computed) {
    if (!AddsNothing(computed.op->name()))
      largest =
          std::max({largest, Largest(computed.operands, true), Largest(computed.results, true)});
  }
  return largest;
}

// The largest number that a sum of the program adds: f64 rounds it too.
double LargestSummand(const Run& run) {
  double largest = 0;
  for (const RunStep& computed : run.computed) {
    const bool is_function =
        computed.op->Has(Trait::kElementwise) && computed.op->num_operands() == 1;
    if (!is_function && !AddsNothing(computed.op->name()))
      largest = std::max(largest, Largest(computed.operands, false));
  }
  return largest;
}

// The largest number that the program adds up from constants alone. Its rounding is that of a
// constant that a rule computes once, and no argument moves it.
double LargestFolded(const Run& run) {
  double largest = 0;
  for (size_t c = 0; c < run.computed.size(); ++c) {
    if (run.is_constant[c] && !AddsNothing(run.computed[c].op->name()))
      largest = std::max(largest, Largest(run.computed[c].operands, false));
  }
  return largest;
}

// True if no op of the program computes a number: each is one of the arguments or constants, in
// another place or another type.
bool OnlyMoves(const Run& run) {
  return std::all_of(run.computed.begin(), run.computed.end(), [](const RunStep& step) {
    return Selects(step.op->name()) || step.op->name() == "ten.cast";
  });
}

// Are the numbers that an element is computed from finite? Of a softmax the one in its place.
bool ReadsFinite(const RunStep& step, const Attribute& result, int64_t i) {
  const bool by_element = step.op->Has(Trait::kElementwise) || step.op->name() == "nn.softmax";
  const auto is_finite = [&](const Attribute& operand) {
    if (!IsFloat(operand.type().dtype())) return true;
    const int64_t size = operand.type().num_elements();
    const ElementReader elements(operand);
    if (by_element && size == result.type().num_elements()) return std::isfinite(elements[i]);
    for (int64_t k = 0; k < size; ++k)
      if (!std::isfinite(elements[k])) return false;
    return true;
  };
  return std::all_of(step.operands.begin(), step.operands.end(), is_finite);
}

// True if an operation that may leave the range of the type got finite numbers only.
bool HasFiniteOperands(const RunStep& step, const Attribute& result, int64_t i) {
  static constexpr std::string_view kOps[] = {"ten.add", "ten.cosh",       "ten.exp",  "ten.matmul",
                                              "ten.mul", "ten.reduce_sum", "ten.sinh", "ten.sub"};
  return std::find(std::begin(kOps), std::end(kOps), step.op->name()) != std::end(kOps) &&
         ReadsFinite(step, result, i);
}

// Operations that give 0 or 1 for what is only far away.
bool Saturates(std::string_view op) {
  return !AddsNothing(op) && op != "ten.add" && op != "ten.sub" && op != "ten.matmul" &&
         op != "ten.reduce_sum" && op != "ten.reduce_mean";
}

}  // namespace

std::string BadConstant(const CompiledRule& rule, const Run& before, const Run& after) {
  std::vector<double> written;
  for (const Node& node : rule.nodes) {
    if (node.in_source || node.kind != ValNode::Kind::kSplat ||
        node.splat.kind != AttrCode::Kind::kLiteral)
      continue;
    const AttrValue number = ToAttrValue(node.splat.literal);
    if (const double* value = std::get_if<double>(&number)) written.push_back(*value);
  }
  // A bad number of the given kind: one that is not finite, or a subnormal one.
  const auto bad = [&](Attribute constant, bool finite) -> std::optional<double> {
    const DType dtype = constant.type().dtype();
    if (!IsFloat(dtype)) return std::nullopt;
    const ElementReader elements(constant);
    const double least = LeastNormal(dtype);
    for (int64_t i = 0, end = constant.type().num_elements(); i < end; ++i) {
      const double value = elements[i];
      if (value == 0 || (std::isfinite(value) && std::abs(value) >= least)) continue;
      const bool is_written = std::any_of(written.begin(), written.end(), [&](double number) {
        return number == value || (std::isnan(number) && std::isnan(value));
      });
      if (std::isfinite(value) == finite && !is_written) return value;
    }
    return std::nullopt;
  };
  const auto any_bad = [&](const std::vector<Attribute>& constants, bool finite) {
    return std::any_of(constants.begin(), constants.end(),
                       [&](Attribute constant) { return bad(constant, finite).has_value(); });
  };
  for (const bool finite : {false, true}) {
    // What the source computes itself is not the fault of the rule, nor what replaces numbers that
    // are not finite.
    bool computes = false;
    for (size_t i = 0; i < before.computed.size(); ++i) {
      const std::vector<Attribute>& results = before.computed[i].results;
      computes |= before.is_constant[i] && (any_bad(results, finite) || any_bad(results, false));
    }
    if (computes) continue;
    // Attributes are numbers too.
    const bool has_attr =
        std::any_of(before.computed.begin(), before.computed.end(), [](const RunStep& step) {
          const auto slots = step.op->slots();
          return std::any_of(slots.begin(), slots.end(), [](Attribute slot) {
            return slot && slot.kind() == Attribute::Kind::kFloat &&
                   !std::isfinite(slot.float_value());
          });
        });
    const bool has = has_attr || any_bad(before.constants, finite);
    const auto words = [&](double value) {
      return fmt::format("a constant that the rule computes is {}, which is {}", value,
                         finite ? "subnormal" : "not finite");
    };
    for (size_t i = 0; i < after.constants.size() && !has; ++i)
      if (const auto value = bad(after.constants[i], finite)) return words(*value);
    for (size_t i = 0; i < after.computed.size(); ++i) {
      if (!after.is_constant[i]) continue;
      const RunStep& step = after.computed[i];
      for (Attribute result : step.results) {
        const auto value = bad(result, finite);
        if (!value) continue;
        if (!has || (step.results.size() == 1 &&
                     WhyNotMadeOfSuch(*step.op, step.operands, result) != nullptr))
          return words(*value);
      }
    }
  }
  return "";
}

std::pair<int, int> HeadroomOf(DType dtype) {
  const Limits limits = LimitsOf(dtype);
  return {limits.lowest + limits.headroom, limits.highest - limits.headroom};
}

bool HasHeadroom(const Run& before, const Run& exact, EdgeMode mode, bool has_better) {
  const bool is_wide = mode == EdgeMode::kWide || mode == EdgeMode::kFine;
  const bool is_hidden = mode == EdgeMode::kHidden;
  // Nothing else tells a zero or an infinity from a number beyond the type.
  if (is_hidden && !has_better) return false;
  // A constant without all bits of its type has no result that is right within rounding.
  for (Attribute constant : before.constants) {
    const DType dtype = constant.type().dtype();
    if (!IsFloat(dtype)) continue;
    const ElementReader elements(constant);
    const double least = LeastNormal(dtype);
    for (int64_t i = 0, end = constant.type().num_elements(); i < end; ++i) {
      const double value = elements[i];
      if (value != 0 && std::abs(value) < least) return false;
    }
  }
  for (size_t c = 0; c < before.computed.size(); ++c) {
    const std::string_view op = before.computed[c].op->name();
    for (size_t r = 0; r < before.computed[c].results.size(); ++r) {
      const Attribute own = before.computed[c].results[r], real = exact.computed[c].results[r];
      if (!SameExtents(own.type(), real.type())) return false;
      if (!IsFloat(own.type().dtype())) continue;
      const auto [lowest, highest] = HeadroomOf(own.type().dtype());
      const double most = std::ldexp(1.0, highest), least = std::ldexp(1.0, lowest);
      const bool selects = Selects(op);
      const ElementReader reals(real), owns(own);
      for (int64_t i = 0, end = own.type().num_elements(); i < end; ++i) {
        const double value = reals[i], here = owns[i];
        if (!SameKind(value, here)) return false;
        if (!std::isfinite(value)) {
          if (is_wide || HasFiniteOperands(before.computed[c], own, i)) return false;
          if (is_hidden && ReadsFinite(before.computed[c], own, i)) return false;
          continue;
        }
        // Zeros may be numbers too small for the type.
        if (value == 0) {
          if (is_wide && (!has_better || Saturates(op))) return false;
          if (is_hidden && Saturates(op) && ReadsFinite(before.computed[c], own, i)) return false;
          if (op == "ten.exp" && HasFiniteOperands(before.computed[c], own, i)) return false;
          continue;
        }
        if (!selects && (std::abs(value) > most || std::abs(value) < least)) return false;
      }
    }
  }
  return true;
}

std::string CompareEdges(const Run& before, const Run& exact, const Run& after, bool headroom,
                         const SpreadOf& spread) {
  double term = -1;
  std::vector<double> moves;
  for (size_t r = 0; r < before.results.size(); ++r) {
    const Attribute want = before.results[r], real = exact.results[r], got = after.results[r];
    if (!SameExtents(want.type(), real.type())) continue;
    if (want.type() != got.type()) return fmt::format("result {} has another type", r);
    if (!headroom) continue;
    const DType dtype = want.type().dtype();
    const double epsilon = std::ldexp(1.0, LimitsOf(dtype).epsilon);
    const double relative = std::max(1.0 / 16, 32 * epsilon);
    const ElementReader wants(want), reals(real), gots(got);
    for (int64_t i = 0, end = want.type().num_elements(); i < end; ++i) {
      const auto differs = [&] {
        return IsFloat(dtype) ? fmt::format("result {} element {} is {} instead of {}", r, i,
                                            NumberText(got.ElementAsDouble(i)),
                                            NumberText(want.ElementAsDouble(i)))
                              : fmt::format("result {} element {} is {} instead of {}", r, i,
                                            got.ElementAsInt(i), want.ElementAsInt(i));
      };
      if (!IsFloat(dtype)) {
        if (!SameInteger(want, got, i) && SameInteger(want, real, i)) return differs();
        continue;
      }
      const double b = wants[i], e = reals[i], a = gots[i];
      if (Close(b, a, relative, 0)) continue;
      if (term < 0) term = std::max({LargestTerm(before), LargestTerm(after), LargestTerm(exact)});
      const double slack = 64 * epsilon * term;
      if (!Close(e, b, relative / 4, slack / 4) || Close(e, a, relative, slack)) continue;
      if (moves.empty() && std::isfinite(a - e)) moves = spread();
      if (!std::isfinite(a - e) || !Close(e, a, relative, slack + 16 * moves[r])) return differs();
    }
  }
  return "";
}

std::string CompareByBound(const Run& before, const Run& exact, const Run& after, double relative,
                           bool has_better, const SpreadOf& spread) {
  std::vector<double> moves;
  double rounding = -1;
  const bool only_moves = OnlyMoves(before);
  for (size_t r = 0; r < before.results.size(); ++r) {
    const Attribute want = before.results[r], real = exact.results[r], got = after.results[r];
    if (!SameExtents(want.type(), real.type())) continue;
    if (want.type() != got.type()) return fmt::format("result {} has another type", r);
    const DType dtype = want.type().dtype();
    const bool is_float = IsFloat(dtype);
    const ElementReader wants(want), reals(real), gots(got);
    const int64_t size = want.type().num_elements();
    double own = 0, largest = 0;
    for (int64_t i = 0; is_float && i < size; ++i) {
      const double e = reals[i], b = wants[i];
      if (!std::isfinite(e) || !std::isfinite(b)) continue;
      own = std::max(own, std::abs(b - e));
      largest = std::max(largest, std::abs(e));
    }
    for (int64_t i = 0; i < size; ++i) {
      if (!is_float && (SameInteger(want, got, i) || !SameInteger(want, real, i))) continue;
      const double b = wants[i], e = reals[i], a = gots[i];
      if (is_float && (!SameKind(b, e) || (!std::isfinite(e) && SameKind(e, a)))) continue;
      const double epsilon = std::ldexp(1.0, LimitsOf(dtype).epsilon);
      double bound = only_moves && is_float ? std::abs(b - e) + epsilon * std::abs(e)
                                            : 16 * own + 16 * epsilon * largest;
      const auto within = [&] {
        const double share = only_moves ? 0 : relative;
        return is_float && SameKind(e, a) &&
               std::abs(a - e) <= share * std::max(std::abs(a), std::abs(e)) + bound;
      };
      const auto differs = [&] {
        return fmt::format("result {} element {} is {} instead of {}: allowed are {}", r, i,
                           NumberText(a), NumberText(e), bound);
      };
      if (within()) continue;
      if (only_moves && is_float) return differs();
      // f64 has nothing better to compare with, and attributes are f32.
      if (rounding < 0 && dtype == DType::kF64) rounding = std::ldexp(LargestTerm(exact), -20);
      if (rounding < 0 && !has_better)
        rounding = std::ldexp(LargestTerm(exact), LimitsOf(dtype).epsilon + 4);
      if (rounding < 0) rounding = std::ldexp(LargestSummand(exact), -48);
      bound += rounding;
      if (within()) continue;
      bound += 2 * std::ldexp(LargestFolded(after), LimitsOf(dtype).epsilon);
      if (within()) continue;
      if (moves.empty()) moves = spread();
      if (std::isinf(moves[r])) continue;
      bound += 16 * moves[r];
      if (within()) continue;
      if (!is_float)
        return fmt::format("result {} element {} is {} instead of {}", r, i, got.ElementAsInt(i),
                           want.ElementAsInt(i));
      return differs();
    }
  }
  return "";
}

}  // namespace tenon::drr
