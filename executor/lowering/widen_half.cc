// Pass widen-half: operations on f16 and bf16 that only a reference kernel runs, and a fast one in
// f32, are computed in f32 between casts. Results are rounded to 16 bits, as before. Constants are
// widened once, when their bytes are read.
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "executor/executor_passes.h"
#include "executor/lowering/lowered_op.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/builder.h"
#include "ir/core/constants/blob.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/context/context.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ten_ops.h"
#include "kernels/half.h"

namespace tenon {
namespace {

bool IsHalf(Type type) {
  return type.is_tensor() && (type.dtype() == DType::kF16 || type.dtype() == DType::kBF16);
}

Type Widened(Type type) { return IsHalf(type) ? WithDType(type, DType::kF32) : type; }

template <typename Number>
void Widen(std::span<const std::byte> from, std::byte* to) {
  for (size_t i = 0; i < from.size() / sizeof(Number); ++i) {
    Number number;
    std::memcpy(&number.bits, from.data() + i * sizeof(Number), sizeof(Number));
    const float wide = number;
    std::memcpy(to + i * sizeof(float), &wide, sizeof(float));
  }
}

void WidenAll(DType dtype, std::span<const std::byte> from, std::byte* to) {
  dtype == DType::kF16 ? Widen<kernels::Half>(from, to) : Widen<kernels::BFloat16>(from, to);
}

Attribute WidenedElements(Context& context, Attribute value) {
  const DType dtype = value.type().dtype();
  const Type type = Widened(value.type());
  if (value.is_splat()) {
    std::byte element[sizeof(float)];
    WidenAll(dtype, value.raw_bytes(), element);
    return Attribute::Splat(context, type, element);
  }
  const size_t size = StoredBytes(value) * 2;
  if (size <= Attribute::kInlineBytes) {
    std::vector<std::byte> bytes(size);
    WidenAll(dtype, value.raw_bytes(), bytes.data());
    return Attribute::Elements(context, type, bytes);
  }
  // The sources lie in the model's file, perhaps joined of parts.
  const std::shared_ptr<const DeferredBlob> deferred = DeferredBlobOf(value);
  std::vector<std::shared_ptr<const Blob>> sources;
  if (deferred == nullptr) {
    sources = {value.DenseBlob()};
  } else {
    sources.assign(deferred->sources().begin(), deferred->sources().end());
  }
  std::string recipe = fmt::format("f32 of {}{}", Name(dtype),
                                   deferred == nullptr ? "" : ", of " + deferred->recipe());
  const auto fill = [deferred, blob = sources[0], dtype](std::byte* to) {
    const std::shared_ptr<const Blob> from = deferred == nullptr ? blob : deferred->Bytes();
    if (from == nullptr) return false;
    WidenAll(dtype, from->bytes(), to);
    from->DropPages();
    return true;
  };
  return DeferredElements(
      context, type,
      std::make_shared<DeferredBlob>(std::move(recipe), std::move(sources), size, fill));
}

// Could other element types change what an operation does? It names one, or has some in its text.
bool NamesTypes(const Operation& op) {
  for (unsigned i = 0; i < op.num_slots(); ++i) {
    const Attribute slot = op.slot(i);
    if (!slot) continue;
    if (slot.kind() == Attribute::Kind::kType || slot.kind() == Attribute::Kind::kElements)
      return true;
    if (slot.kind() == Attribute::Kind::kString &&
        slot.str().find("cast") != std::string_view::npos)
      return true;
  }
  return false;
}

class WidenHalf : public Pass {
 public:
  explicit WidenHalf(std::shared_ptr<const kernels::KernelRegistry> registry)
      : registry_(std::move(registry)) {}

  absl::StatusOr<PassResult> Run(Operation* func, PassContext&) override {
    std::vector<Operation*> ops;
    func->WalkPreOrder([&](Operation* op) {
      ops.push_back(op);
      return true;
    });
    wide_.clear();
    constants_.clear();
    PassResult result;
    for (Operation* op : ops) {
      if (!WouldBeFast(*op)) continue;
      TENON_RETURN_IF_ERROR(Replace(op));
      result.changed = true;
    }
    // Not before: `wide_` knows them by their addresses.
    for (Operation* constant : constants_) {
      if (!constant->has_uses()) constant->Erase();
    }
    return result;
  }

 private:
  static bool IsFast(const absl::StatusOr<kernels::KernelRegistry::Choice>& choice) {
    return choice.ok() && choice->kernel != nullptr &&
           !std::string_view(choice->kernel->name).starts_with("ref.");
  }

