// fuse-loops: makes one ctl.for of two that count alike, where the second one reads nothing of the
// first. The iterations of both then take turns, so at most one of them may have effects.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/defined_dims.h"
#include "ir/core/rewrite/edit.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "pass/reports/pass_log.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// Results of a fused loop. Each fusion copies them all, so a bound keeps many fusions linear.
constexpr unsigned kMostResults = 64;

// The bounds and the step: a constant by its contents, another value by itself.
using Bounds = std::array<const void*, 3>;

Bounds BoundsOf(const Operation& loop) {
  Bounds bounds;
  for (unsigned i = 0; i < 3; ++i) {
    const auto constant = DefinedBy<core::ConstantOp>(loop.operand(i));
    bounds[i] = constant ? static_cast<const void*>(constant.value().storage())
                         : static_cast<const void*>(loop.operand(i).impl());
  }
  return bounds;
}

// Why the loop joins no other one; empty if it may. `at` is then what is in the way.
std::string_view WhyAlone(Operation& loop, Operation*& at) {
  at = &loop;
  if (loop.discardable_attrs()) return "a loop with further attributes stays as it is";
  if (loop.region().empty()) return "it has no body";
  // Names of extents that a body defines might mean two things in one body.
  const bool none = loop.WalkPreOrder([&](Operation* op) {
    if (DefinesDims(*op)) at = op;
    return at == &loop;
  });
  return none ? "" : "the body defines the name of an extent";
}

// Finds what a loop reads from behind an earlier one.
class Needs {
 public:
  // `first` comes before `second` in one block.
  Needs(Operation* first, Operation* second) : first_(first) {
    for (unsigned i = 3; i < second->num_operands(); ++i) Add(second->operand(i));
    for (const Value value : CapturedValues(*second)) Add(value);
    while (obstacle_ == nullptr && next_ < ops_.size()) {
      const Operation* op = ops_[next_++];
      for (const OpOperand& operand : op->operands()) Add(operand.get());
    }
  }
  // The op that reads the first loop, or cannot move in front of it; null if there is none.
  Operation* obstacle() const { return obstacle_; }
  void MoveBefore(Operation* place) {
    std::sort(ops_.begin(), ops_.end(),
              [](const Operation* a, const Operation* b) { return a->IsBeforeInBlock(b); });
    for (Operation* op : ops_) op->MoveBefore(place);
  }

 private:
  void Add(Value value) {
    Operation* op = value.defining_op();
    if (op == nullptr || op->block() != first_->block() || op->IsBeforeInBlock(first_)) return;
    if (op == first_ || op->num_regions() > 0 || !op->info().is_registered() ||
        !EffectsOf(*op).pure()) {
      obstacle_ = op;
    } else if (known_.insert(op).second) {
      ops_.push_back(op);
    }
  }

  Operation* first_;
  std::vector<Operation*> ops_;
  absl::flat_hash_set<const Operation*> known_;
  size_t next_ = 0;
  Operation* obstacle_ = nullptr;
};

// Moves the body of `loop` to the end of `body`, without its terminator. Its carried values are the
// arguments from `carried` on.
void TakeBody(Operation* loop, Block* body, unsigned carried) {
  Block& from = loop->region().front();
  std::vector<Value> arguments = {body->argument(0)};
  for (unsigned i = 1; i < from.num_arguments(); ++i)
    arguments.push_back(body->argument(carried + i - 1));
  for (unsigned i = 0; i < from.num_arguments(); ++i)
    from.argument(i).ReplaceAllUsesWith(arguments[i]);
  SpliceOps(from.front(), from.back(), body, nullptr);
}

