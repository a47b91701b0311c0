// Every fast kernel against the reference kernel of its op, on random calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "tests/kernels/case_generators.h"
#include "tests/sanitizers.h"

namespace tenon::kernels::testing {
namespace {

constexpr int kAllCases = 60;
constexpr int kCases = kUnderSanitizers ? kAllCases / 3 : kAllCases;
// Of these the kernel must support at least so many.
constexpr int kFewestRun = kUnderSanitizers ? 3 : 15;

std::string Describe(const Case& c) {
  std::string text;
  auto add = [&](const std::vector<Tensor>& tensors) {
    for (const Tensor& t : tensors) {
      text += std::string(Name(t.dtype)) + "[";
      for (int64_t d : t.shape) text += std::to_string(d) + " ";
      text += "] ";
    }
  };
  add(c.inputs);
  text += "-> ";
  add(c.outputs);
  return text;
}

// Bytes equal, or floats close: |a - b| <= 3e-6 max(magnitude, max|b|) + 2e-5 |b|, with NaN and
// infinity in the same places. The first term is 25 roundings of the largest number; a sum over the
// window takes about 2 of them, Winograd's transforms (kernels/cpu/conv) 10 to 20.
::testing::AssertionResult Same(const Tensor& actual, const Tensor& expected, float magnitude) {
  if (expected.dtype != DType::kF32) {
    if (expected.bytes == 0 ||
        std::memcmp(actual.data<void>(), expected.data<void>(), expected.bytes) == 0) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure() << "bytes differ";
  }
  float largest = magnitude;
  for (float v : expected.values<float>()) {
    if (std::isfinite(v)) largest = std::max(largest, std::fabs(v));
  }
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const float a = actual.data<float>()[i], b = expected.data<float>()[i];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b) continue;
    const bool are_finite = std::isfinite(a) && std::isfinite(b);
    if (!are_finite || !(std::fabs(a - b) <= 3e-6f * largest + 2e-5f * std::fabs(b))) {
      return ::testing::AssertionFailure() << "element " << i << " is " << a << ", expected " << b;
    }
  }
  return ::testing::AssertionSuccess();
}

const Kernel* ReferenceOf(const Kernel& kernel) {
  for (const Kernel& candidate : Registry().Find(kernel.op)) {
    if (std::strncmp(candidate.name, "ref.", 4) == 0) return &candidate;
  }
  return nullptr;
}

std::vector<const Kernel*> FastKernels() {
  std::vector<const Kernel*> kernels;
  for (const std::string& op : Registry().ops()) {
    for (const Kernel& kernel : Registry().Find(op)) {
      if (std::strncmp(kernel.name, "ref.", 4) != 0 && kernel.backend == Backend::kCpu) {
        kernels.push_back(&kernel);
      }
    }
  }
  return kernels;
}

class KernelVsReferenceTest : public ::testing::TestWithParam<const Kernel*> {};

TEST_P(KernelVsReferenceTest, Agrees) {
  const Kernel& kernel = *GetParam();
  const Kernel* reference = ReferenceOf(kernel);
  ASSERT_NE(reference, nullptr) << kernel.op << " has no reference kernel";
  const auto generator = Generators().find(kernel.op);
  ASSERT_NE(generator, Generators().end())
      << "no cases for " << kernel.op << ": add a generator to a *_cases.cc of tests/kernels";
  int supported = 0, misaligned = 0;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Random random(seed);
    Case want = generator->second(random);
    if (!WhyNot(kernel, want).empty()) continue;
    ++supported;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + Describe(want));
    KernelStatus status = RunCase(*reference, want);
    ASSERT_TRUE(status.ok()) << status.message();
    for (int threads : {1, 3}) {
      Case got = want;
      for (Tensor& t : got.outputs)
        std::fill(t.storage.begin(), t.storage.end(), 0x7f7f7f7f7f7f7f7f);
      status = RunCase(kernel, got, threads);
      ASSERT_TRUE(status.ok()) << status.message();
      for (size_t i = 0; i < want.outputs.size(); ++i) {
        ASSERT_TRUE(Same(got.outputs[i], want.outputs[i], want.magnitude))
            << "result " << i << ", threads " << threads;
      }
    }
    for (size_t i = 0; i < want.inputs.size(); ++i) {
      if ((kernel.inplace_mask >> i & 1) == 0 || want.inputs[i].bytes != want.outputs[0].bytes ||
          SizeOf(want.inputs[i].dtype) != SizeOf(want.outputs[0].dtype)) {
        continue;
      }
      Case got = want;
      status = RunCase(kernel, got, 3, static_cast<int>(i));
      ASSERT_TRUE(status.ok()) << status.message();
      ASSERT_TRUE(Same(got.outputs[0], want.outputs[0], want.magnitude))
          << "in place of input " << i;
    }
    for (size_t i = 0; i < want.inputs.size(); ++i) {
      if (!kernel.reads_unaligned(i) || !want.inputs[i].view().present()) continue;
      Case got = want;
      got.inputs[i].Misalign();
      got.constant_inputs.push_back(i);
      if (!WhyNot(kernel, got).empty()) continue;
      status = RunCase(kernel, got, 3);
      ASSERT_TRUE(status.ok()) << status.message();
      ++misaligned;
      for (size_t j = 0; j < want.outputs.size(); ++j) {
        ASSERT_TRUE(Same(got.outputs[j], want.outputs[j], want.magnitude))
            << "input " << i << " misaligned";
      }
    }
  }
  if (kernel.unaligned_inputs != 0) {
    EXPECT_GE(misaligned, kFewestRun) << "the generator rarely makes these inputs constant";
  }
  EXPECT_GE(supported, kFewestRun) << "the generator rarely makes calls that the kernel supports";
}

