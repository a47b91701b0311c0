// Pass lower-to-kernels: every operation of a function becomes a kernel.call, a kernel.view or
// kernel.dims.
#include "executor/executor_passes.h"
#include "executor/gpu/placement.h"
#include "executor/lowering/close_blocks.h"
#include "executor/lowering/fallbacks.h"
#include "executor/lowering/lowered_op.h"
#include "executor/memory/buffers.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/context/context.h"
#include "ir/core/verify/symbol_table.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/kernel_ops.h"
#include "ir/dialect/replaceable.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

std::vector<Value> OperandsOf(const Operation& op) {
  std::vector<Value> values;
  for (unsigned i = 0; i < op.num_operands(); ++i) values.push_back(op.operand(i));
  return values;
}

std::vector<Type> ResultTypesOf(const Operation& op) {
  std::vector<Type> types;
  for (unsigned i = 0; i < op.num_results(); ++i) types.push_back(op.result(i).type());
  return types;
}

std::string Signature(const Operation& op) {
  std::string text = std::string(op.name()) + "(";
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    text += (i == 0 ? "" : ", ") + op.operand(i).type().text();
  }
  return text + ")";
}

void ReplaceWith(Operation* op, Operation* lowered) {
  std::vector<Value> values;
  for (unsigned i = 0; i < lowered->num_results(); ++i) values.push_back(lowered->result(i));
  op->ReplaceAllUsesWith(values);
  op->Erase();
}

// Does an operand have no tensor type because the operation that makes it is not known?
bool ReadsUnknown(const Operation& op) {
  for (unsigned i = 0; i < op.num_operands(); ++i) {
    const Operation* producer = op.operand(i).defining_op();
    if (!op.operand(i).type().is_tensor() && producer != nullptr &&
        !producer->info().is_registered()) {
      return true;
    }
  }
  return false;
}

class LowerToKernels : public Pass {
 public:
  LowerToKernels(std::shared_ptr<const kernels::KernelRegistry> registry, bool reference, bool gpu)
      : registry_(std::move(registry)), reference_(reference), gpu_(gpu) {}

  absl::StatusOr<PassResult> Run(Operation* func, PassContext&) override {
    PassResult result;
    if (func->region().empty()) return result;
    Block& block = func->region().front();
    // Blocks that jumps lead to, and called functions, run on the host as regions do.
    const bool on_device = gpu_ && block.next() == nullptr && !IsCalled(*func);
    top_ = on_device ? &block : nullptr;
    if (on_device) host_ops_ = ChooseHostOps(block);
    // All that is unsupported is reported, each kind of operation once; the first is the result.
    absl::Status first;
    std::vector<std::string> reported;
    for (Block& each : func->region()) LowerBlock(each, reported, first, result.changed);
    if (!first.ok()) return first;
    if (block.next() != nullptr) result.changed |= CloseBlocks(*func);
    return result;
  }

 private:
  void LowerBlock(Block& block, std::vector<std::string>& reported, absl::Status& first,
                  bool& changed) {
    for (Operation *op = block.front(), *next; op != nullptr; op = next) {
      next = op->next();
      if (IsStructuredControl(*op)) {
        // The op stays; values go in and out of its regions as they are.
        if (gpu_) op->SetAttr(kFallback, Attribute::Str(op->context(), kRegionFallback));
        for (unsigned r = 0; r < op->num_regions(); ++r) {
          if (op->region(r).empty()) continue;
          Block& inner = op->region(r).front();
          if (gpu_) host_ops_.merge(ChooseHostOps(inner));
          LowerBlock(inner, reported, first, changed);
        }
        continue;
      }
      const absl::StatusOr<bool> lowered =
          IsCall(*op) ? CheckCall(op, reported) : Lower(op, reported);
      if (lowered.ok()) {
        changed |= *lowered;
      } else if (first.ok()) {
        first = lowered.status();
      }
    }
  }

