#include "drr/rewriter.h"

#include <algorithm>
#include <optional>

#include "absl/container/inlined_vector.h"
#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"

namespace tenon::drr {
namespace {

// The op of `block` in which `op` lies; null if it lies elsewhere.
Operation* AncestorIn(const Block* block, Operation* op) {
  while (op != nullptr && op->block() != block) op = op->parent_op();
  return op;
}

// The dimensions that a new value takes over: what was known of the old one, else what is known of
// the new.
std::optional<Type> MergeTypes(Type was, Type now) {
  if (was.kind() != now.kind() || was.dtype() != now.dtype()) return std::nullopt;
  if (!was.is_tensor()) return was == now ? std::optional<Type>(was) : std::nullopt;
  if (was.rank() != now.rank()) return std::nullopt;
  absl::InlinedVector<DimExpr, 6> dims;
  for (int64_t i = 0; i < was.rank(); ++i) {
    DimExpr a = was.dim(i), b = now.dim(i);
    if (a.is_constant() && b.is_constant() && a != b) return std::nullopt;
    if (a.kind() == DimExpr::Kind::kSymbol && b.kind() == DimExpr::Kind::kSymbol && a != b)
      return std::nullopt;
    dims.push_back(a.is_unknown() ? b : a);
  }
  return WithDims(was, dims);
}

constexpr size_t kMostMoved = 64;  // operations that a rewrite moves to its place

class Application {
 public:
  Application(const Matcher& match, const TargetQuery* target, RewriteListener& listener)
      : match_(match), rule_(match.rule()), target_(target), listener_(listener) {}

  // `commit`: puts the result in place; without it, and on refusal, what was made is erased again.
  std::string Run(bool commit) {
    std::string reason = FindPlace();
    if (reason.empty()) reason = Build();
    if (reason.empty()) reason = CheckResults();
    if (reason.empty() && commit) {
      Commit();
      return "";
    }
    for (size_t i = made_.size(); i-- > 0;) made_[i]->Erase();
    return reason;
  }

 private:
  std::string FindPlace();
  bool IsReplaced(Value value) const;
  std::vector<Operation*> Staying() const;
  bool MakeAvailable(Value value, size_t depth = 0);
  std::string Provide(Value value);
  std::string Build();
  std::string BuildOp(uint16_t n);
  Value Operand(const Edge& edge, DType splat_dtype);
  Value BuildSplat(const Node& node, DType dtype);
  std::string CheckResults();
  void Commit();
  void EraseMatched();
  Value ResultOf(const Edge& edge) const {
    if (rule_.nodes[edge.node].in_source) return match_.ValueOf(edge);
    Operation* op = made_for_[edge.node];
    return edge.result < op->num_results() ? op->result(edge.result) : Value();
  }

