#include "drr/rewrite/rewriter.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "drr/rewrite/constant_guard.h"
#include "drr/rewrite/measuring.h"
#include "drr/rewrite/placement.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/core/dims/dim_expr_rewrite.h"
#include "ir/core/verify/op_checks.h"
#include "ir/core/verify/verifier.h"

namespace tenon::drr {
namespace {

// Is it made of numbers and symbols by sums and products alone? Collects the symbols.
bool IsPolynomial(DimExpr e, std::set<std::string_view>& symbols) {
  if (e.is_unknown()) return false;
  bool is = true;
  ForEachTerm(e, [&](int64_t, std::span<const DimExpr> factors) {
    for (DimExpr factor : factors) {
      is = is && factor.kind() == DimExpr::Kind::kSymbol;
      if (is) symbols.insert(factor.symbol());
    }
  });
  return is;
}

// Can't two extents be one? A rule that takes S for T, or S for 2 * S, is wrong. A sum of other
// symbols may be the same extent by another name, and divisions, bounds and broadcasts may be equal
// without a proof.
bool Contradict(DimExpr was, DimExpr now) {
  std::set<std::string_view> before, after;
  if (was == now || !IsPolynomial(was, before) || !IsPolynomial(now, after)) return false;
  const bool symbols = was.kind() == DimExpr::Kind::kSymbol && now.kind() == DimExpr::Kind::kSymbol;
  return symbols || before == after;
}

// The dimensions that a new value takes over: what was known of the old one, else what is known of
// the new. Nothing if the two contradict each other.
std::optional<Type> MergeTypes(Type was, Type now) {
  if (was.kind() != now.kind() || was.dtype() != now.dtype()) return std::nullopt;
  if (!was.is_tensor()) return was == now ? std::optional<Type>(was) : std::nullopt;
  if (was.rank() != now.rank()) return std::nullopt;
  absl::InlinedVector<DimExpr, 6> dims;
  for (int64_t i = 0; i < was.rank(); ++i) {
    DimExpr a = was.dim(i), b = now.dim(i);
    if (Contradict(a, b)) return std::nullopt;
    dims.push_back(a.is_unknown() ? b : a);
  }
  return WithDims(was, dims);
}

class Application {
 public:
  Application(const Matcher& match, const RewriteQueries& queries, RewriteListener& listener)
      : match_(match),
        rule_(match.rule()),
        target_(queries.target),
        measure_(queries.measure),
        own_guard_(queries.evaluator),
        guard_(queries.guard != nullptr ? *queries.guard : own_guard_),
        listener_(listener),
        placement_(match) {}

  // `commit`: puts the result in place; without it, and on refusal, what was made is erased again.
  Refusal Run(bool commit) {
    std::string reason = placement_.Find();
    if (reason.empty()) {
      location_ = FusedLocation();
      reason = Build();
    }
    if (reason.empty()) reason = CheckResults();
    if (reason.empty() && commit) {
      return {false, false, "", Commit()};
    }
    for (size_t i = made_.size(); i-- > 0;) {
      guard_.Erasing(made_[i]);
      made_[i]->Erase();
    }
    return {for_shapes_, for_operands_, reason, ""};
  }

 private:
  struct Replacement {
    Value was, now;
    bool made;  // by this rewrite
    Type type;  // of what replaces
  };

  Location FusedLocation() const;
  std::string Build();
  std::string BuildOp(uint16_t n);
  std::string AddEach(const Edge& edge, absl::InlinedVector<Value, 6>& operands);
  std::string AddRest(const Edge& edge, absl::InlinedVector<Value, 6>& operands);
  Value Operand(const Edge& edge, DType splat_dtype);
  Value BuildSplat(const Node& node, DType dtype);
  std::vector<Replacement> Pairs() const;
  std::string CheckResults();
  std::string Commit();
  std::vector<Operation*> EraseMatched();
  std::vector<Operation*> Matched() const;
  Value ResultOf(const Edge& edge) const {
    if (rule_.nodes[edge.node].in_source) return match_.ValueOf(edge);
    Operation* op = made_for_[edge.node];
    return edge.result < op->num_results() ? op->result(edge.result) : Value();
  }