  absl::StatusOr<bool> Lower(Operation* op, std::vector<std::string>& reported) {
    if (op->Has(Trait::kTerminator) && op->num_successors() == 0) return false;
    if (IsJump(*op)) return false;
    if (op->info().dialect() == "kernel" || Isa<core::ConstantOp>(op)) return false;
    if (auto dims = DynCast<core::DimsOp>(op)) {
      kernel::DimsOp::Attrs attrs{.dims = {dims.dims().begin(), dims.dims().end()},
                                  .scalar = dims.scalar()};
      return LowerToDims(op, attrs);
    }
    if (auto shape = DynCast<ten::ShapeOp>(op); shape && op->operand(0).type().is_tensor()) {
      const Type type = op->operand(0).type();
      kernel::DimsOp::Attrs attrs;
      bool known = true;
      for (int64_t i = std::max<int64_t>(shape.start(), 0); i < std::min(shape.end(), type.rank());
           ++i) {
        attrs.dims.push_back(type.dim(i));
        known &= !type.dim(i).is_unknown();
      }
      if (known) return LowerToDims(op, attrs);
    }
    if (auto get = DynCast<core::GetParameterOp>(op)) return LowerParameter(get);
    if (op->num_regions() > 0 || op->num_successors() > 0) {
      return Unsupported(op, reported,
                         "its regions or successors cannot be run (expected ctl.if, ctl.for, "
                         "ctl.while, cf.br or cf.cond_br)");
    }
    OpBuilder builder = OpBuilder::Before(op);
    if (op->Has(Trait::kView)) {
      TENON_ASSIGN_OR_RETURN(
          kernel::ViewOp view,
          kernel::ViewOp::Create(
              builder, op->location(), OperandsOf(*op), ResultTypesOf(*op),
              {.properties = PropertiesOf(*op), .source = std::string(op->name())}));
      ReplaceWith(op, view.op());
      return true;
    }
    if (!op->info().is_registered()) {
      // What reads a value of unknown type is unknown for that reason; its producer is the culprit.
      if (ReadsUnknown(*op)) return absl::UnimplementedError("");
      return Unsupported(op, reported, "the operation is opaque: no dialect defines it");
    }
    const bool wants_gpu = gpu_ && !host_ops_.contains(op);
    const bool in_region = op->block() != top_;
    std::string fallback;
    absl::StatusOr<kernels::KernelRegistry::Choice> choice = kernels::KernelRegistry::Choice();
    if (wants_gpu && in_region) {
      fallback = kRegionFallback;
    } else if (wants_gpu) {
      choice = ChooseKernel(*registry_, *op, reference_, kernels::Backend::kCuda);
      if (choice.ok() && choice->kernel == nullptr) {
        fallback = choice->why_not.empty() ? "no kernel"
                                           : fmt::format("{}", fmt::join(choice->why_not, "; "));
      }
    }
    if (choice.ok() && choice->kernel == nullptr) {
      choice = ChooseKernel(*registry_, *op, reference_);
    }
    if (!choice.ok()) return Unsupported(op, reported, std::string(choice.status().message()));
    if (choice->kernel == nullptr) {
      std::string reasons;
      for (const std::string& reason : choice->why_not)
        reasons += (reasons.empty() ? "" : "; ") + reason;
      return Unsupported(op, reported, reasons.empty() ? "none is registered" : reasons);
    }
    if (!reference_ && (!gpu_ || !fallback.empty())) {
      const std::string reference = WhyReferenceKernel(*registry_, *op, *choice);
      if (!reference.empty())
        fallback += fmt::format("{}{}", fallback.empty() ? "" : "; on the CPU: ", reference);
    }
    TENON_ASSIGN_OR_RETURN(
        kernel::CallOp call,
        kernel::CallOp::Create(builder, op->location(), OperandsOf(*op), ResultTypesOf(*op),
                               {.kernel = choice->kernel->name,
                                .properties = PropertiesOf(*op),
                                .source = std::string(op->name())}));
    if (!fallback.empty()) {
      call.op()->SetAttr(kFallback, Attribute::Str(op->context(), fallback));
    }
    ReplaceWith(op, call.op());
    return true;
  }

