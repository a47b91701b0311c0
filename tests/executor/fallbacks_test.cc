// What programs say of work that is slower than they promise.
#include "executor/lowering/fallbacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "executor/profile/profile_report.h"
#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "tests/executor/run_util.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> NotesOf(const std::string& text, bool reference = false,
                                 Profiler* profiler = nullptr) {
  std::vector<std::string> notes;
  absl::StatusOr<Model> model = LoadFromBytes(text, "m.mlir");
  EXPECT_TRUE(model.ok()) << model.status();
  if (!model.ok()) return notes;
  CompileOptions options;
  options.reference = reference;
  options.on_fallback = [&](std::string_view note) { notes.emplace_back(note); };
  const absl::StatusOr<Program> program = Compile(*model, options);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok() || profiler == nullptr) return notes;
  std::vector<Tensor> inputs;
  for (const TensorSpec& input : program->inputs()) {
    std::vector<int64_t> shape;
    for (const std::string& dim : input.dims) shape.push_back(std::stoll(dim));
    inputs.push_back(Tensor::Make(input.dtype, shape));
    std::memset(inputs.back().data(), 0, inputs.back().num_bytes());
  }
  RunOptions run;
  run.profiler = profiler;
  EXPECT_TRUE(program->Run(inputs, run).ok());
  return notes;
}

// Products of f64 have no fast kernel.
std::string Products(int count, std::string_view type = "tensor<8x8xf64>") {
  std::string body;
  for (int i = 0; i < count; ++i) {
    body += fmt::format("  %{} = ten.matmul({}, %a) : ({}, {}) -> {}\n", i,
                        i == 0 ? "%a" : fmt::format("%{}", i - 1), type, type, type);
  }
  body += fmt::format("  func.return(%{}) : ({}) -> ()\n", count - 1, type);
  return Function(fmt::format("%a: {}", type), fmt::format("({}) -> {}", type, type), body);
}

TEST(FallbacksTest, EachKindOnceWithItsReason) {
  EXPECT_THAT(NotesOf(Products(3)),
              ElementsAre("m.mlir:3:8: ten.matmul runs on a reference kernel: cpu.matmul: needs "
                          "f32, operand 0 is f64 (3 operations)"));
  EXPECT_THAT(NotesOf(Products(3, "tensor<8x8xf32>")), IsEmpty());
  EXPECT_THAT(NotesOf(Products(3), /*reference=*/true), IsEmpty());
}

// Weights of bytes, whose f32 form is rows * 4 KiB.
std::string UnpackedProduct(int rows) {
  return Function(fmt::format("%x: tensor<1x{}xf32>", rows),
                  fmt::format("(tensor<1x{}xf32>) -> tensor<1x1024xf32>", rows),
                  fmt::format(R"ir(
  %w = core.constant() <{{value = dense<3> : tensor<{0}x1024xi8>}}> : () -> tensor<{0}x1024xi8>
  %s = core.constant() <{{value = dense<0.5> : tensor<1x1024xf32>}}> : () -> tensor<1x1024xf32>
  %0 = ten.cast(%w) <{{to = f32}}> : (tensor<{0}x1024xi8>) -> tensor<{0}x1024xf32>
  %1 = ten.mul(%0, %s) : (tensor<{0}x1024xf32>, tensor<1x1024xf32>) -> tensor<{0}x1024xf32>
  %2 = ten.matmul(%x, %1) : (tensor<1x{0}xf32>, tensor<{0}x1024xf32>) -> tensor<1x1024xf32>
  func.return(%2) : (tensor<1x1024xf32>) -> ()
)ir",
                              rows));
}

TEST(FallbacksTest, WeightsThatEachRunUnpacksAreNamed) {
  EXPECT_THAT(NotesOf(UnpackedProduct(4096)), IsEmpty());
  EXPECT_THAT(NotesOf(UnpackedProduct(5120)),
              ElementsAre("m.mlir:7:8: each run computes a value of 20.0 MiB from constants alone "
                          "(ir-opt -O2 --constant-fold='max-bytes=20971520' computes it once)"));
}

TEST(FallbacksTest, TheLoweredProgramSaysWhy) {
  std::string lowered;
  ASSERT_TRUE(CompileText(Products(2), /*reference=*/false, &lowered).ok());
  EXPECT_THAT(lowered,
              HasSubstr("{kernel.fallback = \"cpu.matmul: needs f32, operand 0 is f64\"}"));
  ASSERT_TRUE(CompileText(Products(2), /*reference=*/true, &lowered).ok());
  EXPECT_THAT(lowered, Not(HasSubstr("kernel.fallback")));
}

TEST(FallbacksTest, ProfilesSayWhy) {
  Profiler profiler;
  NotesOf(Products(2), false, &profiler);
  constexpr char kWhy[] = "cpu.matmul: needs f32, operand 0 is f64";
  EXPECT_THAT(ProfileTable(profiler), HasSubstr(fmt::format("ref.matmul of ten.matmul: {}", kWhy)));
  const std::string json = ProfileJson(profiler);
  EXPECT_THAT(json, HasSubstr(fmt::format("\"reason\": \"{}\"", kWhy)));
  EXPECT_THAT(json, HasSubstr(fmt::format("\"fallback\": \"{}\"", kWhy)));
  EXPECT_THAT(ProfileTrace(profiler), HasSubstr(fmt::format("\"fallback\": \"{}\"", kWhy)));
  Profiler fast;
  NotesOf(Products(2, "tensor<8x8xf32>"), false, &fast);
  EXPECT_THAT(ProfileTable(fast), Not(HasSubstr("fallback")));
  EXPECT_THAT(ProfileJson(fast), HasSubstr("\"fallbacks\": [\n  ]"));
}

// No kernel but the reference one: it counts where there is much to do.
TEST(FallbacksTest, TrivialWorkIsNotMentioned) {
  const auto range = [](int64_t count) {
    return Function("%n: tensor<i64>", "(tensor<i64>) -> tensor<?xi64>",
                    fmt::format("  %0 = core.constant() <{{value = dense<0> : tensor<i64>}}> : () "
                                "-> tensor<i64>\n"
                                "  %1 = core.constant() <{{value = dense<1> : tensor<i64>}}> : () "
                                "-> tensor<i64>\n"
                                "  %2 = ten.range(%0, %n, %1) : (tensor<i64>, tensor<i64>, "
                                "tensor<i64>) -> tensor<{0}xi64>\n"
                                "  func.return(%2) : (tensor<{0}xi64>) -> ()\n",
                                count < 0 ? "?" : std::to_string(count)));
  };
  EXPECT_THAT(NotesOf(range(-1)), IsEmpty());
}

TEST(FallbacksTest, RegionsAreLookedInto) {
  const std::string text = Function(
      "%c: tensor<i1>, %a: tensor<8x8xf64>", "(tensor<i1>, tensor<8x8xf64>) -> tensor<8x8xf64>",
      "  %r = ctl.if(%c) ({\n"
      "    %0 = ten.matmul(%a, %a) : (tensor<8x8xf64>, tensor<8x8xf64>) -> tensor<8x8xf64>\n"
      "    ctl.yield(%0) : (tensor<8x8xf64>) -> ()\n  }, {\n"
      "    ctl.yield(%a) : (tensor<8x8xf64>) -> ()\n  }) : (tensor<i1>) -> tensor<8x8xf64>\n"
      "  func.return(%r) : (tensor<8x8xf64>) -> ()\n");
  EXPECT_THAT(NotesOf(text), ElementsAre(HasSubstr("ten.matmul runs on a reference kernel")));
}

}  // namespace
}  // namespace tenon
