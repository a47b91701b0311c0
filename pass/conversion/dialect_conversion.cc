#include "pass/conversion/dialect_conversion.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "fmt/ranges.h"
#include "ir/base/check.h"
#include "ir/core/walk.h"
#include "pass/conversion/conversion_casts.h"

namespace tenon {
namespace {

// Patterns may convert what patterns have made so many times in a row.
constexpr int kMaxDepth = 64;

class Driver : public IrListener {
 public:
  Driver(Operation* top, const ConversionTarget& target, const PatternSet& patterns,
         PassContext& context, bool full)
      : top_(top),
        target_(target),
        patterns_(patterns),
        context_(context),
        full_(full),
        casts_(top->context()) {}

  absl::StatusOr<ConversionResult> Run() {
    WalkOps(top_, [&](Operation* op) {
      if (op == top_) return WalkResult::kAdvance;
      Push(op, 0, nullptr);
      return target_.IsRecursivelyLegal(*op) ? WalkResult::kSkip : WalkResult::kAdvance;
    });
    TurnAround(0);
    TENON_RETURN_IF_ERROR(Work());
    // What materializations make must be legal, and its conversion may need further casts.
    for (int round = 0; round < kMaxDepth; ++round) {
      TENON_RETURN_IF_ERROR(casts_.Realize(this));
      if (items_.empty()) return result_;
      TurnAround(0);
      TENON_RETURN_IF_ERROR(Work());
    }
    return EmitError(top_->context(), top_->location(),
                     "materializations of the conversion need one another without end");
  }

 private:
  // An op that waits. The last one is next.
  struct Item {
    Operation* op;             // null once it is erased
    int depth;                 // of patterns that have made it
    const RewritePattern* by;  // which has made it; null for an op of the program
  };

  void Push(Operation* op, int depth, const RewritePattern* by) {
    const auto [at, added] = waiting_.try_emplace(op, items_.size());
    if (!added) return;
    items_.push_back({op, depth, by});
  }
  // The items from `first` on become next in the order in which they were pushed.
  void TurnAround(size_t first) {
    std::reverse(items_.begin() + static_cast<ptrdiff_t>(first), items_.end());
    for (size_t i = first; i < items_.size(); ++i) {
      if (items_[i].op != nullptr) waiting_[items_[i].op] = i;
    }
  }

  absl::Status Work() {
    while (!items_.empty()) {
      const Item item = items_.back();
      items_.pop_back();
      if (item.op == nullptr) continue;
      waiting_.erase(item.op);
      if (target_.IsInsideLegal(*item.op, top_)) continue;
      const Legality legality = target_.Of(*item.op);
      if (legality == Legality::kLegal) continue;
      TENON_RETURN_IF_ERROR(Convert(item, legality));
    }
    return absl::OkStatus();
  }

  absl::Status Convert(const Item& item, Legality legality) {
    std::vector<std::string> tried;
    for (const RewritePattern* pattern : patterns_.PatternsFor(item.op->id())) {
      if (context_.disabled_rules.contains(pattern->name())) continue;
      if (item.depth >= kMaxDepth) {
        return EmitError(
            top_->context(), item.op->location(),
            fmt::format("the conversion does not end: pattern '{}' applies to '{}', which pattern "
                        "'{}' has made, after {} patterns in a row",
                        pattern->name(), item.op->name(), item.by->name(), kMaxDepth));
      }
      TENON_ASSIGN_OR_RETURN(const std::optional<std::string> why, Try(*pattern, item));
      if (!why) return absl::OkStatus();
      tried.push_back(why->empty() ? fmt::format("'{}' does not apply", pattern->name())
                                   : fmt::format("'{}': {}", pattern->name(), *why));
    }
    if (legality == Legality::kUnknown && !full_) return absl::OkStatus();
    std::string message =
        fmt::format("'{}' cannot be made legal: {}", item.op->name(),
                    legality == Legality::kIllegal ? "the target says that it is illegal"
                                                   : "the target does not say that it is legal");
    if (item.by != nullptr) message += fmt::format(", pattern '{}' has made it", item.by->name());
    message += tried.empty() ? std::string(", and there is no pattern for it")
                             : fmt::format("; {}", fmt::join(tried, "; "));
    return EmitError(top_->context(), item.op->location(), std::move(message));
  }