  const Matcher& match_;
  const CompiledRule& rule_;
  const TargetQuery* target_;
  const bool measure_;
  ConstantGuard own_guard_;
  ConstantGuard& guard_;
  RewriteListener& listener_;
  Placement placement_;
  Location location_;
  std::vector<Operation*> made_for_;  // by node
  Value item_;                        // of the list, for operations that are made for each item
  std::vector<Operation*> made_;
  std::vector<Replacement> replacements_;
  std::string error_;
  bool for_shapes_ = false;
  bool for_operands_ = false;
};

// Of all that was matched, the operation at the root last.
Location Application::FusedLocation() const {
  std::vector<Location> parts;
  for (Operation* op : match_.matched_ops()) parts.push_back(op->location());
  std::reverse(parts.begin(), parts.end());
  return Location::Fused(placement_.before()->context(), parts);
}

// Null with the reason in error_ if there is no such constant.
Value Application::BuildSplat(const Node& node, DType dtype) {
  std::optional<AttrValue> value = match_.Evaluate(node.splat, 0, &error_);
  Context& context = placement_.before()->context();
  const OpInfo* info = context.FindOp("core.constant");
  const Attribute number = value ? ToAttribute(context, AttrType::kF64, *value) : Attribute();
  if (!number || info == nullptr) {
    if (error_.empty())
      error_ = fmt::format("a constant cannot be {}", value ? ToString(*value) : "without a value");
    return Value();
  }
  if (match_.IsComputed(node.splat)) {
    error_ = WhyNotHeld(dtype, number.float_value(), match_.NumbersRead(node.splat));
    if (!error_.empty()) return Value();
  }
  std::byte element[8];
  StoreFromDouble(dtype, number.float_value(), element);
  Type type = Type::Tensor(context, dtype, std::span<const int64_t>());
  Attribute slot = Attribute::Splat(context, type, {element, SizeOf(dtype)});
  Operation* op = Operation::Create(*info, location_, {{type}}, {}, {{slot}});
  placement_.before()->block()->Insert(op, placement_.before());
  made_.push_back(op);
  return op->result();
}

Value Application::Operand(const Edge& edge, DType splat_dtype) {
  const Node& node = rule_.nodes[edge.node];
  if (!node.in_source && node.kind == ValNode::Kind::kSplat) return BuildSplat(node, splat_dtype);
  Value value = ResultOf(edge);
  if (value && node.in_source) error_ = placement_.Provide(value);
  return error_.empty() ? value : Value();
}

// The operands that an Each stands for.
std::string Application::AddEach(const Edge& edge, absl::InlinedVector<Value, 6>& operands) {
  const Node& node = rule_.nodes[edge.node];
  const auto add = [&](Value value) {
    std::string reason = placement_.Provide(value);
    if (reason.empty()) operands.push_back(value);
    return reason;
  };
  if (item_) return add(item_);
  if (node.in_source || node.chain.empty()) {
    for (Value value : match_.EachOf(edge.node))
      if (std::string reason = add(value); !reason.empty()) return reason;
    return "";
  }
  for (Value item : match_.EachOf(node.list)) {
    item_ = item;
    std::string reason;
    for (size_t i = node.chain.size(); reason.empty() && i-- > 0;)
      reason = BuildOp(node.chain[i].op.node);
    item_ = Value();
    if (!reason.empty()) return reason;
    const Value value = ResultOf(node.chain[0].op);
    if (!value) return "an operand is absent";
    operands.push_back(value);
  }
  return "";
}

// The results of an operation from one on.
std::string Application::AddRest(const Edge& edge, absl::InlinedVector<Value, 6>& operands) {
  if (rule_.nodes[edge.node].in_source) {
    for (const Value value : match_.ValuesOf(edge)) {
      if (std::string reason = placement_.Provide(value); !reason.empty()) return reason;
      operands.push_back(value);
    }
    return "";
  }
  Operation* op = made_for_[edge.node];
  for (unsigned r = edge.result; r < op->num_results(); ++r) operands.push_back(op->result(r));
  return "";
}

// Why a value is none of the attribute that an operation gets from it; empty if it is one.
std::string WhyNoAttribute(const Node& node, const AttrCode& code, const AttrValue& value,
                           Attribute made) {
  const AttrDef& def = node.info->def().attrs[code.slot];
  if (made) return CheckAttribute(def, made);
  // To be absent is a value of an attribute that has no default.
  const bool is_absent = code.type == AttrType::kUnit
                             ? std::holds_alternative<bool>(value)
                             : std::holds_alternative<std::monostate>(value);
  if (is_absent && !node.info->default_value(code.slot)) return "";
  return fmt::format("attribute '{}' of {} cannot be {}", def.name, node.info->name(),
                     ToString(value));
}

std::string Application::BuildOp(uint16_t n) {
  const Node& node = rule_.nodes[n];
  Context& context = placement_.before()->context();
  // A new constant has the element type of the operands beside it.
  DType dtype = match_.ValueOf(rule_.roots[0]).type().dtype();
  for (const auto& group : node.operands) {
    for (const Edge& edge : group) {
      const Node& from = rule_.nodes[edge.node];
      if (from.kind == ValNode::Kind::kSplat || (from.kind == ValNode::Kind::kEach && !item_))
        continue;
      Value value = from.kind == ValNode::Kind::kEach ? item_ : ResultOf(edge);
      if (value && value.type().dtype() != DType::kBool) {
        dtype = value.type().dtype();
        break;
      }
    }
  }
  absl::InlinedVector<Value, 6> operands;
  absl::InlinedVector<int64_t, 6> segments;
  for (const auto& group : node.operands) {
    size_t before = operands.size();
    for (const Edge& edge : group) {
      if (edge.rest) {
        if (std::string reason = AddRest(edge, operands); !reason.empty()) return reason;
        continue;
      }
      if (rule_.nodes[edge.node].kind == ValNode::Kind::kEach) {
        if (std::string reason = AddEach(edge, operands); !reason.empty()) return reason;
        continue;
      }
      Value value = Operand(edge, dtype);
      if (!error_.empty()) return error_;
      if (value) operands.push_back(value);
    }
    segments.push_back(static_cast<int64_t>(operands.size() - before));
  }
  absl::InlinedVector<Attribute, 6> slots(node.info->num_slots());
  int64_t rank =
      !operands.empty() && operands[0].type().is_tensor() ? operands[0].type().rank() : 0;
  for (const AttrCode& code : node.attrs) {
    std::optional<AttrValue> value = match_.Evaluate(code, rank, &error_);
    if (!value) return error_.empty() ? "an attribute has no value" : error_;
    slots[code.slot] = ToAttribute(context, code.type, *value);
    if (code.kind != AttrCode::Kind::kLiteral) {
      if (std::string why = WhyNoAttribute(node, code, *value, slots[code.slot]); !why.empty())
        return why;
    }
    const double* number = std::get_if<double>(&*value);
    if (number != nullptr && code.type == AttrType::kF32 && match_.IsComputed(code)) {
      std::string why = WhyNotHeld(DType::kF32, *number, match_.NumbersRead(code));
      if (!why.empty()) return why;
    }
    if (number != nullptr && code.type == AttrType::kF32 && dtype == DType::kF64 &&
        static_cast<double>(static_cast<float>(*number)) != *number) {
      return fmt::format("attribute '{}' would round {} to f32",
                         node.info->slot_name(code.slot).str(), *number);
    }
  }
  if (node.info->segment_slot() >= 0) {
    slots[node.info->segment_slot()] = Attribute::Ints(context, DType::kI32, segments);
  }
  slots = FillDefaults(*node.info, slots);
  const std::vector<OperandDef>& groups = node.info->def().operands;
  for (size_t g = 0, i = 0; g < groups.size(); ++g) {
    if (groups[g].arity == Arity::kSingle && segments[g] != 1) {
      return fmt::format("{} needs its operand '{}'", node.info->name(), groups[g].name);
    }
    for (int64_t k = 0; k < segments[g]; ++k, ++i) {
      if (!groups[g].constraint.Accepts(operands[i].type())) {
        return fmt::format("{}: operand '{}' cannot be of type {}", node.info->name(),
                           groups[g].name, operands[i].type().text());
      }
    }
  }
  for (int s = 0; s < node.info->num_slots(); ++s) {
    if (!slots[s] && node.info->def().attrs[s].required) {
      return fmt::format("{}: attribute '{}' has no value", node.info->name(),
                         node.info->slot_name(s).str());
    }
  }
  ResultTypes types;
  absl::Status status =
      InferResultTypes(*node.info, location_, std::span<const Value>(operands), slots, types);
  if (!status.ok()) {
    for_operands_ = true;
    return std::string(status.message());
  }
  Operation* op = Operation::Create(*node.info, location_, types, operands, slots);
  placement_.before()->block()->Insert(op, placement_.before());
  made_.push_back(op);
  made_for_[n] = op;
  if (const std::string why = CheckElementTypes(*op); !why.empty())
    return fmt::format("{} would not be valid: {}", node.info->name(), why);
  if (std::string why = guard_.Check(*op); !why.empty()) return why;
  if (target_ != nullptr && rule_.rule->requires_kernel()) {
    std::string why = target_->WhyNoKernel(*op);
    if (!why.empty())
      return fmt::format("the target has no kernel for {}: {}", node.info->name(), why);
  }
  return "";
}

std::string Application::Build() {
  made_for_.assign(rule_.nodes.size(), nullptr);
  for (uint16_t n : rule_.creation_order) {
    if (rule_.nodes[n].kind != ValNode::Kind::kOp || rule_.nodes[n].mapped) continue;
    if (std::string reason = BuildOp(n); !reason.empty()) return reason;
  }
  // A Splat that is a result itself.
  for (const Edge& edge : rule_.results) {
    const Node& node = rule_.nodes[edge.node];
    if (node.in_source || node.kind != ValNode::Kind::kSplat) continue;
    Value value = BuildSplat(node, match_.ValueOf(rule_.roots[0]).type().dtype());
    if (!value) return error_;
    made_for_[edge.node] = value.defining_op();
  }
  return "";
}

// Which value replaces which. A root that the matched operation does not have is left out.
std::vector<Application::Replacement> Application::Pairs() const {
  std::vector<Replacement> pairs;
  std::map<uint16_t, uint16_t> taken;  // results that a Rest stands for, by node
  for (size_t i = 0; i < rule_.roots.size(); ++i) {
    Edge now = rule_.results[i];
    if (now.rest) now.result = static_cast<uint16_t>(now.result + taken[now.node]);
    for (const Value was : match_.ValuesOf(rule_.roots[i])) {
      pairs.push_back({was, ResultOf(now), !rule_.nodes[now.node].in_source, Type()});
      ++now.result;
      if (now.rest) ++taken[now.node];
    }
  }
  return pairs;
}

std::string Application::CheckResults() {
  replacements_ = Pairs();
  for (Replacement& pair : replacements_) {
    const auto [was, now, made, unused] = pair;
    if (!now) return "the result is absent";
    if (!made) {
      if (std::string reason = placement_.Provide(now); !reason.empty()) return reason;
    }
    std::optional<Type> type = MergeTypes(was.type(), now.type());
    if (type && !made && *type != now.type()) {
      // An existing value keeps its type, so it must be no less exact.
      for (int64_t d = 0; type && d < was.type().rank(); ++d) {
        if (!DimExpr::ProvablyEqual(was.type().dim(d), now.type().dim(d))) type.reset();
      }
    }
    if (!type) {
      for_shapes_ = was.type().dtype() == now.type().dtype();
      return fmt::format("the result would be {} instead of {}", now.type().text(),
                         was.type().text());
    }
    pair.type = made ? *type : now.type();
  }
  return "";
}

// Each matched operation once.
std::vector<Operation*> Application::Matched() const {
  std::vector<Operation*> matched;
  for (Operation* op : match_.matched_ops())
    if (std::find(matched.begin(), matched.end(), op) == matched.end()) matched.push_back(op);
  return matched;
}

// Returns what the rule should lower and does not, if that is measured.
std::string Application::Commit() {
  const Measure& lowers = rule_.rule->lowers();
  const std::optional<int64_t> before =
      measure_ ? MeasureOf(lowers, Matched()) : std::optional<int64_t>();
  Operation* place = made_.empty() ? placement_.before() : made_.front();
  for (Operation* op : placement_.moved()) op->MoveBefore(place);
  for (Operation* op : made_) listener_.Created(op);
  for (Replacement& pair : replacements_) {
    TENON_CHECK(pair.now);  // CheckResults refuses what is absent
    pair.now.set_type(pair.type);
  }
  for (Replacement& pair : replacements_) {
    listener_.Replaced(pair.was, pair.now);
    pair.was.ReplaceAllUsesWith(pair.now);
  }
  std::vector<Operation*> now = EraseMatched();
  if (!before) return "";
  const Measure::Kind kind = lowers.kind;
  const bool sizes = kind == Measure::Kind::kElements || kind == Measure::Kind::kBytes;
  const std::vector<Operation*> made = sizes ? made_ : WithoutConstants(made_);
  now.insert(now.end(), made.begin(), made.end());
  const std::optional<int64_t> after = MeasureOf(lowers, now);
  if (!after || *after < *before) return "";
  return fmt::format("rule '{}' ({}) does not lower {}: it is {} before and {} after",
                     rule_.rule->name(), rule_.rule->place(), ToString(lowers), *before, *after);
}

// Erases what the match has made dead, with the constants that only it used. Returns the matched
// operations that stay.
std::vector<Operation*> Application::EraseMatched() {
  std::vector<Operation*> left = Matched(), constants;
  auto add = [](std::vector<Operation*>& list, Operation* op) {
    if (std::find(list.begin(), list.end(), op) == list.end()) list.push_back(op);
  };
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < left.size(); ++i) {
      Operation* op = left[i];
      if (!IsDead(*op)) continue;
      for (OpOperand& operand : op->operands()) {
        Operation* def = operand.get().defining_op();
        if (def != nullptr && def->Has(Trait::kConstantLike)) add(constants, def);
      }
      listener_.Erasing(op);
      op->Erase();
      left.erase(left.begin() + static_cast<ptrdiff_t>(i));
      constants.erase(std::remove(constants.begin(), constants.end(), op), constants.end());
      progress = true;
      break;
    }
  }
  for (Operation* op : constants) {
    if (!IsDead(*op)) continue;
    listener_.Erasing(op);
    op->Erase();
  }
  return left;
}

}  // namespace

bool IsDead(const Operation& op) {
  return !op.has_uses() && op.num_results() > 0 && op.num_regions() == 0 && op.block() != nullptr &&
         EffectsOf(op).pure() && !op.Has(Trait::kTerminator) && !op.Has(Trait::kSymbol) &&
         !DefinesDims(op);
}

Refusal Apply(const Matcher& match, const RewriteQueries& queries, RewriteListener& listener) {
  return Application(match, queries, listener).Run(true);
}

Refusal WhyRefused(const Matcher& match, const RewriteQueries& queries) {
  RewriteListener listener;
  return Application(match, queries, listener).Run(false);
}

}  // namespace tenon::drr
