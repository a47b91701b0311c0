// A run in the steady state allocates nothing. Allocations inside oneDNN and OpenMP are counted
// apart.
// Not under AddressSanitizer, which owns operator new.
#if !defined(__SANITIZE_ADDRESS__)
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#include "tests/executor/run_util.h"

namespace {

std::atomic<bool> counting{false};
std::atomic<int> ours{0}, vendor{0};

void Count(const void* caller) {
  if (!counting.load(std::memory_order_relaxed)) return;
  Dl_info info;
  const bool in_vendor = dladdr(caller, &info) != 0 && info.dli_fname != nullptr &&
                         (std::strstr(info.dli_fname, "libdnnl") != nullptr ||
                          std::strstr(info.dli_fname, "libgomp") != nullptr);
  ++(in_vendor ? vendor : ours);
}

void* Allocate(size_t size, size_t alignment) {
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

[[gnu::noinline]] void* operator new(size_t size) {
  Count(__builtin_return_address(0));
  return Allocate(size, 0);
}
[[gnu::noinline]] void* operator new[](size_t size) {
  Count(__builtin_return_address(0));
  return Allocate(size, 0);
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  Count(__builtin_return_address(0));
  return Allocate(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void* operator new[](size_t size, std::align_val_t alignment) {
  Count(__builtin_return_address(0));
  return Allocate(size, static_cast<size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  std::free(p);
}

namespace tenon {
namespace {

// What a transformer is made of: products, bias, norms, softmax, transposes, a gather, views.
std::string Block() {
  return Function("%ids: tensor<?x?xi64, [\"B\", \"S\"]>",
                  "(tensor<?x?xi64, [\"B\", \"S\"]>) -> tensor<?x?x8xf32, [\"B\", \"S\", \"\"]>",
                  R"ir(
  %table = core.constant() <{value = dense<0.5> : tensor<16x8xf32>}> : () -> tensor<16x8xf32>
  %w = core.constant() <{value = dense<0.25> : tensor<8x8xf32>}> : () -> tensor<8x8xf32>
  %b = core.constant() <{value = dense<0.125> : tensor<8xf32>}> : () -> tensor<8xf32>
  %0 = ten.gather(%table, %ids) <{axis = 0 : i64}> : (tensor<16x8xf32>, tensor<?x?xi64, ["B", "S"]>) -> tensor<?x?x8xf32, ["B", "S", ""]>
  %1 = ten.matmul(%0, %w) : (tensor<?x?x8xf32, ["B", "S", ""]>, tensor<8x8xf32>) -> tensor<?x?x8xf32, ["B", "S", ""]>
  %2 = ten.add(%1, %b) : (tensor<?x?x8xf32, ["B", "S", ""]>, tensor<8xf32>) -> tensor<?x?x8xf32, ["B", "S", ""]>
  %3 = ten.reshape(%2) <{shape = #core.dims<"B", "S", 2, 4>}> : (tensor<?x?x8xf32, ["B", "S", ""]>) -> tensor<?x?x2x4xf32, ["B", "S", "", ""]>
  %4 = ten.transpose(%3) <{perm = array<i64: 0, 2, 1, 3>}> : (tensor<?x?x2x4xf32, ["B", "S", "", ""]>) -> tensor<?x2x?x4xf32, ["B", "", "S", ""]>
  %5 = ten.matmul(%4, %4) <{transpose_b = true}> : (tensor<?x2x?x4xf32, ["B", "", "S", ""]>, tensor<?x2x?x4xf32, ["B", "", "S", ""]>) -> tensor<?x2x?x?xf32, ["B", "", "S", "S"]>
  %6 = nn.softmax(%5) <{axis = 3 : i64}> : (tensor<?x2x?x?xf32, ["B", "", "S", "S"]>) -> tensor<?x2x?x?xf32, ["B", "", "S", "S"]>
  %7 = ten.matmul(%6, %4) : (tensor<?x2x?x?xf32, ["B", "", "S", "S"]>, tensor<?x2x?x4xf32, ["B", "", "S", ""]>) -> tensor<?x2x?x4xf32, ["B", "", "S", ""]>
  %8 = ten.transpose(%7) <{perm = array<i64: 0, 2, 1, 3>}> : (tensor<?x2x?x4xf32, ["B", "", "S", ""]>) -> tensor<?x?x2x4xf32, ["B", "S", "", ""]>
  %9 = ten.reshape(%8) <{shape = #core.dims<"B", "S", 8>}> : (tensor<?x?x2x4xf32, ["B", "S", "", ""]>) -> tensor<?x?x8xf32, ["B", "S", ""]>
  %10 = nn.layer_norm(%9) <{axis = 2 : i64, operandSegmentSizes = array<i32: 1, 0, 0>}> : (tensor<?x?x8xf32, ["B", "S", ""]>) -> tensor<?x?x8xf32, ["B", "S", ""]>
  %11 = fused.linear(%10, %w, %b) <{activation = "gelu", operandSegmentSizes = array<i32: 1, 1, 1, 0>}> : (tensor<?x?x8xf32, ["B", "S", ""]>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<?x?x8xf32, ["B", "S", ""]>
  func.return(%11) : (tensor<?x?x8xf32, ["B", "S", ""]>) -> ()
)ir");
}

class Allocation : public ::testing::TestWithParam<bool> {};

TEST_P(Allocation, NoneInTheSteadyState) {
  absl::StatusOr<Program> program = CompileText(Block(), GetParam(), nullptr, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  const Tensor a = Ints({2, 3}, {1, 2, 3, 4, 5, 6}), b = Ints({1, 4}, {7, 8, 9, 10});
  const Tensor out_a = Tensor::Make(DType::kF32, std::vector<int64_t>{2, 3, 8});
  const Tensor out_b = Tensor::Make(DType::kF32, std::vector<int64_t>{1, 4, 8});
  const std::vector<kernels::TensorView> in_a = {a.view()}, to_a = {out_a.view()};
  const std::vector<kernels::TensorView> in_b = {b.view()}, to_b = {out_b.view()};
  // The first runs prepare; OpenMP starts its threads.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(session.Run(in_a, to_a).ok());
    ASSERT_TRUE(session.Run(in_b, to_b).ok());
  }
  ours = vendor = 0;
  counting = true;
  absl::Status status;
  for (int i = 0; i < 10 && status.ok(); ++i) {
    status = session.Run(in_a, to_a);
    if (status.ok())
      status = session.Run(in_b, to_b);  // a shape seen before is as cheap as the last one
  }
  counting = false;
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ours, 0) << "allocations in 20 runs";
  RecordProperty("vendor_allocations_per_run", vendor / 20);
  EXPECT_EQ(session.stats().shapes_prepared, 2);
}

TEST_P(Allocation, TheCounterCounts) {
  ours = 0;
  counting = true;
  delete new int(GetParam() ? 1 : 0);
  std::vector<int> v(100);
  counting = false;
  EXPECT_GE(ours, 1);
  EXPECT_EQ(v.size(), 100u);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Allocation, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "reference" : "fast"; });

}  // namespace
}  // namespace tenon

#endif  // __SANITIZE_ADDRESS__
