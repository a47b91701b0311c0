#include "frontends/c/kernels.h"

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "executor/prepare/kernel_call.h"
#include "frontends/c/convert.h"
#include "frontends/c/objects.h"
#include "ir/core/context/context.h"
#include "ir/dialect/dialects.h"
#include "kernels/attr_map.h"
#include "kernels/kernel.h"

namespace c = tenon::c;

using tenon::kernels::AttrMap;
using tenon::kernels::CallSignature;
using tenon::kernels::KernelStatus;
using tenon::kernels::PrepareArgs;
using tenon::kernels::RunArgs;
using tenon::kernels::TensorView;

// What a kernel in C keeps for its runs.
class PreparedInC : public tenon::kernels::KernelState {
 public:
  std::shared_ptr<void> prepared;
  std::vector<tenon::kernels::PackedBytes> packed;
};

struct TenonKernelCall {
  std::span<const TensorView> inputs, outputs;
  const AttrMap* attrs = nullptr;                   // null without attributes that C can read
  tenon::kernels::DeviceContext* device = nullptr;  // null where a kernel is chosen
  std::span<const bool> constant = {};              // set where a kernel is chosen
  PrepareArgs* prepare = nullptr;                   // set while it prepares
  PreparedInC* kept = nullptr;                      // set while it prepares and runs
  void* scratch = nullptr;                          // set while it runs
};

namespace {

constexpr size_t kMostScratch = size_t{1} << 40;

// What the copies of a kernel share. It also keeps the texts to which the kernel points.
struct CalledKernel {
  std::string op, name;
  TenonKernelFn run;
  TenonPrepareFn prepare;
  TenonSupportsFn supports;
  std::shared_ptr<void> state;
  bool has_attr_map;  // operations of Tenon have structs of attributes instead

  const AttrMap* AttrsOf(const void* attrs) const {
    return has_attr_map ? static_cast<const AttrMap*>(attrs) : nullptr;
  }
};

KernelStatus RunCalled(const RunArgs& args) {
  const auto& kernel = *static_cast<const CalledKernel*>(args.data);
  TenonKernelCall call = {args.inputs, args.outputs, kernel.AttrsOf(args.attrs), args.device};
  if (kernel.prepare != nullptr) call.kept = static_cast<PreparedInC*>(args.state);
  call.scratch = args.scratch;
  return tenon::ToKernelStatus(c::TakeStatus(kernel.run(&call, kernel.state.get())));
}

KernelStatus PrepareCalled(PrepareArgs& args, std::shared_ptr<tenon::kernels::KernelState>& state) {
  const auto& kernel = *static_cast<const CalledKernel*>(args.data);
  const auto kept = std::make_shared<PreparedInC>();
  TenonKernelCall call = {args.inputs, args.outputs, kernel.AttrsOf(args.attrs), args.device};
  call.prepare = &args;
  call.kept = kept.get();
  KernelStatus status =
      tenon::ToKernelStatus(c::TakeStatus(kernel.prepare(&call, kernel.state.get())));
  if (status.ok()) state = kept;
  return status;
}

std::string SupportsCalled(const CallSignature& signature) {
  const auto& kernel = *static_cast<const CalledKernel*>(signature.data);
  TenonKernelCall call = {signature.inputs, signature.outputs, kernel.AttrsOf(signature.attrs)};
  call.constant = signature.constant_input;
  const absl::Status status = c::TakeStatus(kernel.supports(&call, kernel.state.get()));
  if (status.ok()) return "";
  return status.message().empty() ? "refuses the call" : std::string(status.message());
}

// The inputs that a kernel packs, each of them constant and named once.
absl::Status ReadPacked(const TenonKernelCall& call, const size_t* inputs, size_t count,
                        std::vector<int>& from) {
  if (count == 0) return c::Wrong("no inputs to pack");
  TENON_RETURN_IF_ERROR(c::NotNull(inputs, "inputs"));
  for (size_t i = 0; i < count; ++i) {
    TENON_RETURN_IF_ERROR(c::IndexBelow(inputs[i], call.inputs.size(), "input"));
    const int input = static_cast<int>(inputs[i]);
    if (std::find(from.begin(), from.end(), input) != from.end())
      return c::Wrong("input {} is named twice", input);
    if (!tenonKernelCallIsConstant(&call, inputs[i]))
      return c::Wrong("input {} is not constant", input);
    from.push_back(input);
  }
  return absl::OkStatus();
}

// Refuses a call that is made at another time.
absl::Status CheckPrepares(const TenonKernelCall* call) {
  TENON_RETURN_IF_ERROR(c::NotNull(call, "call"));
  return call->prepare != nullptr ? absl::OkStatus()
                                  : absl::FailedPreconditionError("the kernel does not prepare");
}

absl::Status AddKernel(tenon::Extension& extension, const TenonKernel& given,
                       std::shared_ptr<void> state) {
  std::string_view op, name;
  TENON_RETURN_IF_ERROR(c::ReadText(given.op, "op", op));
  TENON_RETURN_IF_ERROR(c::ReadText(given.name, "name", name));
  TENON_RETURN_IF_ERROR(c::NotNull(given.run, "run"));
  if (given.supports != nullptr && name.starts_with("ref."))
    return c::Wrong("'supports' of the reference kernel '{}' is not null", name);
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
      CalledKernel{std::string(op), std::string(name), given.run, given.prepare, given.supports,
                   std::move(state), context.FindOp(op) == nullptr});
  tenon::kernels::Kernel kernel = {.op = shared->op.c_str(), .name = shared->name.c_str()};
  kernel.priority = given.priority;
  kernel.run = RunCalled;
  if (given.prepare != nullptr) kernel.prepare = PrepareCalled;
  if (given.supports != nullptr) kernel.supports = SupportsCalled;
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
  return call == nullptr ? 0 : call->inputs.size();
}

