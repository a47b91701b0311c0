// Computed attributes: values of functions, and what they follow from.
#include <algorithm>

#include "drr/match/matcher.h"
#include "fmt/format.h"
#include "ir/base/guarded_read.h"

namespace tenon::drr {

bool Matcher::FinishLets() {
  // Values may depend on each other, so go round until none is left.
  size_t left = lets_.size();
  absl::InlinedVector<bool, 8> done(lets_.size(), false);
  for (bool progress = true; left > 0 && progress;) {
    progress = false;
    for (size_t i = 0; i < lets_.size(); ++i) {
      if (done[i]) continue;
      const PendingLet& let = lets_[i];
      const AttrCode& code = let.code != nullptr ? *let.code : rule_->nodes[let.node].let_value;
      std::string reason;
      std::optional<AttrValue> value = Evaluate(code, 0, &reason);
      if (!value) {
        if (reason.empty()) continue;
        if (!Fail(let.op, [&] { return reason; })) return false;
        done[i] = progress = true;
        --left;
        continue;
      }
      done[i] = progress = true;
      --left;
      if (let.code != nullptr) {
        Attribute want = ToAttribute(*context_, code.type, *value);
        bool same = want == let.attr;
        if (!same && want && want.kind() == Attribute::Kind::kFloat && let.attr) {
          double a = want.float_value(), b = let.attr.float_value();
          same = std::abs(a - b) <= 1e-6 * std::abs(a);
        }
        if (!same && !Fail(let.op, [&] {
              return fmt::format("an attribute is {}, the rule computes {}",
                                 let.attr ? let.attr.text() : "absent",
                                 want ? want.text() : "no value");
            })) {
          return false;
        }
        continue;
      }
      uint16_t variable = rule_->nodes[let.node].let_variable;
      Causes causes = let.causes;
      for (const ArgCode& arg : code.args) causes |= CausesOf(arg);
      AttrBinding& binding = attrs_[variable];
      if (binding.bound) {
        BoundArg arg;
        arg.literal = &*value;
        if (!BindAttr(variable, arg, let.op, causes)) return false;
        continue;
      }
      binding.computed = *std::move(value);
      BoundArg arg;
      arg.literal = &binding.computed;
      BindAttr(variable, arg, let.op, causes);
    }
  }
  return left == 0 || !mismatches_.empty() || Fail(matched_[0], [] {
           return std::string("a computed attribute depends on an unbound one");
         });
}

const AttrCode* Matcher::LetOf(uint16_t variable) const {
  for (const PendingLet& let : lets_) {
    const Node& node = rule_->nodes[let.node];
    if (let.code == nullptr && node.let_variable == variable) return &node.let_value;
  }
  return nullptr;
}

bool Matcher::IsComputed(const AttrCode& code) const {
  if (code.kind == AttrCode::Kind::kCompute) return true;
  if (code.kind != AttrCode::Kind::kVariable) return false;
  const AttrCode* let = LetOf(code.variable);
  return let != nullptr && IsComputed(*let);
}

std::vector<double> Matcher::NumbersRead(const AttrCode& code) const {
  std::vector<double> numbers;
  const auto read = [&](uint16_t variable) {
    if (const AttrCode* let = LetOf(variable); let != nullptr && IsComputed(*let)) {
      const std::vector<double> inner = NumbersRead(*let);
      numbers.insert(numbers.end(), inner.begin(), inner.end());
      return;
    }
    if (!attrs_[variable].bound) return;
    const AttrValue value = ToAttrValue(attrs_[variable].arg);
    if (const double* number = std::get_if<double>(&value)) numbers.push_back(*number);
  };
  if (code.kind == AttrCode::Kind::kVariable) read(code.variable);
  for (const ArgCode& arg : code.args)
    if (arg.attr != kNone) read(arg.attr);
  return numbers;
}

std::optional<AttrValue> Matcher::Evaluate(const AttrCode& code, int64_t rank,
                                           std::string* reason) const {
  switch (code.kind) {
    case AttrCode::Kind::kLiteral:
      return AttrValue(code.literal);
    case AttrCode::Kind::kAxis:
      return AttrValue(std::get<int64_t>(code.source->literal) + rank);
    case AttrCode::Kind::kAxes: {
      I64s axes = std::get<I64s>(code.source->literal);
      for (int64_t& axis : axes) axis = axis < 0 ? axis + rank : axis;
      std::sort(axes.begin(), axes.end());
      return AttrValue(axes);
    }
    case AttrCode::Kind::kVariable:
      if (!attrs_[code.variable].bound) return std::nullopt;
      return ToAttrValue(attrs_[code.variable].arg);
    case AttrCode::Kind::kCompute: {
      std::vector<BoundArg> args;
      for (const ArgCode& arg : code.args) {
        bool bound;
        args.push_back(ReadArg(arg, bound));
        if (!bound && !code.source->asks_presence) return std::nullopt;
        args.back().absent = !bound;
      }
      // A function that reads what is not there has no value.
      AttrValue value =
          GuardedRead([&] { return code.source->compute(args); }).value_or(AttrValue());
      if (std::holds_alternative<std::monostate>(value)) {
        if (reason != nullptr)
          *reason = fmt::format("{} has no value here", drr::ToString(*code.source));
        return std::nullopt;
      }
      return value;
    }
    case AttrCode::Kind::kDim: {
      std::optional<DimExpr> dim = EvaluateDim(code.dims[0]);
      if (dim && dim->is_constant()) return AttrValue(dim->constant());
      if (reason != nullptr)
        *reason = fmt::format("{} is not a constant", dim ? dim->text() : DimText(code.dims[0]));
      return std::nullopt;
    }
    case AttrCode::Kind::kDims: {
      Dims dims;
      for (uint16_t index : code.dims) {
        std::optional<DimExpr> dim = EvaluateDim(index);
        if (!dim) {
          if (reason != nullptr) *reason = fmt::format("{} is not bound", DimText(index));
          return std::nullopt;
        }
        dims.push_back(*dim);
      }
      return AttrValue(dims);
    }
    case AttrCode::Kind::kAny:
      break;
  }
  return std::nullopt;
}

}  // namespace tenon::drr
