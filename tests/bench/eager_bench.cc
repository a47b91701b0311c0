// What a call of an operation costs (executor/eager/engine.h) beside the kernel itself, in
// nanoseconds of the processor: additions and a product of small tensors, as a call and as a bare
// run of its kernel on memory that is there. Both take turns; medians of 41 turns.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <vector>

#include "executor/eager/eager.h"
#include "kernels/threads/thread_pool.h"

namespace {

using tenon::DType;
using tenon::Tensor;

constexpr int kTurns = 41, kRuns = 20000;

double NsOf(const std::function<void()>& run) {
  const auto now = [] {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
  };
  const double start = now();
  for (int i = 0; i < kRuns; ++i) run();
  return (now() - start) / kRuns;
}

double Median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

Tensor Filled(std::vector<int64_t> shape) {
  Tensor tensor = Tensor::Make(DType::kF32, shape);
  std::fill_n(tensor.as<float>(), tensor.numel(), 0.5f);
  return tensor;
}

// Runs a kernel as the engine does, with its operands and result prepared.
std::function<void()> Bare(const char* op, std::vector<Tensor> operands, const Tensor& result,
                           std::shared_ptr<const void> attrs) {
  namespace kernels = tenon::kernels;
  struct State {
    kernels::KernelRegistry registry;
    kernels::ThreadPool pool{1};
    kernels::DeviceContext device;
    std::vector<Tensor> tensors;
    std::vector<kernels::TensorView> in, out;
    std::shared_ptr<const void> attrs;
    std::shared_ptr<kernels::KernelState> state;
    std::shared_ptr<std::byte> scratch;
    const kernels::Kernel* kernel = nullptr;
  };
  auto s = std::make_shared<State>();
  kernels::RegisterCpuKernels(s->registry);
  s->device.parallel = &s->pool;
  s->tensors = std::move(operands);
  s->tensors.push_back(result);
  for (size_t i = 0; i + 1 < s->tensors.size(); ++i) s->in.push_back(s->tensors[i].view());
  s->out.push_back(s->tensors.back().view());
  s->attrs = std::move(attrs);
  const auto constant = std::make_unique<bool[]>(s->in.size());
  s->kernel =
      s->registry.Choose(op, {s->in, s->out, {constant.get(), s->in.size()}, s->attrs.get()})
          .kernel;
  if (s->kernel->prepare != nullptr) {
    std::vector<kernels::TensorView> seen = s->in;
    for (kernels::TensorView& view : seen) view.data = nullptr;
    kernels::PrepareArgs prepare = {
        .inputs = seen, .outputs = s->out, .attrs = s->attrs.get(), .device = &s->device};
    if (!s->kernel->prepare(prepare, s->state).ok()) std::abort();
    s->scratch = *tenon::AllocateAligned(prepare.scratch_bytes);
  }
  return [s] {
    const kernels::RunArgs args = {.inputs = s->in,
                                   .outputs = s->out,
                                   .attrs = s->attrs.get(),
                                   .device = &s->device,
                                   .state = s->state.get(),
                                   .scratch = s->scratch.get()};
    if (!s->kernel->run(args).ok()) std::abort();
  };
}

void Report(const char* name, const std::function<void()>& call,
            const std::function<void()>& bare) {
  std::vector<double> calls, kernels, differences;
  for (int turn = 0; turn < kTurns; ++turn) {
    calls.push_back(NsOf(call));
    kernels.push_back(NsOf(bare));
    differences.push_back(calls.back() - kernels.back());
  }
  fmt::print("{:24} call {:7.0f} ns, kernel {:7.0f} ns, dispatch {:7.0f} ns\n", name, Median(calls),
             Median(kernels), Median(differences));
}

}  // namespace

int main() {
  namespace eager = tenon::eager;
  for (const int64_t n : {1, 16, 1024}) {
    const Tensor a = Filled({n}), b = Filled({n});
    Report(
        fmt::format("add, {} elements", n).c_str(),
        [&] {
          if (!eager::Add(a, b).ok()) std::abort();
        },
        Bare("ten.add", {a, b}, Filled({n}), nullptr));
  }
  const Tensor x = Filled({4, 64}), w = Filled({64, 64}), bias = Filled({64});
  Report(
      "linear, 4 x 64 x 64",
      [&] {
        if (!eager::fused::Linear(x, w, bias).ok()) std::abort();
      },
      Bare("fused.linear", {x, w, bias, Tensor()}, Filled({4, 64}),
           std::make_shared<tenon::fused::LinearAttrs>()));
  return 0;
}
