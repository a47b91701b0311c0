#include "tests/gpu/on_device.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/gpu/gpu_kernels.h"
#include "kernels/half.h"

namespace tenon::kernels::testing {
namespace {

float FloatAt(const Tensor& t, int64_t i) {
  if (t.dtype == DType::kF16) return t.data<Half>()[i];
  if (t.dtype == DType::kBF16) return t.data<BFloat16>()[i];
  return t.data<float>()[i];
}

}  // namespace

const KernelRegistry& GpuRegistry() {
  static const KernelRegistry* const registry = [] {
    auto* made = new KernelRegistry;
    RegisterGpuKernels(*made);
    return made;
  }();
  return *registry;
}

const Kernel* ReferenceOf(std::string_view op) {
  for (const Kernel& candidate : Registry().Find(op)) {
    if (std::strncmp(candidate.name, "ref.", 4) == 0) return &candidate;
  }
  return nullptr;
}

Tensor WithElements(const Tensor& t, DType dtype) {
  if (t.dtype != DType::kF32 || dtype == DType::kF32) return t;
  Tensor made(dtype, t.shape);
  for (int64_t i = 0; i < t.numel(); ++i) {
    const float v = t.data<float>()[i];
    if (dtype == DType::kF16) {
      made.data<Half>()[i] = Half(v);
    } else if (dtype == DType::kBF16) {
      made.data<BFloat16>()[i] = BFloat16(v);
    } else if (dtype == DType::kI32) {
      made.data<int32_t>()[i] = static_cast<int32_t>(4 * v);
    } else {
      made.data<int64_t>()[i] = static_cast<int64_t>(4 * v);
    }
  }
  return made;
}
Case WithElements(const Case& c, DType dtype) {
  Case made = c;
  for (Tensor& t : made.inputs) t = WithElements(t, dtype);
  for (Tensor& t : made.outputs) t = WithElements(t, dtype);
  return made;
}

::testing::AssertionResult Same(const Tensor& actual, const Tensor& expected) {
  const bool floats = expected.dtype == DType::kF32 || expected.dtype == DType::kF16 ||
                      expected.dtype == DType::kBF16;
  if (!floats) {
    if (expected.bytes == 0 ||
        std::memcmp(actual.data<void>(), expected.data<void>(), expected.bytes) == 0) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "bytes differ";
  }
  const float step = expected.dtype == DType::kF32   ? 0
                     : expected.dtype == DType::kF16 ? 0x1p-10f
                                                     : 0x1p-7f;
  float largest = 0;
  for (int64_t i = 0; i < expected.numel(); ++i) {
    if (std::isfinite(FloatAt(expected, i))) {
      largest = std::max(largest, std::fabs(FloatAt(expected, i)));
    }
  }
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const float a = FloatAt(actual, i), b = FloatAt(expected, i);
    if ((std::isnan(a) && std::isnan(b)) || a == b) continue;
    if (!(std::fabs(a - b) <= (5e-6f + step) * largest + (3e-5f + 2 * step) * std::fabs(b))) {
      return ::testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << b;
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tenon::kernels::testing