  bool WouldBeFast(const Operation& op) const {
    bool any = false;
    for (unsigned i = 0; i < op.num_operands(); ++i) any |= IsHalf(op.operand(i).type());
    if (!any || !op.info().is_registered() || op.info().def().infer == nullptr ||
        op.num_regions() > 0 || op.Has(Trait::kTerminator) || op.Has(Trait::kView) ||
        NamesTypes(op)) {
      return false;
    }
    const absl::StatusOr<kernels::KernelRegistry::Choice> now = ChooseKernel(*registry_, op, false);
    if (!now.ok() || IsFast(now)) return false;
    std::vector<Value> operands;
    std::vector<Type> types, results;
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      operands.push_back(op.operand(i));
      types.push_back(Widened(op.operand(i).type()));
    }
    ResultTypes inferred;
    if (!InferResultTypes(op.info(), op.location(), std::span<const Type>(types), op.slots(),
                          inferred)
             .ok() ||
        inferred.size() != op.num_results()) {
      return false;
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      results.push_back(Widened(op.result(i).type()));
      if (!inferred[i].is_tensor() || !results[i].is_tensor() ||
          inferred[i].dtype() != results[i].dtype()) {
        return false;
      }
    }
    const absl::StatusOr<SignatureOf> signature =
        SignatureOf::Make(op.info(), op.slots(), operands, types, results);
    return signature.ok() && IsFast(registry_->Choose(op.name(), signature->get()));
  }

  absl::Status Replace(Operation* op) {
    OperationState state;
    state.info = &op->info();
    state.location = op->location();
    for (unsigned i = 0; i < op->num_operands(); ++i) {
      TENON_ASSIGN_OR_RETURN(const Value wide, Wide(op->operand(i), op));
      state.operands.push_back(wide);
    }
    for (unsigned i = 0; i < op->num_results(); ++i)
      state.result_types.push_back(Widened(op->result(i).type()));
    for (unsigned i = 0; i < op->num_slots(); ++i) state.slots.push_back(op->slot(i));
    state.discardable = op->discardable_attrs();
    OpBuilder builder = OpBuilder::Before(op);
    Operation* const made = builder.Insert(Operation::Create(state));
    std::vector<Value> results;
    for (unsigned i = 0; i < op->num_results(); ++i) {
      const Type type = op->result(i).type();
      if (!IsHalf(type)) {
        results.push_back(made->result(i));
        continue;
      }
      TENON_ASSIGN_OR_RETURN(
          const ten::CastOp narrow,
          ten::CastOp::Create(builder, op->location(), made->result(i), {.to = type.dtype()}));
      results.push_back(narrow.out());
    }
    op->ReplaceAllUsesWith(results);
    op->Erase();
    return absl::OkStatus();
  }

  // The value in f32 before `reader`: one cast in each block, whose first reader stands before the
  // others.
  absl::StatusOr<Value> Wide(Value value, Operation* reader) {
    if (!IsHalf(value.type())) return value;
    const auto constant = DefinedBy<core::ConstantOp>(value);
    Block* const block = constant ? constant->block() : reader->block();
    const auto [found, is_new] = wide_.try_emplace({value.impl(), block});
    if (!is_new) return found->second;
    OpBuilder builder = OpBuilder::Before(constant ? constant.op() : reader);
    if (constant) {
      TENON_ASSIGN_OR_RETURN(
          const core::ConstantOp made,
          core::ConstantOp::Create(
              builder, constant->location(),
              {.value = WidenedElements(constant->context(), constant.value())}));
      constants_.push_back(constant.op());
      return found->second = made.out();
    }
    TENON_ASSIGN_OR_RETURN(const ten::CastOp made, ten::CastOp::Create(builder, reader->location(),
                                                                       value, {.to = DType::kF32}));
    return found->second = made.out();
  }

  std::shared_ptr<const kernels::KernelRegistry> registry_;
  std::map<std::pair<ValueImpl*, Block*>, Value> wide_;
  std::vector<Operation*> constants_;  // widened ones, as they were
};

}  // namespace

PassInfo WidenHalfInfo(std::shared_ptr<const kernels::KernelRegistry> registry) {
  PassInfo info;
  info.name = "widen-half";
  info.summary =
      "Operations on f16 and bf16 for which only f32 has a fast CPU kernel are computed in f32";
  info.anchor = "func.func";
  info.steps = PassSteps::kNone;
  info.create = [registry](const PassOptionValues&) {
    return std::make_unique<WidenHalf>(registry);
  };
  return info;
}

}  // namespace tenon
