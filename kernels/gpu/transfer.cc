// Copies between host and device memory, as kernels: they are placed by lowering like any other.
#include "kernels/gpu/gpu_kernels.h"
#include "kernels/gpu/staging.h"
#include "kernels/gpu/support.h"

namespace tenon::kernels::gpu {
namespace {

KernelStatus ToDevice(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  return args.device->staging->ToDevice(args.outputs[0].data, x.data,
                                        static_cast<size_t>(x.bytes()));
}

KernelStatus ToHost(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  return args.device->staging->ToHost(args.outputs[0].data, x.data, static_cast<size_t>(x.bytes()));
}

}  // namespace

KernelStatus CopyOnDevice(const RunArgs& args) {
  const TensorView& x = args.inputs[0];
  return args.device->staging->OnDevice(args.outputs[0].data, x.data,
                                        static_cast<size_t>(x.bytes()));
}

void AddTransferKernels(KernelRegistry& registry) {
  Kernel to_device = MakeKernel("kernel.copy", kToDevice, ToDevice, nullptr);
  to_device.unaligned_inputs = 0b1;
  registry.Add(to_device);
  registry.Add(MakeKernel("kernel.copy", kToHost, ToHost, nullptr));
}

}  // namespace tenon::kernels::gpu
