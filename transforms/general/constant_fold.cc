// constant-fold: evaluates pure operations on constants with the reference kernels, within a size
// budget. The evaluator has a budget of steps, and leaves a remark where it is exceeded.
#include <algorithm>
#include <memory>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/constants/constant.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/ten_ops.h"
#include "ir/dialect/verify/verify_functions.h"
#include "pass/rewrite_step.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// Results up to this size are always made.
constexpr int64_t kAlwaysBytes = 1024;
// A value on the way to smaller ones may have this many, or the budget …
constexpr int64_t kPassingBytes = 16 << 20;
// … and this many operations away from them.
constexpr int kPassingSteps = 8;

bool CanBeEvaluated(const Operation& op) {
  return op.info().is_registered() && !op.Has(Trait::kConstantLike) && op.num_regions() == 0 &&
         op.num_results() > 0 && EffectsOf(op).pure();
}

// Bytes of a static tensor type; -1 for all others, and where they cannot be counted.
int64_t BytesOf(Type type) {
  if (!type.is_tensor() || !type.is_static() || type.num_elements() < 0) return -1;
  int64_t bytes = 0;
  const auto size = static_cast<int64_t>(SizeOf(type.dtype()));
  return __builtin_mul_overflow(type.num_elements(), size, &bytes) ? -1 : bytes;
}

// Weights of bytes on the way to numbers: those that have more than one axis, as scales and zero
// points do not.
bool IsFloatOfBytes(const Operation& op) {
  if (op.id() != ten::CastOp::kId) return false;
  const Type from = op.operand(0).type(), to = op.result(0).type();
  if (!from.is_tensor() || !IsFloat(to.dtype())) return false;
  return (from.dtype() == DType::kI8 || from.dtype() == DType::kU8) &&
         std::ranges::count_if(from.dims(), [](DimExpr d) { return !d.is_constant(1); }) > 1;
}