TenonTensorView tenonKernelCallInput(const TenonKernelCall* call, size_t index) {
  return index < tenonKernelCallNumInputs(call) ? ViewOf(call->inputs[index])
                                                : ViewOf(TensorView());
}

size_t tenonKernelCallNumOutputs(const TenonKernelCall* call) {
  return call == nullptr ? 0 : call->outputs.size();
}

TenonTensorView tenonKernelCallOutput(const TenonKernelCall* call, size_t index) {
  return index < tenonKernelCallNumOutputs(call) ? ViewOf(call->outputs[index])
                                                 : ViewOf(TensorView());
}

bool tenonKernelCallIsConstant(const TenonKernelCall* call, size_t index) {
  if (index >= tenonKernelCallNumInputs(call)) return false;
  if (call->prepare != nullptr) return call->inputs[index].data != nullptr;
  return index < call->constant.size() && call->constant[index];
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
    if (call->device == nullptr)
      return absl::FailedPreconditionError("a kernel is chosen without threads");
    if (grain < 1) return c::Wrong("'grain' is {} (expected at least 1)", grain);
    (*call->device->parallel)(count, grain,
                              [&](int64_t begin, int64_t end) { range(begin, end, state); });
    return absl::OkStatus();
  });
}

TenonStatus* tenonKernelCallSetScratch(TenonKernelCall* call, size_t bytes) {
  return c::Answer("preparing a kernel", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckPrepares(call));
    if (bytes > kMostScratch)
      return c::Wrong("{} bytes of scratch memory (expected at most {})", bytes, kMostScratch);
    call->prepare->scratch_bytes = bytes;
    return absl::OkStatus();
  });
}

TenonStatus* tenonKernelCallSetPrepared(TenonKernelCall* call, void* prepared,
                                        void (*destroy)(void* prepared)) {
  return c::Answer("preparing a kernel", [&]() -> absl::Status {
    std::shared_ptr<void> owned = c::OwnState(prepared, destroy);
    TENON_RETURN_IF_ERROR(CheckPrepares(call));
    TENON_RETURN_IF_ERROR(c::NotNull(prepared, "prepared"));
    if (call->kept->prepared != nullptr)
      return absl::AlreadyExistsError("the kernel has prepared something already");
    call->kept->prepared = std::move(owned);
    return absl::OkStatus();
  });
}

TenonStatus* tenonKernelCallPack(TenonKernelCall* call, const size_t* inputs, size_t num_inputs,
                                 TenonString layout, size_t bytes, TenonFillFn fill, void* state,
                                 const void** packed) {
  return c::Answer("packing weights", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckPrepares(call));
    TENON_RETURN_IF_ERROR(c::NotNull(fill, "fill"));
    TENON_RETURN_IF_ERROR(c::NotNull(packed, "packed"));
    std::string_view name;
    TENON_RETURN_IF_ERROR(c::ReadText(layout, "layout", name));
    if (bytes == 0 || bytes > kMostScratch)
      return c::Wrong("{} packed bytes (expected 1 to {})", bytes, kMostScratch);
    std::vector<int> from;
    TENON_RETURN_IF_ERROR(ReadPacked(*call, inputs, num_inputs, from));
    // With the size, so that a kernel that asks for another one gets no bytes of the first.
    const std::string full = fmt::format("c:{}:{}", name, bytes);
    tenon::kernels::PackedBytes made =
        call->prepare->Pack(from, full, bytes, [&](std::byte* to) { fill(to, state); });
    if (made == nullptr) return absl::ResourceExhaustedError("no memory for packed weights");
    *packed = made.get();
    call->kept->packed.push_back(std::move(made));
    return absl::OkStatus();
  });
}

void* tenonKernelCallScratch(const TenonKernelCall* call) {
  return call == nullptr ? nullptr : call->scratch;
}

void* tenonKernelCallPrepared(const TenonKernelCall* call) {
  return call == nullptr || call->kept == nullptr ? nullptr : call->kept->prepared.get();
}
