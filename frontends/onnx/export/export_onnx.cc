// export-onnx: writes every operation of a function as nodes of ONNX, which are opaque operations
// onnx.<OpType> here (graph_importer.h). WriteOnnx makes a model of them.
#include "frontends/onnx/export/export_onnx.h"

#include "fmt/format.h"
#include "frontends/onnx/export/lowering.h"
#include "frontends/onnx/export/strings/raise_strings.h"
#include "ir/base/check.h"
#include "ir/core/context/diagnostic.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/func_ops.h"

namespace tenon::onnx {
namespace {

// Writes an operation as simpler ones. False if it stays.
absl::StatusOr<bool> DecomposeOne(Operation& op, int64_t opset) {
  if (!op.info().is_registered()) return false;
  TENON_ASSIGN_OR_RETURN(const std::vector<Value> parts, Decompose(op, opset));
  if (parts.empty()) return false;
  for (unsigned i = 0; i < op.num_results(); ++i) {
    if (op.result(i).has_uses()) op.result(i).ReplaceAllUsesWith(parts[i]);
  }
  op.Erase();
  return true;
}

absl::Status DecomposeBlock(Block& block, int64_t opset) {
  for (Operation *op = block.front(), *next; op != nullptr; op = next) {
    Operation* const before = op->prev();
    TENON_ASSIGN_OR_RETURN(const bool done, DecomposeOne(*op, opset));
    if (done) {
      // What takes its place is visited next.
      next = before != nullptr ? before->next() : block.front();
      continue;
    }
    for (unsigned i = 0; i < op->num_regions(); ++i) {
      for (Block& inner : op->region(i)) TENON_RETURN_IF_ERROR(DecomposeBlock(inner, opset));
    }
    next = op->next();
  }
  return absl::OkStatus();
}

class Export {
 public:
  Export(int64_t opset, bool microsoft) : opset_(opset), microsoft_(microsoft) {}

  absl::Status LowerBlock(Block& block) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) dims_.AddSource(block.argument(i));
    for (Operation *op = block.front(), *next; op != nullptr; op = next) {
      if (IsDone(*op)) {
        for (unsigned i = 0; i < op->num_results(); ++i) dims_.AddSource(op->result(i));
        for (unsigned i = 0; i < op->num_regions(); ++i) {
          for (Block& inner : op->region(i)) TENON_RETURN_IF_ERROR(LowerBlock(inner));
        }
        next = op->next();
        continue;
      }
      // What takes the place of the operation is visited next.
      Operation* const before = op->prev();
      TENON_RETURN_IF_ERROR(LowerOne(*op));
      next = before != nullptr ? before->next() : block.front();
    }
    return absl::OkStatus();
  }

  // Combines nodes and erases what has become superfluous. Call it last.
  absl::Status Finish(Operation& function) {
    TENON_RETURN_IF_ERROR(CombineNodes(function, opset_, dims_));
    dims_.EraseUnused();
    return absl::OkStatus();
  }
  int64_t lowered() const { return lowered_; }

 private:
  static bool IsDone(const Operation& op) {
    return op.info().dialect() == "onnx" || op.id() == core::ConstantOp::kId ||
           op.id() == func::ReturnOp::kId;
  }

  absl::Status LowerOne(Operation& op) {
    ++lowered_;
    Lowering checked(op, opset_, dims_);
    if (!HasElementTypes(checked)) return checked.status();
    if (microsoft_) {
      Lowering lowering(op, opset_, dims_);
      if (LowerMicrosoft(lowering)) return lowering.status();
    }
    TENON_ASSIGN_OR_RETURN(const bool decomposed, DecomposeOne(op, opset_));
    if (decomposed) return absl::OkStatus();
    Lowering lowering(op, opset_, dims_);
    constexpr bool (*kParts[])(Lowering&) = {
        LowerElementwise, LowerMovement, LowerReduction, LowerLayer, LowerRecurrence,
        LowerSignal,      LowerRandom,   LowerStrings,   LowerTrees, LowerControl};
    for (const auto part : kParts) {
      if (part(lowering)) return lowering.status();
    }
    lowering.Fail("no node computes it");
    return lowering.status();
  }

  const int64_t opset_;
  const bool microsoft_;
  int64_t lowered_ = 0;
  DimValues dims_;
};

class ExportOnnx : public Pass {
 public:
  ExportOnnx(int64_t opset, bool microsoft) : opset_(opset), microsoft_(microsoft) {}

  absl::StatusOr<PassResult> Run(Operation* func, PassContext& context) override {
    func->context().AllowUnregisteredDialect("onnx");
    if (opset_ < kOldestOpset || opset_ > kNewestOpset) {
      return EmitError(
          func->context(), func->location(),
          fmt::format("opset {} is not one that export-onnx writes (expected {} to {})", opset_,
                      kOldestOpset, kNewestOpset));
    }
    if (func->region().empty()) return PassResult{};
    Export run(opset_, microsoft_);
    std::vector<Value> strings;  // arguments
    TENON_ASSIGN_OR_RETURN(const bool raised, RaiseStrings(*func, opset_, strings));
    TENON_RETURN_IF_ERROR(run.LowerBlock(func->region().front()));
    TENON_RETURN_IF_ERROR(run.Finish(*func));
    TENON_RETURN_IF_ERROR(TypeStrings(*func, strings));
    if (run.lowered() > 0) context.statistics->Add("operations", run.lowered());
    return PassResult{raised || run.lowered() > 0};
  }

 private:
  const int64_t opset_;
  const bool microsoft_;
};

}  // namespace

absl::Status DecomposeAll(Operation& function, int64_t opset) {
  for (Block& block : function.region()) TENON_RETURN_IF_ERROR(DecomposeBlock(block, opset));
  return absl::OkStatus();
}

absl::Status RegisterExportPass(PassRegistry& registry) {
  PassInfo info;
  info.name = "export-onnx";
  info.summary = "Writes every operation as nodes of ONNX";
  info.anchor = "func.func";
  info.steps = PassSteps::kNone;
  info.statistics = {{"operations", "operations written as nodes"}};
  info.options = {
      {"opset", PassOption::Type::kCount, "18", "version of ONNX's operators, 13 to 28"},
      {"ops",
       PassOption::Type::kString,
       "standard",
       "operators to use: ONNX's own, or those of ONNX Runtime too",
       {"standard", "ort"}}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<ExportOnnx>(values.GetInt("opset"), values.GetString("ops") == "ort");
  };
  return registry.Register(std::move(info));
}

}  // namespace tenon::onnx
