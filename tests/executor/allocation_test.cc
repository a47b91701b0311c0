// A run in the steady state allocates nothing, neither by operator new nor by malloc.
// Not under sanitizers, which own both.
#include "tests/executor/counting_allocator.h"

#ifdef TENON_COUNTS_ALLOCATIONS
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

#include "executor/io_binding.h"
#include "tests/executor/run_util.h"

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

class Allocation : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    absl::StatusOr<Program> program = CompileText(Block(), GetParam(), nullptr, 2);
    ASSERT_TRUE(program.ok()) << program.status();
    program_.emplace(*std::move(program));
  }
  // Runs it twice, so that everything is prepared, and then counts.
  template <typename F>
  void ExpectNone(F run) {
    absl::Status status;
    for (int i = 0; i < 2 && status.ok(); ++i) status = run();
    ASSERT_TRUE(status.ok()) << status;
    allocations::Count count;
    for (int i = 0; i < 10 && status.ok(); ++i) status = run();
    count.Stop();
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(count.ours(), 0) << "allocations in 10 runs";
    RecordProperty("vendor_allocations_per_run", count.vendors() / 10);
  }

  std::optional<Program> program_;
  const Tensor a_ = Ints({2, 3}, {1, 2, 3, 4, 5, 6}), b_ = Ints({1, 4}, {7, 8, 9, 10});
};

TEST_P(Allocation, IntoTheCallersMemory) {
  Session session = program_->NewSession();
  const Tensor out_a = Tensor::Make(DType::kF32, std::vector<int64_t>{2, 3, 8});
  const Tensor out_b = Tensor::Make(DType::kF32, std::vector<int64_t>{1, 4, 8});
  const std::vector<kernels::TensorView> in_a = {a_.view()}, to_a = {out_a.view()};
  const std::vector<kernels::TensorView> in_b = {b_.view()}, to_b = {out_b.view()};
  CancelToken token;
  ExpectNone([&] {
    // A shape seen before is as cheap as the last one.
    if (absl::Status status = session.Run(in_a, to_a); !status.ok()) return status;
    return session.Run(in_b, to_b, {.cancel = &token});
  });
  EXPECT_EQ(session.stats().shapes_prepared, 2);
}

TEST_P(Allocation, Bound) {
  Session session = program_->NewSession();
  IoBinding own(*program_), fixed(*program_);
  ASSERT_TRUE(own.BindInput(0, a_).ok());
  ASSERT_TRUE(fixed.BindInput(0, b_).ok());
  ASSERT_TRUE(fixed.BindOutput(0, Tensor::Make(DType::kF32, std::vector<int64_t>{1, 4, 8})).ok());
  ExpectNone([&] {
    if (absl::Status status = session.Run(own); !status.ok()) return status;
    return session.Run(fixed);
  });
}

// The bound input changes its shape, and with it the output in the binding's own memory.
TEST_P(Allocation, BoundWithChangingShapes) {
  Session session = program_->NewSession();
  IoBinding binding(*program_);
  const Tensor inputs[] = {a_, b_};
  ASSERT_TRUE(binding.BindInput(0, a_).ok());
  ASSERT_TRUE(session.Run(binding).ok());
  ExpectNone([&] {
    for (const Tensor& input : inputs) {
      // A tensor owns its list of extents: to bind another is to allocate it.
      {
        allocations::Pause pause;
        if (absl::Status status = binding.BindInput(0, input); !status.ok()) return status;
      }
      if (absl::Status status = session.Run(binding); !status.ok()) return status;
    }
    return absl::OkStatus();
  });
}

// A decoder whose past grows, over lengths seen before.
TEST_P(Allocation, CarriedAndGrowing) {
  if (GetParam()) GTEST_SKIP() << "reference kernels move the past";
  const std::string q = R"(tensor<1x?x16xf32, ["", "S", ""]>)";
  const std::string past = R"(tensor<1x2x?x8xf32, ["", "", "P", ""]>)";
  const std::string present = R"(tensor<1x2x?x8xf32, ["", "", "P + S", ""]>)";
  const std::string types = q + ", " + present + ", " + present;
  absl::StatusOr<Program> program = CompileText(
      Function("%q: " + q + ", %pk: " + past + ", %pv: " + past,
               "(" + q + ", " + past + ", " + past + ") -> (" + types + ")",
               "%0:3 = fused.attention(%q, %q, %q, %pk, %pv) <{causal = true, kv_num_heads = 2 : "
               "i64, num_heads = 2 : i64, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1, "
               "1>, scale = 0.5 : f32}> : (" +
                   q + ", " + q + ", " + q + ", " + past + ", " + past + ") -> (" + types +
                   ")\nfunc.return(%0#0, %0#1, %0#2) : (" + types + ") -> ()\n"),
      GetParam(), nullptr, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  IoBinding binding(*program);
  ASSERT_TRUE(binding.BindInput(0, Ramp({1, 1, 16})).ok());
  ASSERT_TRUE(binding.Carry(1, 1).ok());
  ASSERT_TRUE(binding.Carry(2, 2).ok());
  const Tensor empty = Ramp({1, 2, 0, 8});
  ExpectNone([&] {
    {
      allocations::Pause pause;
      for (size_t i : {1, 2}) {
        if (absl::Status status = binding.BindInput(i, empty); !status.ok()) return status;
      }
    }
    for (int step = 0; step < 10; ++step) {
      if (absl::Status status = session.Run(binding); !status.ok()) return status;
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(session.stats().shapes_prepared, 10);
}

TEST_P(Allocation, TheCounterCounts) {
  allocations::Count count;
  // Where nobody looks at the address, a compiler may leave the allocation out.
  int* volatile number = new int(GetParam() ? 1 : 0);
  delete number;
  void* volatile raw = std::malloc(10);
  std::free(raw);
  count.Stop();
  EXPECT_GE(count.ours(), 2);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Allocation, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "reference" : "fast"; });

}  // namespace
}  // namespace tenon

#else
#include <gtest/gtest.h>

TEST(Allocation, IsCounted) {
  GTEST_SKIP() << "sanitizers own the allocator, whose calls are counted";
}

#endif  // TENON_COUNTS_ALLOCATIONS
