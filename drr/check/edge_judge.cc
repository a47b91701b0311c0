// Judging one program at the edges: with proofs or without, by rounding or by gross differences.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "drr/check/edges.h"
#include "drr/check/mutate.h"
#include "drr/rewrite/rewriter.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/text/printer.h"

namespace tenon::drr {
namespace {

// True if `holds` is true for a float that the program reads or makes.
template <typename Predicate>
bool AnyFloat(const Run& run, Predicate holds) {
  const auto any = [&](const std::vector<Attribute>& values) {
    for (const Attribute& value : values) {
      if (!IsFloat(value.type().dtype())) continue;
      const ElementReader elements(value);
      for (int64_t i = 0, end = value.type().num_elements(); i < end; ++i)
        if (holds(elements[i])) return true;
    }
    return false;
  };
  return std::any_of(run.computed.begin(), run.computed.end(),
                     [&](const RunStep& step) { return any(step.operands) || any(step.results); });
}

bool IsNotFinite(double value) { return !std::isfinite(value); }
bool IsZero(double value) { return value == 0; }

// Does an attribute say an extent that the program does not know? No evaluation has it.
bool NeedsUnknownExtent(Operation* function) {
  for (Operation& op : function->region().front()) {
    for (Attribute slot : op.slots()) {
      if (!slot || slot.kind() != Attribute::Kind::kDims) continue;
      for (DimExpr dim : slot.dims())
        if (!dim.is_constant()) return true;
    }
  }
  return false;
}

// Gives the named extents of attributes the numbers that they have in a run.
void SetNamedExtents(Operation* function) {
  for (Operation& op : function->region().front()) {
    for (unsigned s = 0; s < op.num_slots(); ++s) {
      const Attribute slot = op.slot(s);
      if (!slot || slot.kind() != Attribute::Kind::kDims) continue;
      Dims dims;
      for (const DimExpr dim : slot.dims()) {
        const std::optional<int64_t> number = NamedExtent(dim);
        dims.push_back(number ? DimExpr::Constant(op.context(), *number) : dim);
      }
      op.set_slot(s, Attribute::Dims(op.context(), dims));
    }
  }
}

double RoundingOf(DType dtype) {
  return dtype == DType::kF64    ? std::ldexp(1.0, -52)
         : dtype == DType::kF16  ? std::ldexp(1.0, -10)
         : dtype == DType::kBF16 ? std::ldexp(1.0, -7)
                                 : std::ldexp(1.0, -23);
}

// How far the results of `program` move if its arguments move by one rounding of those of `source`.
std::vector<double> Spread(const Instance& program, const Instance& source, const Run& exact,
                           Evaluator& evaluator, std::mt19937_64& random) {
  constexpr int kMoves = 3;
  std::vector<double> spread(exact.results.size(), 0);
  const Block& block = source.function->region().front();
  Instance moved;
  moved.function = program.function;
  for (int move = 0; move < kMoves; ++move) {
    moved.arguments = program.arguments;
    for (size_t a = 0; a < moved.arguments.size(); ++a) {
      const DType dtype = block.argument(static_cast<unsigned>(a)).type().dtype();
      if (!IsFloat(dtype)) continue;
      for (double& value : moved.arguments[a].values)
        value *= 1 + ((random() & 1) != 0 ? RoundingOf(dtype) : -RoundingOf(dtype));
    }
    const absl::StatusOr<Run> run = Evaluate(moved.function, ArgumentsOf(moved), evaluator);
    for (size_t r = 0; r < spread.size(); ++r) {
      const Attribute was = exact.results[r];
      const bool same = run.ok() && run->results[r].type() == was.type();
      const ElementReader befores(was), nows(same ? run->results[r] : was);
      for (int64_t i = 0, end = was.type().num_elements(); i < end; ++i) {
        const double before = befores[i];
        const double now = same ? nows[i] : std::nan("");
        if (before == now || (same && std::isnan(before) && std::isnan(now))) continue;
        const bool counts = IsFloat(was.type().dtype()) && std::isfinite(before - now);
        spread[r] = std::max(
            spread[r], counts ? std::abs(before - now) : std::numeric_limits<double>::infinity());
      }
    }
  }
  return spread;
}

// The largest and the smallest magnitude other than 0 among the finite numbers that the program
// computes, as exponents of 2.
std::pair<double, double> ExponentsOf(const Run& run) {
  double most = 0, least = std::numeric_limits<double>::infinity();
  for (const RunStep& step : run.computed) {
    if (step.op->Has(Trait::kConstantLike)) continue;
    for (const Attribute& value : step.results) {
      if (!IsFloat(value.type().dtype())) continue;
      const ElementReader elements(value);
      for (int64_t i = 0, end = value.type().num_elements(); i < end; ++i) {
        const double size = std::abs(elements[i]);
        if (size == 0 || !std::isfinite(size)) continue;
        most = std::max(most, size);
        least = std::min(least, size);
      }
    }
  }
  return {std::log2(most), std::log2(least)};
}

}  // namespace

void EdgeJudge::Stretch(Instance& source, Instance& precise, DType dtype) {
  const Block& block = source.function->region().front();
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random_);
  };
  std::vector<size_t> floats;
  for (size_t a = 0; a < source.arguments.size(); ++a)
    if (block.argument(static_cast<unsigned>(a)).type().dtype() == dtype) floats.push_back(a);
  if (floats.empty()) return;
  const size_t only = floats[static_cast<size_t>(pick(0, static_cast<int>(floats.size()) - 1))];
  const bool all = pick(0, 1) == 0, upwards = pick(0, 3) > 0;
  const double target = upwards ? HeadroomOf(dtype).second - 1.0 / 16 : HeadroomOf(dtype).first;
  const std::vector<Numbers> first = source.arguments;
  // Sizes are powers of the scale, nearly: a few steps of a search for a root.
  constexpr int kSteps = 4;
  double scale = 0, before = 0, size_before = 0, slope = 1;
  for (int step = 0; step < kSteps; ++step) {
    const absl::StatusOr<Run> run = Evaluate(precise.function, ArgumentsOf(precise), evaluator_);
    if (!run.ok()) break;
    const auto [most, least] = ExponentsOf(*run);
    const double size = upwards ? most : least;
    if (!std::isfinite(size) || (size > target - 0.1 && size <= target)) break;
    if (step > 0 && scale != before)
      slope = std::clamp((size - size_before) / (scale - before), 0.25, 8.0);
    before = scale;
    size_before = size;
    scale += (target - 0.05 - size) / slope;
    source.arguments = first;
    for (const size_t a : floats) {
      if (!all && a != only) continue;
      for (double& value : source.arguments[a].values)
        value = Rounded(dtype, value * std::exp2(std::clamp(scale, -600.0, 600.0)));
    }
    precise.arguments = source.arguments;
  }
}

