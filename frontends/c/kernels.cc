#include "frontends/c/kernels.h"

#include <memory>
#include <string>
#include <utility>

#include "frontends/c/convert.h"
#include "frontends/c/objects.h"
#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "kernels/attr_map.h"
#include "kernels/kernel.h"

namespace c = tenon::c;

using tenon::kernels::AttrMap;
using tenon::kernels::KernelStatus;
using tenon::kernels::RunArgs;
using tenon::kernels::TensorView;

struct TenonKernelCall {
  const RunArgs& args;
  const AttrMap* attrs;  // null without attributes that C can read
};

namespace {

// What the copies of a kernel share. It also keeps the texts to which the kernel points.
struct CalledKernel {
  std::string op, name;
  TenonKernelFn run;
  std::shared_ptr<void> state;
  bool has_attr_map;  // operations of Tenon have structs of attributes instead
};

KernelStatus ToKernelStatus(const absl::Status& status) {
  std::string message(status.message());
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return KernelStatus::Ok();
    case absl::StatusCode::kInvalidArgument:
      return KernelStatus::Invalid(std::move(message));
    case absl::StatusCode::kUnimplemented:
      return KernelStatus::Unsupported(std::move(message));
    case absl::StatusCode::kResourceExhausted:
      return KernelStatus::OutOfMemory(std::move(message));
    default:
      return KernelStatus::Internal(std::move(message));
  }
}

KernelStatus RunCalled(const RunArgs& args) {
  const auto& kernel = *static_cast<const CalledKernel*>(args.data);
  const TenonKernelCall call = {
      args, kernel.has_attr_map ? static_cast<const AttrMap*>(args.attrs) : nullptr};
  TenonStatus* const status = kernel.run(&call, kernel.state.get());
  return status == nullptr ? KernelStatus::Ok() : ToKernelStatus(c::TakeStatus(status));
}

absl::Status AddKernel(tenon::Extension& extension, const TenonKernel& given,
                       std::shared_ptr<void> state) {
  std::string_view op, name;
  TENON_RETURN_IF_ERROR(c::ReadText(given.op, "op", op));
  TENON_RETURN_IF_ERROR(c::ReadText(given.name, "name", name));
  TENON_RETURN_IF_ERROR(c::NotNull(given.run, "run"));
  if (op.empty() || name.empty() || op.find('\0') != std::string_view::npos ||
      name.find('\0') != std::string_view::npos)
    return c::Wrong("a kernel '{}' for '{}' (expected two names)", name, op);
  for (const tenon::kernels::Kernel& other : extension.kernels) {
    if (name == other.name)
      return absl::AlreadyExistsError(fmt::format("there is a kernel '{}' already", name));
  }
  tenon::Context context;
  tenon::RegisterAllDialects(context);
  auto shared = std::make_shared<const CalledKernel>(
      CalledKernel{std::string(op), std::string(name), given.run, std::move(state),
                   context.FindOp(op) == nullptr});
  tenon::kernels::Kernel kernel = {.op = shared->op.c_str(), .name = shared->name.c_str()};
  kernel.priority = given.priority;
  kernel.run = RunCalled;
  kernel.inplace_mask = given.inplace_inputs;
  kernel.data = std::move(shared);
  extension.kernels.push_back(std::move(kernel));
  return absl::OkStatus();
}

TenonTensorView ViewOf(const TensorView& view) {
  return {view.data, static_cast<TenonDType>(view.dtype), view.shape.data(), view.shape.size()};
}

template <typename T>
const T* FindAttr(const TenonKernelCall* call, TenonString name) {
  const bool has = call != nullptr && call->attrs != nullptr;
  return has ? call->attrs->Find<T>(c::FromC(name)) : nullptr;
}

template <typename T>
bool ReadAttr(const TenonKernelCall* call, TenonString name, T* value) {
  const T* const found = FindAttr<T>(call, name);
  if (found == nullptr || value == nullptr) return false;
  *value = *found;
  return true;
}

}  // namespace

TenonStatus* tenonExtensionAddKernel(TenonExtension* extension, const TenonKernel* kernel) {
  return c::Answer("adding a kernel", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(kernel, "kernel"));
    TenonKernel given;
    TENON_RETURN_IF_ERROR(c::ReadOptions(kernel, "kernel", given));
    std::shared_ptr<void> state = c::OwnState(given.state, given.destroy);
    TENON_RETURN_IF_ERROR(c::NotNull(extension, "extension"));
    return AddKernel(extension->extension, given, std::move(state));
  });
}

size_t tenonKernelCallNumInputs(const TenonKernelCall* call) {
  return call == nullptr ? 0 : call->args.inputs.size();
}

TenonTensorView tenonKernelCallInput(const TenonKernelCall* call, size_t index) {
  return index < tenonKernelCallNumInputs(call) ? ViewOf(call->args.inputs[index])
                                                : ViewOf(TensorView());
}

size_t tenonKernelCallNumOutputs(const TenonKernelCall* call) {
  return call == nullptr ? 0 : call->args.outputs.size();
}

TenonTensorView tenonKernelCallOutput(const TenonKernelCall* call, size_t index) {
  return index < tenonKernelCallNumOutputs(call) ? ViewOf(call->args.outputs[index])
                                                 : ViewOf(TensorView());
}

bool tenonKernelCallBool(const TenonKernelCall* call, TenonString name, bool* value) {
  return ReadAttr(call, name, value);
}

bool tenonKernelCallInt64(const TenonKernelCall* call, TenonString name, int64_t* value) {
  return ReadAttr(call, name, value);
}

bool tenonKernelCallDouble(const TenonKernelCall* call, TenonString name, double* value) {
  return ReadAttr(call, name, value);
}

bool tenonKernelCallString(const TenonKernelCall* call, TenonString name, TenonString* value) {
  const std::string* const found = FindAttr<std::string>(call, name);
  if (found == nullptr || value == nullptr) return false;
  *value = c::ToC(std::string_view(*found));
  return true;
}

bool tenonKernelCallInt64s(const TenonKernelCall* call, TenonString name, const int64_t** values,
                           size_t* count) {
  const auto* const found = FindAttr<std::vector<int64_t>>(call, name);
  if (found == nullptr || values == nullptr || count == nullptr) return false;
  *values = found->data();
  *count = found->size();
  return true;
}

TenonStatus* tenonKernelCallParallelFor(const TenonKernelCall* call, int64_t count, int64_t grain,
                                        TenonRangeFn range, void* state) {
  return c::Answer("computing ranges", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(call, "call"));
    TENON_RETURN_IF_ERROR(c::NotNull(range, "range"));
    if (grain < 1) return c::Wrong("'grain' is {} (expected at least 1)", grain);
    (*call->args.device->parallel)(count, grain,
                                   [&](int64_t begin, int64_t end) { range(begin, end, state); });
    return absl::OkStatus();
  });
}
