#include "executor/lowering/fallbacks.h"

#include <map>
#include <tuple>

#include "absl/container/flat_hash_set.h"
#include "executor/gpu/transfers.h"
#include "fmt/format.h"
#include "ir/core/context/context.h"
#include "ir/dialect/ctl.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/kernel_ops.h"
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/op_cost.h"

namespace tenon {
namespace {

constexpr double kAssumedExtent = 128;
constexpr double kMostSmallElements = 64;
constexpr double kMostTrivialBytes = 64 << 10;
// What constants alone decide is kept from run to run up to these sizes (shape_walk_kernels.cc).
constexpr double kMostKeptBytes = 64 << 10, kMostKeptBytesOfProducts = 64 << 20;

double ElementsOf(Type type) {
  double elements = 1;
  for (DimExpr dim : type.dims())
    elements *= dim.is_constant() ? static_cast<double>(dim.constant()) : kAssumedExtent;
  return elements;
}

template <typename F>
void ForEachType(const Operation& op, F&& f) {
  for (unsigned i = 0; i < op.num_operands(); ++i) f(op.operand(i).type());
  for (unsigned i = 0; i < op.num_results(); ++i) f(op.result(i).type());
}

// How models compute bounds and extents.
bool IsSmallIntegerWork(const Operation& op) {
  bool small = true;
  ForEachType(op, [&](Type type) {
    small = small && type.is_tensor() && !IsFloat(type.dtype()) && type.rank() <= 1 &&
            ElementsOf(type) <= kMostSmallElements;
  });
  return small;
}

bool IsTrivial(const Operation& op, bool has_fast_kernel) {
  // An error is as fast as it can be.
  if (IsSmallIntegerWork(op) || Isa<ctl::FailOp>(op)) return true;
  if (has_fast_kernel) return false;
  double bytes = 0;
  ForEachType(op, [&](Type type) {
    if (type.is_tensor()) bytes += ElementsOf(type) * static_cast<double>(SizeOf(type.dtype()));
  });
  return bytes <= kMostTrivialBytes;
}

std::string NodeOf(const Operation& op) {
  const std::string node = DescribeLocation(op.context(), op.location());
  return node.empty() ? node : node + ": ";
}

std::string_view SourceOf(Operation* op) {
  const auto call = DynCast<kernel::CallOp>(op);
  return call ? call.source() : op->name();
}

// Where an operation with a reason runs instead.
std::string_view PlaceOf(Operation* op, bool gpu) {
  if (gpu) return "the CPU";
  const auto call = DynCast<kernel::CallOp>(op);
  return call ? "a reference kernel" : "the CPU";
}

struct FallbackKind {
  Operation* first = nullptr;
  int64_t count = 0;
};

// Values that are copied in each run: not constants and what follows from sizes, which are copied
// once and once for each set of sizes.
std::string TransferNote(Operation* module) {
  int64_t inputs = 0, computed = 0, results = 0, read = 0;
  absl::flat_hash_set<const Operation*> fixed;
  module->WalkPreOrder([&](Operation* op) {
    bool follows = !IsStructuredControl(*op) && op->num_results() > 0;
    for (OpOperand& operand : op->operands())
      follows = follows && fixed.contains(operand.get().defining_op());
    if (follows) fixed.insert(op);
    return true;
  });
  module->Walk([&](Operation* op) {
    const auto call = DynCast<kernel::CallOp>(op);
    if (!call) return;
    const Operation* producer = op->operand(0).defining_op();
    if (call.kernel() == kernels::gpu::kToDevice) {
      if (producer == nullptr) {
        ++inputs;
      } else if (!fixed.contains(producer)) {
        ++computed;
      }
    } else if (call.kernel() == kernels::gpu::kToHost) {
      bool only_returned = true;
      for (OpOperand& use : op->result().uses())
        only_returned = only_returned && use.owner()->Has(Trait::kTerminator);
      ++(only_returned ? results : read);
    }
  });
  return fmt::format(
      "copied in a run: {} inputs and {} values that the host computes to the device, {} results "
      "and {} values that the host reads back",
      inputs, computed, results, read);
}

// Whether it is a constant, or the copy of one for a device, which is made once for a program.
bool IsConstant(Operation* op) {
  if (op == nullptr) return false;
  if (op->Has(Trait::kConstantLike)) return true;
  return SourceOf(op) == kernel::CopyOp::kName && IsConstant(op->operand(0).defining_op());
}

// Large values that follow from constants alone, and that nevertheless each run computes: weights
// that a model stores in fewer bits, and whose wide form constant-fold has found too large.
std::string RepeatedWorkNote(Operation* module) {
  absl::flat_hash_set<const Operation*> follow, of_product;
  module->WalkPreOrder([&](Operation* op) {
    bool follows = !IsConstant(op) && op->num_operands() > 0 && op->num_regions() == 0 &&
                   op->num_results() > 0 && !op->Has(Trait::kTerminator);
    bool is_product = kernels::IsProduct(SourceOf(op));
    for (OpOperand& operand : op->operands()) {
      Operation* const from = operand.get().defining_op();
      follows = follows && (IsConstant(from) || follow.contains(from));
      is_product |= of_product.contains(from);
    }
    if (follows) follow.insert(op);
    if (follows && is_product) of_product.insert(op);
    return true;
  });
  Operation* first = nullptr;
  int64_t count = 0;
  double sum = 0, largest = 0;
  module->Walk([&](Operation* op) {
    if (!follow.contains(op)) return;
    for (unsigned r = 0; r < op->num_results(); ++r) {
      const Type type = op->result(r).type();
      bool is_read = false;  // by something that is not of constants alone
      for (const OpOperand& use : op->result(r).uses()) is_read |= !follow.contains(use.owner());
      if (!is_read || !type.is_tensor()) continue;
      const double bytes = ElementsOf(type) * static_cast<double>(SizeOf(type.dtype()));
      if (bytes <= (of_product.contains(op) ? kMostKeptBytesOfProducts : kMostKeptBytes)) continue;
      if (count++ == 0) first = op;
      sum += bytes;
      largest = std::max(largest, bytes);
    }
  });
  if (count == 0) return "";
  return fmt::format(
      "{}each run computes {} of {:.1f} MiB{} from constants alone (ir-opt -O2 "
      "--constant-fold='max-bytes={:.0f}' computes {} once)",
      NodeOf(*first), count == 1 ? "a value" : fmt::format("{} values", count), sum / (1 << 20),
      count == 1 ? "" : " in all", largest, count == 1 ? "it" : "them");
}

}  // namespace

std::string WhyReferenceKernel(const kernels::KernelRegistry& registry, const Operation& op,
                               const kernels::KernelRegistry::Choice& choice) {
  if (choice.kernel == nullptr || !std::string_view(choice.kernel->name).starts_with("ref."))
    return "";
  bool has_fast_kernel = false;
  for (const kernels::Kernel& kernel : registry.Find(op.name())) {
    has_fast_kernel |= kernel.backend == kernels::Backend::kCpu &&
                       !std::string_view(kernel.name).starts_with("ref.");
  }
  if (IsTrivial(op, has_fast_kernel)) return "";
  std::string reasons = fmt::format("{}", fmt::join(choice.why_not, "; "));
  return reasons.empty() ? "there is no faster kernel" : reasons;
}

std::vector<std::pair<const Operation*, std::string_view>> FallbacksIn(Operation* module) {
  std::vector<std::pair<const Operation*, std::string_view>> found;
  module->Walk([&](Operation* op) {
    const Attribute reason = op->attr(kFallback);
    if (reason && reason.kind() == Attribute::Kind::kString) found.emplace_back(op, reason.str());
  });
  return found;
}

std::vector<std::string> FallbackNotes(Operation* module, bool gpu) {
  std::vector<std::string> notes;
  std::map<std::tuple<std::string_view, std::string_view>, FallbackKind> kinds;
  std::vector<std::tuple<std::string_view, std::string_view>> order;
  for (const auto& [found, reason] : FallbacksIn(module)) {
    auto* op = const_cast<Operation*>(found);
    if (IsStructuredControl(*op)) {
      int64_t calls = 0;
      op->Walk([&](Operation* inner) { calls += inner != op && inner->attr(kFallback) ? 1 : 0; });
      notes.push_back(fmt::format("{}{} runs on the CPU, with {} operations: {}", NodeOf(*op),
                                  op->name(), calls, reason));
      continue;
    }
    if (reason == kRegionFallback) continue;  // counted above
    const auto key = std::make_tuple(SourceOf(op), reason);
    FallbackKind& kind = kinds[key];
    if (kind.count++ == 0) {
      kind.first = op;
      order.push_back(key);
    }
  }
  for (const auto& key : order) {
    const FallbackKind& kind = kinds.at(key);
    notes.push_back(fmt::format(
        "{}{} runs on {}: {}{}", NodeOf(*kind.first), std::get<0>(key), PlaceOf(kind.first, gpu),
        std::get<1>(key), kind.count == 1 ? "" : fmt::format(" ({} operations)", kind.count)));
  }
  if (std::string repeated = RepeatedWorkNote(module); !repeated.empty())
    notes.push_back(std::move(repeated));
  if (gpu) notes.push_back(TransferNote(module));
  return notes;
}

}  // namespace tenon