bool EdgeJudge::assumes(Assumption assumption) const {
  return std::any_of(
      rule_.conditions.begin(), rule_.conditions.end(),
      [&](const ConditionCode& code) { return code.source->assumption == assumption; });
}

bool EdgeJudge::GivesUp(const Run& before, const Run& exact, const Run& after) const {
  if (assumes(Assumption::kNoInfinity) &&
      (AnyFloat(before, IsNotFinite) || AnyFloat(exact, IsNotFinite)))
    return true;
  if (assumes(Assumption::kNoOverflow) &&
      (AnyFloat(after, IsNotFinite) || !HasHeadroom(after, after, EdgeMode::kWide, false)))
    return true;
  return assumes(Assumption::kNoNegativeZero) &&
         (AnyFloat(before, IsZero) || AnyFloat(after, IsZero));
}

EdgeJudge::Outcome EdgeJudge::Try(InstancePlan plan, DType dtype, const How& how) {
  const auto [mode, extents, change, unproven] = how;
  Outcome outcome;
  matcher_.set_fast_math(unproven);
  plan.SetEdgeValues(random_, dtype, mode, true);
  // Most programs with a change do not match, so the other ones are built behind that.
  std::optional<Instance> result = plan.Build(dtype, extents);
  if (!result || (change != 0 && !Mutate(*result, change))) return outcome;
  if (!matcher_.Match(rule_, result->anchor)) return outcome;
  std::optional<Instance> source = plan.Build(dtype);
  if (!source || (change != 0 && !Mutate(*source, change))) return outcome;
  RewriteListener listener;
  if (!Apply(matcher_, {nullptr, &evaluator_}, listener).empty()) return outcome;
  outcome.fired = true;
  const std::string named = extents == Extents::kNamed ? Print(*result->function) : "";
  if (!named.empty()) SetNamedExtents(result->function);
  std::optional<Instance> precise;
  if (IsFloat(dtype) && dtype != DType::kF64) precise = plan.Build(DType::kF64);
  if (precise && change != 0 && !Mutate(*precise, change)) precise.reset();
  const bool has_better = precise.has_value() && !plan.is_mixed();
  constexpr int kRolls = 6, kStretched = 2;
  bool judged_constants = false;
  for (int roll = 0; roll < kRolls; ++roll) {
    if (roll > 0) {
      plan.SetEdgeValues(random_, dtype, mode, false);
      // The programs stay, with other arguments.
      source->arguments = plan.Arguments(dtype);
      if (precise) precise->arguments = source->arguments;
      if (mode == EdgeMode::kWide && has_better && roll >= kRolls - kStretched)
        Stretch(*source, *precise, dtype);
    }
    const std::vector<Attribute> arguments = ArgumentsOf(*source);
    const absl::StatusOr<Run> before = Evaluate(source->function, arguments, evaluator_);
    if (!before.ok()) continue;
    const absl::StatusOr<Run> after = Evaluate(result->function, arguments, evaluator_);
    if (!after.ok() && (after.status().code() == absl::StatusCode::kUnimplemented ||
                        NeedsUnknownExtent(result->function)))
      continue;
    if (!after.ok()) {
      outcome.wrong =
          fmt::format("the result cannot be evaluated ({})", std::string(after.status().message()));
    } else {
      std::optional<Run> better;
      if (precise) {
        absl::StatusOr<Run> run = Evaluate(precise->function, ArgumentsOf(*precise), evaluator_);
        if (!run.ok()) continue;
        better = *std::move(run);
      }
      const Run& exact = better ? *better : *before;
      if (unproven && GivesUp(*before, exact, *after)) continue;
      // The constants stay those of the first run.
      if (!judged_constants) outcome.wrong = BadConstant(rule_, *before, *after);
      judged_constants = true;
      const bool headroom = HasHeadroom(*before, exact, mode, has_better);
      const auto spread = [&] {
        return Spread(precise ? *precise : *source, *source, exact, evaluator_, random_);
      };
      if (outcome.wrong.empty() && (mode == EdgeMode::kFine || mode == EdgeMode::kBetween)) {
        const bool judged = headroom && (mode == EdgeMode::kBetween || has_better);
        if (judged)
          outcome.wrong = CompareByBound(
              *before, exact, *after, mode == EdgeMode::kFine ? 0 : 1.0 / 16, has_better, spread);
      } else if (outcome.wrong.empty()) {
        outcome.wrong = CompareEdges(*before, exact, *after, headroom, spread);
      }
    }
    if (outcome.wrong.empty()) continue;
    // As it was before it was rewritten in place.
    std::optional<Instance> same = plan.Build(dtype, extents);
    if (change != 0) Mutate(*same, change);
    outcome.program = InputsText(arguments) + Print(*same->function);
    outcome.becomes = named.empty() ? Print(*result->function) : named;
    for (Attribute argument : arguments)
      outcome.size += static_cast<size_t>(argument.type().num_elements());
    return outcome;
  }
  return outcome;
}

}  // namespace tenon::drr
