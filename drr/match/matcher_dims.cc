// Dimensions: the equations between the extents that a rule names and those of the program.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"

namespace tenon::drr {

std::optional<DimExpr> Matcher::EvaluateDim(uint16_t index) const {
  const DimCode& code = rule_->dims[index];
  switch (code.kind) {
    case DimNode::Kind::kConstant:
      return code.constant;
    case DimNode::Kind::kVariable:
      if (!dims_[code.variable]) return std::nullopt;
      return dims_[code.variable];
    case DimNode::Kind::kAny:
      return std::nullopt;
    default:
      break;
  }
  std::optional<DimExpr> a = EvaluateDim(code.a), b = EvaluateDim(code.b);
  if (!a || !b) return std::nullopt;
  if (code.kind == DimNode::Kind::kAdd) return *a + *b;
  return code.kind == DimNode::Kind::kSub ? *a - *b : *a * *b;
}

Matcher::Solved Matcher::Solve(uint16_t index, DimExpr actual) {
  const DimCode& code = rule_->dims[index];
  if (code.kind == DimNode::Kind::kAny) return Solved::kYes;
  if (std::optional<DimExpr> value = EvaluateDim(index)) {
    return DimExpr::ProvablyEqual(*value, actual) ? Solved::kYes : Solved::kNo;
  }
  if (code.kind == DimNode::Kind::kVariable) {
    if (actual.is_constant() && actual.constant() < 0) return Solved::kNo;
    dims_[code.variable] = actual;
    return Solved::kYes;
  }
  std::optional<DimExpr> a = EvaluateDim(code.a), b = EvaluateDim(code.b);
  if (!a && !b) return Solved::kNotYet;
  uint16_t unknown = a ? code.b : code.a;
  switch (code.kind) {
    case DimNode::Kind::kAdd:
      return Solve(unknown, actual - (a ? *a : *b));
    case DimNode::Kind::kSub:
      return Solve(unknown, a ? *a - actual : actual + *b);
    case DimNode::Kind::kMul: {
      std::optional<DimExpr> quotient = DimExpr::ExactDiv(actual, a ? *a : *b);
      return quotient ? Solve(unknown, *quotient) : Solved::kNo;
    }
    default:
      return Solved::kNo;
  }
}

// Products and differences may be solved in another order, with equations of other alternatives.
Matcher::Causes Matcher::CausesOfDims() const {
  Causes causes = 0;
  for (const Equation& equation : equations_) {
    const DimNode::Kind kind = rule_->dims[equation.code].kind;
    if (kind != DimNode::Kind::kVariable && kind != DimNode::Kind::kConstant &&
        kind != DimNode::Kind::kAny)
      return kAllCauses;
    causes |= equation.causes;
  }
  return causes;
}

// Adds the equations of `shape(x) == {…}`. Of a shape with a rest in the middle, the extents behind
// the rest count from the end.
bool Matcher::UnifyShape(const ConditionCode& condition) {
  const Value value = ValueOf(condition.args[0].edge);
  if (!value) return true;
  const Type type = value.type();
  const Causes causes = bound_[condition.args[0].edge.node].causes;
  const auto named = static_cast<int64_t>(condition.shape.size());
  const int rest = condition.source->rest;
  if (!type.is_tensor() || (rest < 0 ? type.rank() != named : type.rank() < named)) {
    failed_ = causes;
    Operation* op = MatchedOpOf(value);
    // What follows from another mismatch says nothing new.
    return !mismatches_.empty() || Fail(op, [&] {
      return fmt::format("the rule wants {}, and it is {}", condition.source->text, type.text());
    });
  }
  for (int64_t i = 0; i < named; ++i) {
    const int64_t axis = rest >= 0 && i >= rest ? type.rank() - named + i : i;
    equations_.push_back({condition.shape[static_cast<size_t>(i)], type.dim(axis), nullptr, value,
                          NameOf(condition.args[0].edge), causes});
  }
  return true;
}

bool Matcher::SolveDims() {
  std::fill(dims_.begin(), dims_.end(), DimExpr());
  for (const ConditionCode& condition : rule_->conditions) {
    if (condition.source->kind != ConditionNode::Kind::kShape) continue;
    const uint32_t items = ItemsOf(condition);
    bool holds = true;
    for (item_ = 0; holds && item_ < items; ++item_) holds = UnifyShape(condition);
    item_ = 0;
    if (!holds) return false;
  }
  absl::InlinedVector<bool, 16> done(equations_.size(), false);
  size_t left = equations_.size();
  for (bool progress = true; left > 0 && progress;) {
    progress = false;
    for (size_t i = 0; i < equations_.size(); ++i) {
      if (done[i]) continue;
      const Equation& equation = equations_[i];
      Solved solved = Solve(equation.code, equation.actual);
      if (solved == Solved::kNotYet) continue;
      if (solved == Solved::kNo) {
        failed_ = CausesOfDims();
        Operation* op = equation.op != nullptr ? equation.op : MatchedOpOf(equation.value);
        if (mismatches_.empty() && !Fail(op, [&] {
              std::optional<DimExpr> value = EvaluateDim(equation.code);
              const std::string want = value ? value->text() : DimText(equation.code);
              const std::string name = DimText(equation.code, true);
              return fmt::format(
                  "a dimension{} is {}, the rule wants {}{}",
                  equation.what.empty() ? "" : fmt::format(" of '{}'", equation.what),
                  equation.actual.text(), want, name == want ? "" : fmt::format(" (its {})", name));
            })) {
          return false;
        }
      }
      done[i] = progress = true;
      --left;
    }
  }
  failed_ = kAllCauses;
  return left == 0 || !mismatches_.empty() || Fail(matched_[0], [] {
           return std::string(
               "the shapes here do not determine the dimensions that the rule names");
         });
}

std::string Matcher::DimText(uint16_t index, bool names) const {
  const DimCode& code = rule_->dims[index];
  switch (code.kind) {
    case DimNode::Kind::kConstant:
      return code.constant.text();
    case DimNode::Kind::kVariable:
      return dims_[code.variable] && !names ? dims_[code.variable].text()
                                            : rule_->dim_names[code.variable];
    case DimNode::Kind::kAny:
      return "?";
    default: {
      const char* sign = code.kind == DimNode::Kind::kAdd   ? "+"
                         : code.kind == DimNode::Kind::kSub ? "-"
                                                            : "*";
      return fmt::format("({} {} {})", DimText(code.a, names), sign, DimText(code.b, names));
    }
  }
}

}  // namespace tenon::drr