class ConstantFold : public Pass {
 public:
  ConstantFold(int64_t max_bytes, bool keep_bytes)
      : max_bytes_(max_bytes), keep_bytes_(keep_bytes) {}

  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    // Operands before users: only the visited op and its dead operands are erased.
    std::vector<Operation*> ops;
    for (unsigned r = 0; r < function->num_regions(); ++r) AddOps(function->region(r), ops);
    bool changed = false;
    for (Operation* op : ops) {
      TENON_ASSIGN_OR_RETURN(const bool folded, Visit(op, context));
      changed |= folded;
    }
    return PassResult{changed};
  }

 private:
  static void AddOps(Region& region, std::vector<Operation*>& ops) {
    for (Block* block : BlocksInDominanceOrder(region)) {
      for (Operation& op : *block) {
        ops.push_back(&op);
        for (unsigned r = 0; r < op.num_regions(); ++r) AddOps(op.region(r), ops);
      }
    }
  }

  absl::StatusOr<bool> Visit(Operation* op, PassContext& context) const {
    if (!CanBeEvaluated(*op) || !op->has_uses()) return false;
    if (keep_bytes_ && IsFloatOfBytes(*op)) return false;
    absl::InlinedVector<Attribute, 6> constants;
    bool all = true;
    for (OpOperand& operand : op->operands()) {
      constants.push_back(ConstantElementsOf(operand.get()));
      all &= static_cast<bool>(constants.back());
    }
    if (TryFold(op, context)) {
      context.statistics->Add("simplified");
      return true;
    }
    if (!all || context.evaluator == nullptr) return false;
    const int64_t out_bytes = ResultBytes(*op);
    if (out_bytes < 0) return false;
    if (out_bytes > std::max({kAlwaysBytes, max_bytes_, FreedBytes(*op)}) &&
        !OnlyPasses(*op, kPassingSteps)) {
      context.statistics->Add("skipped-too-large");
      return false;
    }
    const absl::StatusOr<std::vector<Attribute>> values =
        context.evaluator->Evaluate(*op, constants);
    if (!values.ok()) {
      const absl::StatusCode code = values.status().code();
      context.statistics->Add(code == absl::StatusCode::kUnimplemented       ? "skipped-no-kernel"
                              : code == absl::StatusCode::kResourceExhausted ? "skipped-too-long"
                                                                             : "skipped-refused");
      return false;
    }
    if (values->size() != op->num_results())
      return absl::InternalError("evaluator gave a wrong number of results");
    FoldResults results;
    for (Attribute value : *values) results.push_back({Value(), value});
    if (!Commit(op, results, context)) return false;
    context.statistics->Add("folded");
    context.statistics->Add("folded-bytes", out_bytes);
    return true;
  }

  // The op's own folds: those need no evaluation.
  static bool TryFold(Operation* op, PassContext& context) {
    FoldResults results;
    if (!Fold(*op, results)) return false;
    for (unsigned i = 0; i < op->num_results(); ++i) {
      const Attribute value = results[i].attribute;
      if (value && value.kind() == Attribute::Kind::kElements &&
          !CompatibleTypes(value.type(), op->result(i).type()))
        return false;
    }
    return Commit(op, results, context);
  }

  static int64_t ResultBytes(const Operation& op) {
    int64_t sum = 0;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const int64_t bytes = BytesOf(op.result(i).type());
      if (bytes < 0 || __builtin_add_overflow(sum, bytes, &sum)) return -1;
    }
    return sum;
  }

  // Whether all that is computed from `op` needs nothing but constants, and ends, within `steps`,
  // in values that the budget allows: a small network over constants, which is wide in the middle.
  bool OnlyPasses(const Operation& op, int steps) const {
    if (steps == 0 || ResultBytes(op) > std::max(kPassingBytes, max_bytes_)) return false;
    for (unsigned i = 0; i < op.num_results(); ++i) {
      for (const OpOperand& use : op.result(i).uses()) {
        const Operation& user = *use.owner();
        if (!CanBeEvaluated(user) || user.block() != op.block()) return false;
        for (unsigned k = 0; k < user.num_operands(); ++k) {
          const Operation* definition = user.operand(k).defining_op();
          if (definition != &op && !ConstantElementsOf(definition)) return false;
        }
        const int64_t bytes = ResultBytes(user);
        if (bytes < 0 || (bytes > max_bytes_ && !OnlyPasses(user, steps - 1))) return false;
      }
    }
    return true;
  }

  // Bytes of constants that only `op` uses, as they are stored.
  static int64_t FreedBytes(const Operation& op) {
    int64_t bytes = 0;
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      const Attribute constant = ConstantElementsOf(op.operand(i));
      if (constant && op.operand(i).has_one_use())
        bytes += static_cast<int64_t>(StoredBytes(constant));
    }
    return bytes;
  }

  // Puts results in the op's place, and erases it with the constants that only it used.
  static bool Commit(Operation* op, const FoldResults& results, PassContext& context) {
    if (!BeginStep(context, {.kind = RewriteStep::Kind::kFold, .name = "fold", .op = op}))
      return false;
    const bool done = Replace(op, results, context.observer);
    EndStep(context);
    return done;
  }

  static bool Replace(Operation* op, const FoldResults& results, RewriteObserver* observer) {
    OpBuilder builder = OpBuilder::Before(op);
    const absl::InlinedVector<Value, 2> values = MakeFolded(builder, *op, results);
    if (values.empty()) return false;
    for (unsigned i = 0; i < results.size(); ++i) {
      if (observer != nullptr && !results[i].value) observer->Created(values[i].defining_op());
    }
    for (unsigned i = 0; i < values.size(); ++i) {
      if (observer != nullptr) observer->Replaced(op->result(i), values[i]);
      op->result(i).ReplaceAllUsesWith(values[i]);
    }
    absl::InlinedVector<Operation*, 4> operands;
    for (OpOperand& operand : op->operands()) {
      Operation* definition = operand.get().defining_op();
      if (definition != nullptr && definition->Has(Trait::kConstantLike) &&
          std::find(operands.begin(), operands.end(), definition) == operands.end()) {
        operands.push_back(definition);
      }
    }
    if (observer != nullptr) observer->Erasing(op);
    op->Erase();
    for (Operation* definition : operands) {
      if (!definition->has_uses()) definition->Erase();
    }
    return true;
  }

  int64_t max_bytes_;
  bool keep_bytes_;
};

}  // namespace

PassInfo ConstantFoldPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {
      {"folded", "operations that were computed"},
      {"folded-bytes", "bytes of their results"},
      {"simplified", "operations replaced by an operand or a constant, without computing"},
      {"skipped-no-kernel", "operations on constants without a reference kernel"},
      {"skipped-refused", "operations on constants that a kernel refused"},
      {"skipped-too-large", "operations on constants with results over max-bytes"},
      {"skipped-too-long", "operations on constants beyond the budget of steps"}};
  info.steps = PassSteps::kEach;
  info.options = {
      {"max-bytes", PassOption::Type::kCount, "65536",
       "largest result to make, unless it takes no more room than the constants it frees or only "
       "leads to smaller ones"},
      {"keep-bytes", PassOption::Type::kBool, "false",
       "leave matrices and filters of bytes as they are, for rules that compute with bytes"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<ConstantFold>(values.GetInt("max-bytes"), values.GetBool("keep-bytes"));
  };
  return info;
}

}  // namespace tenon
