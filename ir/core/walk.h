// Walks over operations that can skip regions and stop, and that visit one class of ops.
#ifndef TENON_IR_CORE_WALK_H_
#define TENON_IR_CORE_WALK_H_

#include <type_traits>

#include "absl/functional/function_ref.h"
#include "ir/core/operation.h"

namespace tenon {

// What a walk does after an op.
enum class WalkResult : uint8_t {
  kAdvance,    // goes on
  kSkip,       // goes on behind the op, without its regions
  kInterrupt,  // stops
};

// Calls `f` for `top` and each op in its regions, however deep: outer ops first, then those inside
// in order. Returns false if `f` has stopped the walk.
//
// `f` may erase or move the op that it gets if it then returns kSkip, and may insert ops before it.
// It must not erase the op after it.
bool WalkOps(Operation* top, absl::FunctionRef<WalkResult(Operation*)> f);
// The same with the ops inside first: `f` may erase the op that it gets. kSkip is kAdvance here.
bool WalkOpsInside(Operation* top, absl::FunctionRef<WalkResult(Operation*)> f);

// WalkOps over the ops of the generated class `Op`:
//   WalkOps<ten::ReluOp>(function, [](ten::ReluOp relu) { … });
// `f` returns a WalkResult, or nothing to visit all.
template <typename Op, typename F>
bool WalkOps(Operation* top, F&& f) {
  return WalkOps(top, [&](Operation* op) {
    if (!Isa<Op>(op)) return WalkResult::kAdvance;
    if constexpr (std::is_void_v<std::invoke_result_t<F, Op>>) {
      f(Op(op));
      return WalkResult::kAdvance;
    } else {
      return f(Op(op));
    }
  });
}

}  // namespace tenon

#endif  // TENON_IR_CORE_WALK_H_