absl::StatusOr<Operation*> FuseTwo(Operation* first, Operation* second) {
  Operation* const loops[] = {first, second};
  std::vector<Value> inits, yielded, replaced;
  std::vector<Type> types;
  std::vector<int64_t> axes, reverse;
  for (Operation* loop : loops) {
    const LoopParts parts = PartsOfLoop(*loop);
    for (unsigned i = 0; i < parts.num_carried; ++i) {
      inits.push_back(loop->operand(parts.first_init + i));
      types.push_back(loop->result(i).type());
      replaced.push_back(loop->result(i));
      yielded.push_back(loop->region().front().back()->operand(i));
    }
  }
  const size_t carried = inits.size();
  for (Operation* loop : loops) {
    const LoopParts parts = PartsOfLoop(*loop);
    for (unsigned i = 0; i < parts.scans.size(); ++i) {
      types.push_back(loop->result(parts.num_carried + i).type());
      replaced.push_back(loop->result(parts.num_carried + i));
      yielded.push_back(loop->region().front().back()->operand(parts.num_carried + i));
      axes.push_back(parts.scans[i].axis);
      reverse.push_back(parts.scans[i].reverse ? 1 : 0);
    }
  }
  ctl::ForOp::Attrs attrs;
  if (!axes.empty()) attrs.scan_axes = axes;
  if (std::find(reverse.begin(), reverse.end(), 1) != reverse.end()) attrs.scan_reverse = reverse;
  Context& context = first->context();
  OpBuilder builder = OpBuilder::Before(first);
  const Location locations[] = {first->location(), second->location()};
  TENON_ASSIGN_OR_RETURN(
      const ctl::ForOp fused,
      ctl::ForOp::Create(builder, Location::Fused(context, locations), first->operand(0),
                         first->operand(1), first->operand(2), inits, types, attrs));
  Block* body = fused.body().AddBlock();
  unsigned begin = 1;  // of the carried values of a loop
  for (Operation* loop : loops) {
    Block& from = loop->region().front();
    for (unsigned i = loop == first ? 0 : 1; i < from.num_arguments(); ++i) {
      Value argument = body->AddArgument(from.argument(i).type(), from.argument(i).location());
      if (from.argument(i).has_name()) argument.set_name(from.argument(i).name());
    }
  }
  // What an argument yields is a value of the new body.
  const auto moved = [&](Value value) {
    if (!value.is_block_argument()) return value;
    unsigned at = 1;
    for (Operation* loop : loops) {
      Block* from = &loop->region().front();
      if (value.argument_owner() == from)
        return body->argument(value.argument_index() == 0 ? 0 : at + value.argument_index() - 1);
      at += from->num_arguments() - 1;
    }
    return value;
  };
  for (Value& value : yielded) value = moved(value);
  for (Operation* loop : loops) {
    const unsigned count = loop->region().front().num_arguments() - 1;
    TakeBody(loop, body, begin);
    begin += count;
  }
  TENON_CHECK(begin == carried + 1);
  OpBuilder inside = OpBuilder::AtEnd(context, body);
  TENON_RETURN_IF_ERROR(
      ctl::YieldOp::Create(inside, second->region().front().back()->location(), yielded).status());
  for (unsigned i = 0; i < replaced.size(); ++i)
    replaced[i].ReplaceAllUsesWith(fused.op()->result(i));
  first->Erase();
  second->Erase();
  return fused.op();
}

class FuseLoops : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext& context) override {
    fused_ = 0;
    PassLog log(context, "fuse-loops", op);
    log_ = &log;
    TENON_RETURN_IF_ERROR(FuseInside(*op));
    if (fused_ > 0) context.statistics->Add("loops-fused", fused_);
    return PassResult{fused_ > 0};
  }

 private:
  // Outer loops first: what they hold then comes to lie in one block.
  absl::Status FuseInside(Operation& op) {
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      for (Block& block : op.region(r)) {
        TENON_RETURN_IF_ERROR(FuseIn(block));
        for (Operation& inner : block) TENON_RETURN_IF_ERROR(FuseInside(inner));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FuseIn(Block& block) {
    absl::flat_hash_map<Bounds, Operation*> loops;  // the last one that counts so
    const Operation* last_effect = nullptr;         // the last op so far that is not pure
    Operation* before = nullptr;                    // the last loop, for messages
    for (Operation *op = block.front(), *next; op != nullptr; op = next) {
      next = op->next();
      // Attributes behind it may name the extents that it defines.
      if (DefinesDims(*op)) loops.clear();
      const bool pure = EffectsOf(*op).pure();
      if (Isa<ctl::ForOp>(op)) {
        Operation* at = op;
        std::string_view why = WhyAlone(*op, at);
        if (why.empty()) {
          Operation*& first = loops[BoundsOf(*op)];
          const bool had_effect = first != nullptr && last_effect == first;
          why = WhyApart(first, op, pure, last_effect, at);
          if (why.empty()) {
            Operation* const both[] = {first, op};
            if (log_->wanted()) log_->Hit(both, first);
            TENON_ASSIGN_OR_RETURN(first, FuseTwo(first, op));
            if (!pure || had_effect) last_effect = first;
            ++fused_;
            before = first;
            continue;
          }
          if (first != nullptr) before = first;
          first = op;
        }
        if (before != nullptr && log_->wanted()) {
          Operation* const both[] = {before, op};
          log_->Miss(both, at, std::string(why));
        }
        before = op;
      }
      if (!pure) last_effect = op;
    }
    return absl::OkStatus();
  }

  // Moves what `op` needs in front of the loop `first`, which may be null, so that both can be one.
  // Else says why they cannot; `at` is then what is in the way.
  static std::string_view WhyApart(Operation* first, Operation* op, bool pure,
                                   const Operation* last_effect, Operation*& at) {
    if (first == nullptr) return "no loop before it that may move has the same bounds and step";
    // A loop with effects must not come before effects of others, nor mix with them.
    if (!pure && last_effect != nullptr &&
        (last_effect == first || !last_effect->IsBeforeInBlock(first))) {
      at = const_cast<Operation*>(last_effect);
      return "it has effects, and the second loop has, too";
    }
    if (first->num_results() + op->num_results() > kMostResults)
      return "one loop would have more than 64 results";
    Needs needs(first, op);
    if (needs.obstacle() != nullptr) {
      at = needs.obstacle();
      return at == first ? "the second loop reads its results"
                         : "the second loop reads it, and it cannot move in front of the first";
    }
    needs.MoveBefore(first);
    return "";
  }

  int64_t fused_ = 0;
  PassLog* log_ = nullptr;  // of the run
};

}  // namespace

PassInfo FuseLoopsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.on_any_op = true;
  info.explains = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<FuseLoops>(); };
  return info;
}

}  // namespace tenon