// An infinity or a NaN in one operand of a convolution gives the same kind of result in the same
// positions as with the reference kernel. Constant weights are finite here: those may differ where
// a window meets padding.
class NonfiniteConvTest : public KernelVsReferenceTest {};

TEST_P(NonfiniteConvTest, SpreadsAsTheReference) {
  const Kernel& kernel = *GetParam();
  const Kernel* reference = ReferenceOf(kernel);
  ASSERT_NE(reference, nullptr);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr float kPlanted[] = {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()};
  int supported = 0;
  for (uint32_t seed = 0; seed < kCases; ++seed) {
    Random random(seed);
    Case want = Generators().at(kernel.op)(random);
    if (!WhyNot(kernel, want).empty() || want.outputs[0].numel() == 0) continue;
    ++supported;
    const bool is_constant = std::ranges::count(want.constant_inputs, size_t{1}) > 0;
    Case planted = want;
    for (int64_t i = random.Int(1, 2); i > 0; --i) {
      Tensor& x = planted.inputs[is_constant || random.Chance(60) ? 0 : 1];
      x.data<float>()[random.Int(0, x.numel() - 1)] = kPlanted[random.Int(0, 2)];
    }
    // Weights of zero, whose products with an infinity are NaN.
    for (int i = 0; i < 8; ++i) {
      Tensor& w = planted.inputs[1];
      w.data<float>()[random.Int(0, w.numel() - 1)] *= 0;
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + Describe(planted));
    KernelStatus status = RunCase(*reference, planted);
    ASSERT_TRUE(status.ok()) << status.message();
    Case got = planted;
    status = RunCase(kernel, got, 3);
    ASSERT_TRUE(status.ok()) << status.message();
    for (size_t i = 0; i < got.outputs.size(); ++i)
      ASSERT_TRUE(Same(got.outputs[i], planted.outputs[i], planted.magnitude)) << "result " << i;
  }
  EXPECT_GE(supported, kFewestRun);
}

std::vector<const Kernel*> FastConvolutions() {
  std::vector<const Kernel*> kernels = FastKernels();
  std::erase_if(kernels, [](const Kernel* kernel) {
    const std::string_view op = kernel->op;
    return op != "nn.conv" && op != "fused.conv" && op != "nn.conv_transpose" &&
           op != "fused.conv_transpose";
  });
  return kernels;
}

TEST(KernelCases, AreAllRun) {
  if (kCases < kAllCases)
    GTEST_SKIP() << "each kernel runs " << kCases << " of " << kAllCases
                 << " calls: builds without sanitizers run the others, which are like them";
}

std::string NameOf(const ::testing::TestParamInfo<const Kernel*>& info) {
  std::string name = info.param->name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, KernelVsReferenceTest, ::testing::ValuesIn(FastKernels()), NameOf);
INSTANTIATE_TEST_SUITE_P(All, NonfiniteConvTest, ::testing::ValuesIn(FastConvolutions()), NameOf);

}  // namespace
}  // namespace tenon::kernels::testing