  // Nullopt if the pattern has converted the op, else why it has not.
  absl::StatusOr<std::optional<std::string>> Try(const RewritePattern& pattern, const Item& item) {
    Operation* op = item.op;
    const ConversionPattern* conversion = pattern.AsConversionPattern();
    const TypeConverter* converter = conversion != nullptr ? conversion->converter() : nullptr;
    std::vector<Type> types;
    if (converter != nullptr) {
      for (unsigned i = 0; i < op->num_operands(); ++i) {
        const Type type = op->operand(i).type();
        types.push_back(converter->Convert(type));
        if (!types.back()) {
          return std::optional(
              fmt::format("operand {} is of type {}, which has no conversion", i, type.text()));
        }
      }
    }
    const Location location = op->location();
    const size_t first = items_.size();
    depth_ = item.depth + 1, by_ = &pattern, root_ = op, changed_ = false, mixed_.clear();
    ConversionRewriter rewriter(op->context(), this, casts_, converter);
    rewriter.SetInsertionPointBefore(op);
    absl::StatusOr<bool> converted;
    if (conversion == nullptr) {
      converted = pattern.Rewrite(op, rewriter);
    } else {
      std::vector<Value> values;
      for (unsigned i = 0; i < op->num_operands(); ++i) {
        const Value value = op->operand(i);
        if (converter == nullptr) {
          values.push_back(casts_.Origin(value));
          continue;
        }
        const Value found = casts_.Find(value, types[i]);
        values.push_back(
            found ? found : casts_.Cast(value, types[i], TypeConverter::Need::kTarget, converter));
      }
      converted = conversion->Convert(op, ConvertedOperands(op, values), rewriter);
    }
    by_ = nullptr;
    if (!converted.ok()) return converted.status();
    if (*converted != changed_ || !mixed_.empty()) {
      const std::string message =
          fmt::format("pattern '{}' {}", pattern.name(),
                      !mixed_.empty() ? mixed_
                      : changed_      ? "has changed the program and returned false (expected true)"
                                      : "has returned true and told the rewriter of no change");
      EmitError(top_->context(), location, message).IgnoreError();
      return absl::FailedPreconditionError(message);
    }
    if (!changed_) return std::optional(rewriter.why());
    result_.changed = true;
    ++result_.rewrites;
    if (context_.rule_counts != nullptr) ++(*context_.rule_counts)[pattern.name()];
    if (context_.statistics != nullptr) context_.statistics->Add("rewrites");
    // The op itself, if it is still there, and what the pattern has made.
    if (root_ != nullptr) Push(root_, item.depth + 1, &pattern);
    TurnAround(first);
    return std::optional<std::string>();
  }

  // ---- IrListener

  void Created(Operation* op) override {
    changed_ = true;
    Push(op, by_ != nullptr ? depth_ : 1, by_);
  }
  void Erasing(Operation* op) override {
    changed_ = true;
    casts_.Erasing(op);
    if (op == root_) root_ = nullptr;
    const auto at = waiting_.find(op);
    if (at == waiting_.end()) return;
    items_[at->second].op = nullptr;
    waiting_.erase(at);
  }
  void Replaced(Value was, Value now) override {
    changed_ = true;
    if (was.type() == now.type() || !mixed_.empty()) return;
    mixed_ = fmt::format(
        "replaces a value of type {} by one of type {} (expected a "
        "ConversionPattern, whose rewriter makes casts)",
        was.type().text(), now.type().text());
  }
  void Modified(Operation* op) override {
    changed_ = true;
    // Its legality may be another one now. The root comes back in any case.
    if (op != root_ && op != top_ && !casts_.IsCast(op)) Push(op, depth_, by_);
  }
  void BlockCreated(Block* /*block*/) override { changed_ = true; }
  void BlockErasing(Block* /*block*/) override { changed_ = true; }

  Operation* top_;
  const ConversionTarget& target_;
  const PatternSet& patterns_;
  PassContext& context_;
  bool full_;
  ConversionCasts casts_;
  ConversionResult result_;
  std::vector<Item> items_;
  absl::flat_hash_map<Operation*, size_t> waiting_;  // in items_
  // Of the pattern that runs.
  const RewritePattern* by_ = nullptr;
  int depth_ = 0;
  Operation* root_ = nullptr;  // null once it is erased
  bool changed_ = false;
  std::string mixed_;  // what is wrong with its types
};

}  // namespace

absl::StatusOr<ConversionResult> ApplyPartialConversion(Operation* top,
                                                        const ConversionTarget& target,
                                                        const PatternSet& patterns,
                                                        PassContext& context) {
  return Driver(top, target, patterns, context, /*full=*/false).Run();
}

absl::StatusOr<ConversionResult> ApplyFullConversion(Operation* top, const ConversionTarget& target,
                                                     const PatternSet& patterns,
                                                     PassContext& context) {
  return Driver(top, target, patterns, context, /*full=*/true).Run();
}

}  // namespace tenon