  const Matcher& match_;
  const CompiledRule& rule_;
  const TargetQuery* target_;
  RewriteListener& listener_;
  Operation* before_ = nullptr;  // new operations are inserted here
  Location location_;
  std::vector<Operation*> made_for_;  // by node
  std::vector<Operation*> made_;
  std::vector<Operation*> moved_;  // what computes operands too late, each after what it needs
  std::vector<Type> types_;        // of the results
  std::string error_;
};

// The matched operations that the rewrite leaves: the result reads them, or others outside do.
std::vector<Operation*> Application::Staying() const {
  std::vector<Operation*> staying;
  auto stays = [&](const Operation* op) {
    return !match_.IsMatched(op) || std::find(staying.begin(), staying.end(), op) != staying.end();
  };
  for (uint16_t n : rule_.creation_order) {
    for (const auto& group : rule_.nodes[n].operands) {
      for (const Edge& edge : group) {
        if (!rule_.nodes[edge.node].in_source) continue;
        const Value value = match_.ValueOf(edge);
        Operation* op = value ? value.defining_op() : nullptr;
        if (op != nullptr && !stays(op)) staying.push_back(op);
      }
    }
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (Operation* op : match_.matched_ops()) {
      if (stays(op)) continue;
      bool is_read = false;
      for (unsigned i = 0; i < op->num_results() && !is_read; ++i) {
        const Value value = op->result(i);
        if (IsReplaced(value)) continue;
        for (OpOperand& use : value.uses()) is_read = is_read || stays(use.owner());
      }
      if (is_read) staying.push_back(op);
      progress = progress || is_read;
    }
  }
  return staying;
}

// New operations go before the first user of a replaced value that stays, at the latest before the
// last root.
std::string Application::FindPlace() {
  Block* block = nullptr;
  for (const Edge& root : rule_.roots) {
    if (!match_.ValueOf(root)) continue;
    Operation* op = match_.ValueOf(root).defining_op();
    if (block != nullptr && op->block() != block)
      return "the matched values lie in different blocks";
    block = op->block();
    if (before_ == nullptr || before_->IsBeforeInBlock(op)) before_ = op;
  }
  if (rule_.roots.size() > 1) {
    const std::vector<Operation*> staying = Staying();
    for (const Edge& root : rule_.roots) {
      const Value value = match_.ValueOf(root);
      if (!value) continue;
      for (OpOperand& use : value.uses()) {
        Operation* user = AncestorIn(block, use.owner());
        if (user == nullptr) continue;
        if (match_.IsMatched(user) &&
            std::find(staying.begin(), staying.end(), user) == staying.end()) {
          continue;
        }
        if (user->IsBeforeInBlock(before_)) before_ = user;
      }
    }
  }
  std::vector<Location> parts;
  for (Operation* op : match_.matched_ops()) parts.push_back(op->location());
  std::reverse(parts.begin(), parts.end());
  location_ = Location::Fused(before_->context(), parts);
  return "";
}

bool Application::IsReplaced(Value value) const {
  return std::any_of(rule_.roots.begin(), rule_.roots.end(),
                     [&](const Edge& root) { return match_.ValueOf(root) == value; });
}

// Is the value computed before the place of insertion, or can it be? What computes it then moves
// there with the result: pure operations that need nothing of what is replaced. `depth`: the
// operations that are on their way to `moved_`.
bool Application::MakeAvailable(Value value, size_t depth) {
  Operation* op = value.defining_op();
  if (op == nullptr || op->block() != before_->block() || op->IsBeforeInBlock(before_) ||
      std::find(moved_.begin(), moved_.end(), op) != moved_.end()) {
    return true;
  }
  if (op == before_ || moved_.size() + depth >= kMostMoved) return false;
  if (!op->Has(Trait::kConstantLike) && (match_.IsMatched(op) || op->num_regions() > 0 ||
                                         !op->info().is_registered() || !EffectsOf(*op).pure())) {
    return false;
  }
  for (OpOperand& operand : op->operands()) {
    if (IsReplaced(operand.get()) || !MakeAvailable(operand.get(), depth + 1)) return false;
  }
  moved_.push_back(op);
  return true;
}

// Makes an existing value one that the result may be or read; says why it cannot be that.
std::string Application::Provide(Value value) {
  if (IsReplaced(value)) return "a value that the result needs is replaced";
  return MakeAvailable(value) ? "" : "a value that the result needs is computed too late";
}

Value Application::BuildSplat(const Node& node, DType dtype) {
  std::optional<AttrValue> value = match_.Evaluate(node.splat, 0, &error_);
  Context& context = before_->context();
  const OpInfo* info = context.FindOp("core.constant");
  if (!value || info == nullptr) return Value();
  Attribute number = ToAttribute(context, AttrType::kF64, *value);
  if (!number) return Value();
  std::byte element[8];
  StoreFromDouble(dtype, number.float_value(), element);
  Type type = Type::Tensor(context, dtype, std::span<const int64_t>());
  Attribute slot = Attribute::Splat(context, type, {element, SizeOf(dtype)});
  Operation* op = Operation::Create(*info, location_, {{type}}, {}, {{slot}});
  before_->block()->Insert(op, before_);
  made_.push_back(op);
  return op->result();
}

Value Application::Operand(const Edge& edge, DType splat_dtype) {
  const Node& node = rule_.nodes[edge.node];
  if (!node.in_source && node.kind == ValNode::Kind::kSplat) return BuildSplat(node, splat_dtype);
  Value value = ResultOf(edge);
  if (value && node.in_source) error_ = Provide(value);
  return error_.empty() ? value : Value();
}

std::string Application::BuildOp(uint16_t n) {
  const Node& node = rule_.nodes[n];
  Context& context = before_->context();
  // A new constant has the element type of the operands beside it.
  DType dtype = match_.ValueOf(rule_.roots[0]).type().dtype();
  for (const auto& group : node.operands) {
    for (const Edge& edge : group) {
      const Node& from = rule_.nodes[edge.node];
      if (from.kind == ValNode::Kind::kSplat || from.kind == ValNode::Kind::kEach) continue;
      Value value = ResultOf(edge);
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
      if (rule_.nodes[edge.node].kind == ValNode::Kind::kEach) {
        for (Value value : match_.EachOf(edge.node)) {
          if (std::string reason = Provide(value); !reason.empty()) return reason;
          operands.push_back(value);
        }
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
    const double* number = std::get_if<double>(&*value);
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
  if (!status.ok()) return std::string(status.message());
  Operation* op = Operation::Create(*node.info, location_, types, operands, slots);
  before_->block()->Insert(op, before_);
  made_.push_back(op);
  made_for_[n] = op;
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
    if (rule_.nodes[n].kind != ValNode::Kind::kOp) continue;
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

std::string Application::CheckResults() {
  for (size_t i = 0; i < rule_.roots.size(); ++i) {
    Value was = match_.ValueOf(rule_.roots[i]), now = ResultOf(rule_.results[i]);
    if (!was) {
      types_.push_back(Type());
      continue;
    }
    if (!now) return "the result is absent";
    bool made = !rule_.nodes[rule_.results[i].node].in_source;
    if (!made) {
      if (std::string reason = Provide(now); !reason.empty()) return reason;
    }
    std::optional<Type> type = MergeTypes(was.type(), now.type());
    if (type && !made && *type != now.type()) {
      // An existing value keeps its type, so it must be no less exact.
      for (int64_t d = 0; type && d < was.type().rank(); ++d) {
        if (!DimExpr::ProvablyEqual(was.type().dim(d), now.type().dim(d))) type.reset();
      }
    }
    if (!type) {
      return fmt::format("the result would be {} instead of {}", now.type().text(),
                         was.type().text());
    }
    types_.push_back(made ? *type : now.type());
  }
  return "";
}

void Application::Commit() {
  Operation* place = made_.empty() ? before_ : made_.front();
  for (Operation* op : moved_) op->MoveBefore(place);
  for (Operation* op : made_) listener_.Created(op);
  std::vector<std::pair<Value, Value>> replacements;
  for (size_t i = 0; i < rule_.roots.size(); ++i) {
    Value was = match_.ValueOf(rule_.roots[i]), now = ResultOf(rule_.results[i]);
    if (!was) continue;
    now.set_type(types_[i]);
    replacements.emplace_back(was, now);
  }
  for (auto [was, now] : replacements) {
    listener_.Replaced(was, now);
    was.ReplaceAllUsesWith(now);
  }
  EraseMatched();
}

// Erases what the match has made dead, with the constants that only it used.
void Application::EraseMatched() {
  std::vector<Operation*> left, constants;
  auto add = [](std::vector<Operation*>& list, Operation* op) {
    if (std::find(list.begin(), list.end(), op) == list.end()) list.push_back(op);
  };
  for (Operation* op : match_.matched_ops()) add(left, op);
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
}

}  // namespace

bool IsDead(const Operation& op) {
  return !op.has_uses() && op.num_results() > 0 && op.num_regions() == 0 && op.block() != nullptr &&
         EffectsOf(op).pure() && !op.Has(Trait::kTerminator) && !op.Has(Trait::kSymbol);
}

void EraseIfDead(Operation* op, RewriteListener& listener) {
  std::vector<Operation*> pending = {op};
  while (!pending.empty()) {
    Operation* next = pending.back();
    pending.pop_back();
    if (!IsDead(*next)) continue;
    for (OpOperand& operand : next->operands()) {
      Operation* def = operand.get().defining_op();
      if (def != nullptr && std::find(pending.begin(), pending.end(), def) == pending.end())
        pending.push_back(def);
    }
    listener.Erasing(next);
    next->Erase();
  }
}

std::string Apply(const Matcher& match, const TargetQuery* target, RewriteListener& listener) {
  return Application(match, target, listener).Run(true);
}

std::string WhyRefused(const Matcher& match, const TargetQuery* target) {
  RewriteListener listener;
  return Application(match, target, listener).Run(false);
}

}  // namespace tenon::drr
