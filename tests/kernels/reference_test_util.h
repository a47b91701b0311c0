// Runs one reference kernel on given tensors.
#ifndef TENON_TESTS_KERNELS_REFERENCE_TEST_UTIL_H_
#define TENON_TESTS_KERNELS_REFERENCE_TEST_UTIL_H_

#include <gtest/gtest.h>

#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {

// The first result of kernel `name`.
template <typename T>
std::vector<T> Evaluate(const char* name, std::vector<Tensor> inputs, Shape out,
                        std::shared_ptr<const void> attrs = nullptr, DType dtype = DTypeOf<T>()) {
  const Kernel* kernel = Registry().FindByName(name);
  if (kernel == nullptr) {
    ADD_FAILURE() << "no kernel " << name;
    return {};
  }
  Case c = {std::move(inputs), {Tensor(dtype, std::move(out))}, std::move(attrs), {}};
  const KernelStatus status = RunCase(*kernel, c);
  EXPECT_TRUE(status.ok()) << name << ": " << status.message();
  return c.outputs[0].template values<T>();
}

// The same with the op's attribute struct, mostly of floats.
template <typename T = float, typename Attrs>
std::vector<T> Eval(const char* name, std::vector<Tensor> inputs, Shape out, Attrs attrs) {
  return Evaluate<T>(name, std::move(inputs), std::move(out), MakeAttrs(std::move(attrs)));
}

using Floats = std::vector<float>;
inline Tensor F(Shape shape, Floats values) { return Tensor::Of(std::move(shape), values); }

// The message with which kernel `name` refuses the call; a failure if it does not.
inline std::string Refusal(const char* name, std::vector<Tensor> inputs, Tensor out,
                           std::shared_ptr<const void> attrs) {
  Case c = {std::move(inputs), {std::move(out)}, std::move(attrs), {}};
  const KernelStatus status = RunCase(*Registry().FindByName(name), c);
  EXPECT_EQ(status.code(), KernelStatus::Code::kInvalidArgument);
  return std::string(status.message());
}

inline void ExpectNear(const std::vector<float>& actual, const std::vector<float>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    EXPECT_NEAR(actual[i], expected[i], 2e-6) << "at " << i;
}

}  // namespace tenon::kernels::testing

#endif  // TENON_TESTS_KERNELS_REFERENCE_TEST_UTIL_H_