  // A call stays.
  absl::StatusOr<bool> CheckCall(Operation* op, std::vector<std::string>& reported) {
    const Operation* const callee = CalledFunction(*op);
    if (callee == nullptr || callee->region().empty()) {
      return Unsupported(op, reported, "the callee has no body (expected a function with a body)");
    }
    if (gpu_) op->SetAttr(kFallback, Attribute::Str(op->context(), kRegionFallback));
    return gpu_;
  }

  static bool IsCalled(const Operation& func) {
    Operation* top = func.parent_op();
    while (top != nullptr && top->parent_op() != nullptr) top = top->parent_op();
    return top != nullptr &&
           !top->WalkPreOrder([&](Operation* op) { return CalledFunction(*op) != &func; });
  }

  absl::StatusOr<bool> LowerToDims(Operation* op, const kernel::DimsOp::Attrs& attrs) {
    OpBuilder builder = OpBuilder::Before(op);
    TENON_ASSIGN_OR_RETURN(
        kernel::DimsOp lowered,
        kernel::DimsOp::Create(builder, op->location(), ResultTypesOf(*op), attrs));
    ReplaceWith(op, lowered.op());
    return true;
  }

  absl::StatusOr<bool> LowerParameter(core::GetParameterOp get) {
    auto parameter = DynCast<core::ParameterOp>(LookupSymbolFrom(*get.op(), get.name()));
    const Attribute value = parameter ? parameter.value() : Attribute();
    if (!value || value.kind() != Attribute::Kind::kElements || value.type() != get.out().type()) {
      return Reject(*get.op(), fmt::format("parameter @{} has no value of type {}", get.name(),
                                           get.out().type().text()));
    }
    OpBuilder builder = OpBuilder::Before(get.op());
    TENON_ASSIGN_OR_RETURN(core::ConstantOp constant,
                           core::ConstantOp::Create(builder, get->location(), {.value = value}));
    // Modules inside have parameters that nobody can name.
    const Operation* const module = parameter->parent_op();
    if (parameter->attr(kReplaceable) && module->parent_op() == nullptr) {
      constant->SetAttr(kValueOfParameter, Attribute::Str(get->context(), parameter.sym_name()));
    }
    ReplaceWith(get.op(), constant.op());
    return true;
  }

  absl::Status Unsupported(Operation* op, std::vector<std::string>& reported,
                           std::string_view why) {
    const std::string name(op->name());
    const std::string message = fmt::format("no kernel runs {}: {}", Signature(*op), why);
    if (std::find(reported.begin(), reported.end(), name) != reported.end())
      return absl::UnimplementedError(message);
    reported.push_back(name);
    return EmitStatus(op->context(), op->location(), absl::StatusCode::kUnimplemented, message);
  }

  std::shared_ptr<const kernels::KernelRegistry> registry_;
  bool reference_, gpu_;
  const Block* top_ = nullptr;  // the function's
  absl::flat_hash_set<const Operation*> host_ops_;
};

}  // namespace

PassInfo LowerToKernelsInfo(std::shared_ptr<const kernels::KernelRegistry> registry) {
  PassInfo info;
  info.name = "lower-to-kernels";
  info.summary =
      "Chooses a kernel for every operation; kernel.fallback says why it is a slow one, or not "
      "on the GPU";
  info.anchor = "func.func";
  info.steps = PassSteps::kNone;
  info.one_at_a_time = true;  // it asks who calls a function
  info.options = {{"reference", PassOption::Type::kBool, "false",
                   "consider the readable reference kernels alone"},
                  {"gpu", PassOption::Type::kBool, "false", "CUDA kernels where there are any"}};
  info.establishes = static_cast<uint32_t>(ModuleProperty::kLowered);
  info.destroys = static_cast<uint32_t>(ModuleProperty::kPlanned);
  info.create = [registry](const PassOptionValues& options) {
    return std::make_unique<LowerToKernels>(registry, options.GetBool("reference"),
                                            options.GetBool("gpu"));
  };
  return info;
}

}  // namespace tenon
