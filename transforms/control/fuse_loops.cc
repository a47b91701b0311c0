// fuse-loops: makes one ctl.for of two that count alike, where the second one reads nothing of the
// first. The iterations of both then take turns, so at most one of them may have effects.
#include <algorithm>
#include <array>
#include <memory>
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

bool MayFuse(Operation& loop) {
  if (loop.discardable_attrs() || loop.region().empty()) return false;
  // Names of extents that a body defines might mean two things in one body.
  return loop.WalkPreOrder([](Operation* op) { return !DefinesDims(*op); });
}

// Finds what a loop reads from behind an earlier one.
class Needs {
 public:
  // `first` comes before `second` in one block.
  Needs(Operation* first, Operation* second) : first_(first) {
    for (unsigned i = 3; i < second->num_operands(); ++i) Add(second->operand(i));
    for (const Value value : CapturedValues(*second)) Add(value);
    while (possible_ && next_ < ops_.size()) {
      const Operation* op = ops_[next_++];
      for (const OpOperand& operand : op->operands()) Add(operand.get());
    }
  }
  // False if an op in between reads the first loop, or cannot move in front of it.
  bool possible() const { return possible_; }
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
      possible_ = false;
    } else if (known_.insert(op).second) {
      ops_.push_back(op);
    }
  }

  Operation* first_;
  std::vector<Operation*> ops_;
  absl::flat_hash_set<const Operation*> known_;
  size_t next_ = 0;
  bool possible_ = true;
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
    for (Operation *op = block.front(), *next; op != nullptr; op = next) {
      next = op->next();
      // Attributes behind it may name the extents that it defines.
      if (DefinesDims(*op)) loops.clear();
      const bool pure = EffectsOf(*op).pure();
      if (Isa<ctl::ForOp>(op) && MayFuse(*op)) {
        Operation*& first = loops[BoundsOf(*op)];
        // A loop with effects must not come before effects of others, nor mix with them.
        const bool in_order = pure || last_effect == nullptr || first == nullptr ||
                              (last_effect != first && last_effect->IsBeforeInBlock(first));
        if (first != nullptr && in_order &&
            first->num_results() + op->num_results() <= kMostResults) {
          Needs needs(first, op);
          if (needs.possible()) {
            needs.MoveBefore(first);
            const bool had_effect = last_effect == first;
            TENON_ASSIGN_OR_RETURN(first, FuseTwo(first, op));
            if (!pure || had_effect) last_effect = first;
            ++fused_;
            continue;
          }
        }
        first = op;
      }
      if (!pure) last_effect = op;
    }
    return absl::OkStatus();
  }

  int64_t fused_ = 0;
};

}  // namespace

PassInfo FuseLoopsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.on_any_op = true;
  info.create = [](const PassOptionValues&) { return std::make_unique<FuseLoops>(); };
  return info;
}

}  // namespace tenon
