#include "frontends/c/visit.h"

#include "frontends/c/convert.h"
#include "frontends/c/errors.h"
#include "ir/core/text/printer.h"
#include "ir/core/verify/verifier.h"
#include "ir/core/walk.h"
#include "ir/serialize/binary_module.h"

namespace c = tenon::c;

namespace {

template <typename Callback>
absl::Status CheckCall(TenonOperation op, Callback callback, std::string_view what) {
  TENON_RETURN_IF_ERROR(c::NotNull(op.ptr, "op"));
  return c::NotNull(callback, what);
}

tenon::WalkResult NextStep(TenonWalk answer) {
  if (answer == TENON_WALK_STOP) return tenon::WalkResult::kInterrupt;
  return answer == TENON_WALK_SKIP ? tenon::WalkResult::kSkip : tenon::WalkResult::kAdvance;
}

}  // namespace

TenonStatus* tenonOperationWalk(TenonOperation op, TenonWalkFn visit, void* state) {
  return c::Answer("walking", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckCall(op, visit, "visit"));
    tenon::WalkOps(c::FromC(op),
                   [&](tenon::Operation* inner) { return NextStep(visit(c::ToC(inner), state)); });
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationWalkInsideFirst(TenonOperation op, TenonWalkFn visit, void* state) {
  return c::Answer("walking", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckCall(op, visit, "visit"));
    tenon::WalkOpsInside(c::FromC(op), [&](tenon::Operation* inner) {
      return NextStep(visit(c::ToC(inner), state));
    });
    return absl::OkStatus();
  });
}

TenonStatus* tenonOperationPrint(TenonOperation op, const TenonPrintOptions* options,
                                 TenonTextFn sink, void* state) {
  return c::Answer("printing", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckCall(op, sink, "sink"));
    TenonPrintOptions given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(options, "options", given));
    tenon::PrintOptions print;
    print.generic = given.generic;
    print.locations = given.locations;
    print.elide_resources = given.elide_resources;
    return tenon::Print(*c::FromC(op), print,
                        [&](std::string_view piece) { return c::Tell(sink, state, piece); });
  });
}

TenonStatus* tenonOperationWriteBinary(TenonOperation op, TenonTextFn sink, void* state) {
  if (op.ptr == nullptr) return c::ToC(c::NotNull(op.ptr, "op"));
  return c::AnswerIn(c::FromC(op)->context(), "writing", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckCall(op, sink, "sink"));
    if (c::FromC(op)->name() != "builtin.module")
      return c::Wrong("'{}' is no module (expected builtin.module)", c::FromC(op)->name());
    return tenon::WriteBinaryModule(
        *c::FromC(op), [&](std::string_view piece) { return c::Tell(sink, state, piece); });
  });
}

TenonStatus* tenonOperationVerify(TenonOperation op) {
  if (op.ptr == nullptr) return c::ToC(c::NotNull(op.ptr, "op"));
  return c::AnswerIn(c::FromC(op)->context(), "verifying",
                     [&] { return tenon::Verify(c::FromC(op)); });
}
