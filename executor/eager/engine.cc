#include "executor/eager/engine.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/types/span.h"
#include "executor/eager/generated_calls.h"
#include "executor/eager/signature.h"
#include "executor/prepare/kernel_call.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/dialect/dialects.h"
#include "kernels/draws.h"
#include "kernels/op_attrs.h"
#include "kernels/threads/thread_pool.h"

namespace tenon::eager {
namespace {

using kernels::TensorView;

std::shared_ptr<const kernels::KernelRegistry> CpuKernels() {
  static const std::shared_ptr<const kernels::KernelRegistry> kRegistry = [] {
    auto registry = std::make_shared<kernels::KernelRegistry>();
    kernels::RegisterCpuKernels(*registry);
    return registry;
  }();
  return kRegistry;
}

// What tells calls apart, but for attributes. An absent tensor has element type 0 and no extents.
void WriteKey(const OpEntry& op, std::span<const std::span<const Tensor>> operands,
              std::vector<int64_t>& key) {
  key.clear();
  key.push_back(static_cast<int64_t>(reinterpret_cast<intptr_t>(op.name.data())));
  for (const std::span<const Tensor> group : operands) {
    key.push_back(static_cast<int64_t>(group.size()));
    for (const Tensor& tensor : group) {
      const std::span<const int64_t> shape = tensor.shape();
      key.push_back(static_cast<int64_t>(shape.size() << 8) | static_cast<int64_t>(tensor.dtype()));
      key.insert(key.end(), shape.begin(), shape.end());
    }
  }
}

// The operands as kernels take them: one view for each single or absent one, and each of a list.
// `copies` owns what had to be aligned.
absl::Status ReadViews(std::span<const std::span<const Tensor>> operands,
                       std::vector<TensorView>& views, std::vector<Tensor>& copies) {
  views.clear();
  copies.clear();
  for (const std::span<const Tensor> group : operands) {
    for (const Tensor& tensor : group) {
      if (!tensor || tensor.aligned()) {
        views.push_back(tensor ? tensor.view() : TensorView());
        continue;
      }
      TENON_ASSIGN_OR_RETURN(Tensor copy, Tensor::TryMake(tensor.dtype(), tensor.shape()));
      std::copy_n(tensor.as<std::byte>(), tensor.num_bytes(), copy.as<std::byte>());
      views.push_back({copy.data(), tensor.dtype(), tensor.shape()});
      copies.push_back(std::move(copy));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensors> ExtentsOf(const Signature& signature, const Tensor& tensor) {
  const auto& attrs = *static_cast<const ten::ShapeAttrs*>(signature.attrs.get());
  const auto rank = static_cast<int64_t>(tensor.shape().size());
  const int64_t start = std::clamp<int64_t>(attrs.start, 0, rank);
  const int64_t count = std::clamp<int64_t>(attrs.end, start, rank) - start;
  Tensors results;
  TENON_ASSIGN_OR_RETURN(results.emplace_back(), Tensor::TryMake(DType::kI64, {&count, 1}));
  std::copy_n(tensor.shape().begin() + start, count, results.front().as<int64_t>());
  return results;
}

}  // namespace

std::span<const OpEntry* const> AllOps() {
  static const std::vector<const OpEntry*> kAll = AllEntries();
  return kAll;
}

const OpEntry* FindOp(std::string_view name) {
  const std::span<const OpEntry* const> all = AllOps();
  const auto found = std::ranges::find(all, name, &OpEntry::name);
  return found == all.end() ? nullptr : *found;
}

Attribute EnumAttribute(Context& context, int value,
                        std::initializer_list<std::string_view> names) {
  if (value < 0 || static_cast<size_t>(value) >= names.size()) return Attribute();
  return Attribute::Str(context, names.begin()[value]);
}

Attribute DimsAttribute(Context& context, std::span<const int64_t> dims) {
  std::vector<DimExpr> made;
  made.reserve(dims.size());
  for (const int64_t dim : dims) made.push_back(DimExpr::Constant(context, dim));
  return Attribute::Dims(context, made);
}

struct Engine::Impl {
  explicit Impl(EngineOptions given) : options(std::move(given)), threads(options.threads) {
    if (options.registry == nullptr) options.registry = CpuKernels();
    draws.BeginRun(options.seed);
    device.parallel = &threads;
    device.draws = &draws;
    Forget();
  }

  // Drops all signatures, and with them the types and attributes that they are made of.
  void Forget() {
    signatures.clear();
    num_signatures = 0;
    context = std::make_unique<Context>();
    RegisterAllDialects(*context);
  }

  absl::StatusOr<Tensors> Call(const OpEntry& op, std::span<const std::span<const Tensor>> operands,
                               const void* attrs, CallReport* report);
  absl::StatusOr<Signature*> Find(const OpEntry& op,
                                  std::span<const std::span<const Tensor>> operands,
                                  const void* attrs, CallReport* report);
  absl::Status Prepare(const Signature& signature, std::span<const TensorView> out,
                       std::shared_ptr<kernels::KernelState>& state, size_t& scratch_bytes);
  absl::StatusOr<Tensors> Run(Signature& signature,
                              std::span<const std::span<const Tensor>> operands);

  EngineOptions options;
  kernels::ThreadPool threads;
  kernels::Draws draws;
  kernels::DeviceContext device;
  std::unique_ptr<Context> context;
  absl::flat_hash_map<size_t, std::unique_ptr<Signature>> signatures;  // by the hash of the key
  size_t num_signatures = 0;
  std::shared_ptr<std::byte> scratch;  // of all kernels
  size_t scratch_bytes = 0;
  // Of one call; they keep their memory.
  std::vector<int64_t> key;
  std::vector<TensorView> inputs, outputs;
  std::vector<Tensor> copies;
};

absl::StatusOr<Signature*> Engine::Impl::Find(const OpEntry& op,
                                              std::span<const std::span<const Tensor>> operands,
                                              const void* attrs, CallReport* report) {
  WriteKey(op, operands, key);
  const size_t hash = absl::HashOf(absl::MakeConstSpan(key));
  const auto found = signatures.find(hash);
  if (found != signatures.end()) {
    for (Signature* known = found->second.get(); known != nullptr; known = known->next.get()) {
      if (known->key != key) continue;
      if (op.equal != nullptr && !op.equal(known->attrs.get(), attrs)) continue;
      if (report != nullptr) report->repeated = true;
      return known;
    }
  }
  if (num_signatures >= options.max_signatures) Forget();
  std::vector<std::string> why_not;
  absl::StatusOr<std::unique_ptr<Signature>> made = MakeSignature(
      *context, *options.registry, options.reference_only, op, operands, attrs, why_not);
  if (!made.ok()) {
    if (report != nullptr) report->why_not = std::move(why_not);
    return made.status();
  }
  (*made)->key = key;
  // Prepared before it is kept, so that a call that fails leaves nothing.
  Signature& signature = **made;
  if (signature.kind == Signature::Kind::kKernel && !signature.by_value) {
    TENON_RETURN_IF_ERROR(ReadViews(operands, inputs, copies));
    outputs.clear();
    for (const ResultShape& shape : signature.results)
      outputs.push_back({nullptr, shape.dtype, shape.shape});
    TENON_RETURN_IF_ERROR(Prepare(signature, outputs, signature.state, signature.scratch_bytes));
  }
  std::unique_ptr<Signature>& first = signatures[hash];
  signature.next = std::move(first);
  first = *std::move(made);
  ++num_signatures;
  return first.get();
}

absl::Status Engine::Impl::Prepare(const Signature& signature, std::span<const TensorView> out,
                                   std::shared_ptr<kernels::KernelState>& state, size_t& bytes) {
  std::vector<TensorView> in = inputs;  // none is constant: prepare sees no data
  for (TensorView& view : in) view.data = nullptr;
  return PrepareKernel({*signature.kernel, in, out, signature.attrs.get(), device}, state, bytes);
}

absl::StatusOr<Tensors> Engine::Impl::Run(Signature& signature,
                                          std::span<const std::span<const Tensor>> operands) {
  TENON_RETURN_IF_ERROR(ReadViews(operands, inputs, copies));
  std::shared_ptr<kernels::KernelState> state;
  std::vector<ResultShape> by_value;
  if (signature.by_value) {
    std::vector<TensorView> present;
    for (const TensorView& view : inputs) {
      if (view.present()) present.push_back(view);
    }
    TENON_ASSIGN_OR_RETURN(
        by_value,
        ConcreteResults(*signature.info, Location(),
                        std::span<const Attribute>(signature.slots.data(), signature.slots.size()),
                        present, &state));
  }
  Tensors results;
  outputs.clear();
  for (const ResultShape& shape : signature.by_value ? by_value : signature.results) {
    TENON_ASSIGN_OR_RETURN(results.emplace_back(), Tensor::TryMake(shape.dtype, shape.shape));
  }
  for (const Tensor& result : results) outputs.push_back(result.view());
  size_t bytes = signature.scratch_bytes;
  if (signature.by_value && signature.kernel->prepare != nullptr) {
    state.reset();
    TENON_RETURN_IF_ERROR(Prepare(signature, outputs, state, bytes));
  }
  if (bytes > scratch_bytes) {
    scratch.reset();
    scratch_bytes = 0;
    TENON_ASSIGN_OR_RETURN(scratch, AllocateAligned(bytes));
    scratch_bytes = bytes;
  }
  TENON_RETURN_IF_ERROR(
      RunKernel({*signature.kernel, inputs, outputs, signature.attrs.get(), device},
                signature.by_value ? state.get() : signature.state.get(), scratch.get()));
  return results;
}

absl::StatusOr<Tensors> Engine::Impl::Call(const OpEntry& op,
                                           std::span<const std::span<const Tensor>> operands,
                                           const void* attrs, CallReport* report) {
  TENON_ASSIGN_OR_RETURN(Signature * signature, Find(op, operands, attrs, report));
  if (report != nullptr) {
    report->kernel = signature->kernel == nullptr ? "" : signature->kernel->name;
    report->why_not = signature->why_not;
  }
  if (signature->kind == Signature::Kind::kShape)
    return ExtentsOf(*signature, operands.front().front());
  if (signature->kind == Signature::Kind::kKernel) return Run(*signature, operands);
  Tensors results = {operands.front().front()};
  if (signature->by_value) {
    TENON_RETURN_IF_ERROR(ReadViews(operands, inputs, copies));
    TENON_ASSIGN_OR_RETURN(
        const std::vector<ResultShape> shapes,
        ConcreteResults(
            *signature->info, Location(),
            std::span<const Attribute>(signature->slots.data(), signature->slots.size()), inputs));
    results.front().set_shape(shapes.front().shape);
  } else {
    results.front().set_shape(signature->results.front().shape);
  }
  return results;
}

Engine::Engine(EngineOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Engine::~Engine() = default;

Engine& Engine::OfThread() {
  static thread_local Engine engine;
  return engine;
}

size_t Engine::num_signatures() const { return impl_->num_signatures; }

absl::StatusOr<Tensors> Engine::Call(const OpEntry& op,
                                     std::span<const std::span<const Tensor>> operands,
                                     const void* attrs, CallReport* report) {
  if (report != nullptr) *report = {};
  absl::StatusOr<Tensors> results = impl_->Call(op, operands, attrs, report);
  if (results.ok()) return results;
  // The shape functions name the operation already.
  std::string message(results.status().message());
  if (!message.starts_with(op.name)) message = fmt::format("{}: {}", op.name, message);
  return absl::Status(results.status().code(), message);
}

}  // namespace tenon::eager
