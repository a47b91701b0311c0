// Patterns in C++: docs/guide/write-a-pattern-in-cpp.md explains this file. It links tenon::drr.
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tenon/drr/rewrite/driver.h"
#include "tenon/ir/base/check.h"
#include "tenon/ir/core/block.h"
#include "tenon/ir/core/context/context.h"
#include "tenon/ir/core/context/diagnostic.h"
#include "tenon/ir/core/ranges.h"
#include "tenon/ir/core/text/parser.h"
#include "tenon/ir/core/text/printer.h"
#include "tenon/ir/core/verify/verifier.h"
#include "tenon/ir/core/walk.h"
#include "tenon/ir/dialect/dialects.h"
#include "tenon/ir/dialect/ten_ops.h"
#include "tenon/pass/rewrite_pattern.h"

namespace {

using namespace tenon;  // NOLINT(google-build-using-namespace): this file speaks of nothing else

// concat(concat(a, b), c) = concat(a, b, c), for any number of operands.
class JoinConcats : public OpRewritePattern<ten::ConcatOp> {
 public:
  JoinConcats() : OpRewritePattern("acme-join-concats") {}

  absl::StatusOr<bool> RewriteOp(ten::ConcatOp concat, Rewriter& rewriter) const override {
    std::vector<Value> inputs;
    bool joined = false;
    for (const Value input : concat.inputs()) {
      const auto inner = DefinedBy<ten::ConcatOp>(input);
      if (inner && inner.axis() == concat.axis() && input.has_one_use()) {
        for (const Value part : inner.inputs()) inputs.push_back(part);
        joined = true;
      } else {
        inputs.push_back(input);
      }
    }
    if (!joined) return false;  // look first, change afterwards
    const ten::ConcatOp::Attrs attrs = {.axis = concat.axis()};
    const auto made = rewriter.ReplaceWith<ten::ConcatOp>(concat.op(), inputs, attrs);
    if (!made.ok()) return made.status();
    return true;
  }
};

// A value that several operations negate is negated once, by the first of them.
absl::StatusOr<bool> ShareNegations(Operation* op, Rewriter& rewriter) {
  for (Operation* user : UsersOf(op->operand(0))) {
    if (user == op || !Isa<ten::NegOp>(user) || user->block() != op->block()) continue;
    if (!user->IsBeforeInBlock(op)) continue;
    rewriter.Replace(op, user->result());
    return true;
  }
  return false;
}

constexpr char kProgram[] = R"(
func.func() <{function_type = (tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>, %y: tensor<2xf32>):
  %0 = ten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %1 = ten.neg(%x) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = ten.concat(%0, %y) <{axis = 0 : i64}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
  %3 = ten.concat(%2, %1, %x) <{axis = 0 : i64}> : (tensor<4xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<8xf32>
  func.return(%3) : (tensor<8xf32>) -> ()
}) : () -> ()
)";

// Prints what a rewriter does.
class Watcher : public IrListener {
 public:
  void Created(Operation* op) override { Say("created", op); }
  void Erasing(Operation* op) override { Say("erasing", op); }
  void Modified(Operation* op) override { Say("modified", op); }

 private:
  static void Say(const char* what, const Operation* op) {
    std::printf("%s %s\n", what, std::string(op->name()).c_str());
  }
};

absl::Status Run() {
  Context context;
  RegisterAllDialects(context);
  context.diagnostics().SetHandler([&](const Diagnostic& diagnostic) {
    std::printf("diagnostic: %s\n", FormatDiagnostic(context, diagnostic).c_str());
  });
  TENON_ASSIGN_OR_RETURN(const OwnedOp module, ParseModule(context, kProgram));

  PatternSet patterns;
  patterns.Add<JoinConcats>();
  patterns.Add("acme-share-negations", "ten.neg", ShareNegations, /*benefit=*/2);
  std::map<std::string, int64_t, std::less<>> counts;
  PassContext services;
  services.rule_counts = &counts;
  TENON_ASSIGN_OR_RETURN(const drr::DriverResult result,
                         drr::ApplyPatterns(patterns, module.get(), services));
  TENON_RETURN_IF_ERROR(Verify(module.get()));
  for (const auto& [name, count] : counts)
    std::printf("%s: %d\n", name.c_str(), static_cast<int>(count));
  std::printf("rewrites %d\n%s", static_cast<int>(result.rewrites), Print(*module).c_str());

  // A rewriter by itself, with a listener.
  Watcher watcher;
  Rewriter rewriter(context, &watcher);
  WalkOps<ten::ConcatOp>(module.get(), [&](ten::ConcatOp concat) {
    rewriter.SetAttr(concat.op(), "acme.seen", Attribute::Unit(context));
    return WalkResult::kInterrupt;
  });

  // A pattern whose answer does not fit what it did.
  PatternSet wrong;
  wrong.Add("acme-wrong", "ten.concat",
            [](Operation*, Rewriter&) -> absl::StatusOr<bool> { return true; });
  const absl::Status status = drr::ApplyPatterns(wrong, module.get(), services).status();
  std::printf("status: %s\n", std::string(status.message()).c_str());
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
