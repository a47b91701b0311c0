// The C++ API on real models.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>
#include <vector>

#include "fmt/format.h"
#include "frontends/cpp/passes.h"
#include "frontends/cpp/tenon.h"
#include "frontends/cpp/version.h"
#include "frontends/debug/verify_semantics.h"
#include "frontends/onnx/file/test_data.h"
#include "ir/core/text/printer.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

constexpr char kModel[] = "tests/models/bert.eager.ts17/model.onnx";
constexpr char kRelu[] = R"ir(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %0 = ten.relu(%a) : (tensor<2xf32>) -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir";

TEST(Api, LoadsTextAndModelsByContent) {
  absl::StatusOr<Model> text = LoadFromBytes(kRelu, "relu.mlir");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_NE(text->main(), nullptr);
  absl::StatusOr<Model> model = Load(kModel);
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Program> program = Compile(*model);
  ASSERT_TRUE(program.ok()) << program.status();
  ASSERT_EQ(program->inputs().size(), 2u);
  EXPECT_EQ(program->inputs()[0].name, "input_ids");
  EXPECT_EQ(program->inputs()[0].dims.size(), 2u);
}

// What a shell's <(...) gives.
TEST(Api, LoadsWhatCanBeReadOnlyOnce) {
  std::ifstream file(kModel, std::ios::binary);
  const std::string model{std::istreambuf_iterator<char>(file), {}};
  for (const std::string& bytes : {std::string(kRelu), model}) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    ASSERT_GE(fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(bytes.size())),
              static_cast<int>(bytes.size()));
    ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    close(ends[1]);
    absl::StatusOr<Model> loaded = Load("/dev/fd/" + std::to_string(ends[0]));
    close(ends[0]);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_NE(loaded->main(), nullptr);
  }
}

TEST(Api, OptimisesCompilesAndRuns) {
  absl::StatusOr<Model> model = Load(kModel);
  ASSERT_TRUE(model.ok()) << model.status();
  Model original = model->Clone();
  OptimizeReport report;
  ASSERT_TRUE(Optimize(*model, {}, &report).ok());
  EXPECT_FALSE(report.rules.empty());
  EXPECT_THAT(Print(*model->module(), {.elide_resources = true}), HasSubstr("fused.attention"));
  // The clone is what it was.
  EXPECT_THAT(Print(*original.module(), {.elide_resources = true}),
              ::testing::Not(HasSubstr("fused.attention")));

  absl::StatusOr<Program> a = Compile(original, {.threads = 1, .reference = true}),
                          b = Compile(*model, {.threads = 1});
  ASSERT_TRUE(a.ok()) << a.status();
  ASSERT_TRUE(b.ok()) << b.status();
  for (int64_t s : {9, 4}) {
    std::vector<Tensor> inputs;
    for (int i = 0; i < 2; ++i) {
      inputs.push_back(Tensor::Make(DType::kI64, std::vector<int64_t>{2, s}));
      for (int64_t j = 0; j < 2 * s; ++j) inputs[i].as<int64_t>()[j] = i == 0 ? j % 5 : 1;
    }
    absl::StatusOr<std::vector<Tensor>> x = a->Run(inputs), y = b->Run(inputs);
    ASSERT_TRUE(x.ok()) << x.status();
    ASSERT_TRUE(y.ok()) << y.status();
    ASSERT_EQ((*x)[0].type_text(), (*y)[0].type_text());
    for (int64_t i = 0; i < (*x)[0].numel(); ++i) {
      ASSERT_NEAR((*x)[0].as<float>()[i], (*y)[0].as<float>()[i], 1e-4) << i;
    }
  }
}

// Clones share their context: what one thread frees between its passes is not what another has in
// hand, and all give the same program.
TEST(Api, ClonesAreOptimisedByThreadsOfTheirOwn) {
  absl::StatusOr<Model> model = Load(kModel);
  ASSERT_TRUE(model.ok()) << model.status();
  std::vector<std::string> texts(4);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&] {
      Model clone = model->Clone();
      EXPECT_TRUE(Optimize(clone).ok());
      EXPECT_TRUE(Compile(*model, {.threads = 1}).ok());
      text = Print(*clone.module());
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

// A program holds what it needs of a model that is given up, and no more.
TEST(Api, CompilesModelsThatAreGivenUp) {
  absl::StatusOr<Model> model = Load(kModel);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model).ok());
  const std::shared_ptr<Context> context = model->shared_context();
  absl::StatusOr<Program> kept = Compile(*model, {.threads = 1});
  ASSERT_TRUE(kept.ok()) << kept.status();
  EXPECT_GT(context->live_blob_bytes(), 0u);
  absl::StatusOr<Program> alone = Compile(*std::move(model), {.threads = 1});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_EQ(context->live_blob_bytes(), 0u);
  std::vector<Tensor> inputs;
  for (int i = 0; i < 2; ++i) {
    inputs.push_back(Tensor::Make(DType::kI64, std::vector<int64_t>{2, 9}));
    for (int64_t j = 0; j < 18; ++j) inputs[i].as<int64_t>()[j] = i == 0 ? j % 5 : 1;
  }
  for (int run = 0; run < 2; ++run) {
    absl::StatusOr<std::vector<Tensor>> x = kept->Run(inputs), y = alone->Run(inputs);
    ASSERT_TRUE(x.ok()) << x.status();
    ASSERT_TRUE(y.ok()) << y.status();
    ASSERT_EQ((*x)[0].num_bytes(), (*y)[0].num_bytes());
    EXPECT_EQ(std::memcmp((*x)[0].data(), (*y)[0].data(), (*x)[0].num_bytes()), 0);
  }
}

TEST(Api, CompilesWhatIsConstantToConstants) {
  absl::StatusOr<Model> model = LoadFromBytes(R"ir(
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%a: tensor<2xf32>):
  %c = core.constant() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32>
  %0 = ten.add(%c, %c) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %1 = ten.mul(%a, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%1) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir",
                                              "constants");
  ASSERT_TRUE(model.ok()) << model.status();
  absl::StatusOr<Program> program = Compile(*model);
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->num_instructions(), 1u);
}

TEST(Api, EveryLevelIsDeterministic) {
  for (int level = 0; level <= kMaxOptLevel; ++level) {
    std::string first;
    for (int run = 0; run < 2; ++run) {
      absl::StatusOr<Model> model = Load(kModel);
      ASSERT_TRUE(model.ok()) << model.status();
      const absl::Status status = Optimize(*model, {.level = level, .verify_each = true});
      ASSERT_TRUE(status.ok()) << status;
      const std::string text =
          Print(*model->module(), {.locations = true, .elide_resources = true});
      if (run == 0) first = text;
      EXPECT_EQ(text, first) << "level " << level;
    }
  }
}

TEST(Api, ErrorsNameThePlace) {
  EXPECT_TRUE(absl::IsNotFound(Load("/nowhere/x.onnx").status()));
  EXPECT_THAT(std::string(LoadFromBytes("", "x").status().message()), HasSubstr("empty"));
  EXPECT_THAT(std::string(LoadFromBytes("func.funk", "x.mlir").status().message()),
              HasSubstr("x.mlir:1"));
  EXPECT_FALSE(LoadFromBytes(std::string("\x08\x07garbage\x01\x02", 11), "x.onnx").ok());
  absl::StatusOr<Model> model = LoadFromBytes(kRelu, "relu.mlir");
  ASSERT_TRUE(model.ok());
  EXPECT_FALSE(Optimize(*model, {.level = 9}).ok());
  EXPECT_THAT(std::string(Optimize(*model, {.pipeline = "canonicalise"}).message()),
              HasSubstr("canonicalize"));
  absl::StatusOr<Model> nothing =
      LoadFromBytes("builtin.module() ({\n^bb0():\n}) : () -> ()\n", "e.mlir");
  ASSERT_TRUE(nothing.ok()) << nothing.status();
  EXPECT_THAT(std::string(Compile(*nothing).status().message()), HasSubstr("nothing to run"));
}

TEST(Api, RuleFilesThatCannotBeReadAreNotFound) {
  absl::StatusOr<Model> model = LoadFromBytes(kRelu, "relu.mlir");
  ASSERT_TRUE(model.ok());
  const absl::Status missing = Optimize(*model, {.rule_files = {"/nowhere/x.drr"}});
  EXPECT_TRUE(absl::IsNotFound(missing)) << missing;
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/nowhere/x.drr"));
  const absl::Status folder = Optimize(*model, {.rule_files = {"."}});
  EXPECT_TRUE(absl::IsInvalidArgument(folder)) << folder;
}

TEST(Api, RefusesNumbersOfThreads) {
  absl::StatusOr<Model> model = LoadFromBytes(kRelu, "relu.mlir");
  ASSERT_TRUE(model.ok());
  for (const int threads : {-1, kMaxThreads + 1, 100000}) {
    const absl::Status refused = Compile(*model, {.threads = threads}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()),
                HasSubstr(fmt::format("number of threads is {}", threads)));
  }
}

TEST(Api, RefusesLimitsOutOfRange) {
  absl::StatusOr<Model> model = LoadFromBytes(kRelu, "relu.mlir");
  ASSERT_TRUE(model.ok());
  for (const Limits& limits : std::vector<Limits>{{.stream_bytes = 0},
                                                  {.loop_trips = -1},
                                                  {.memory_bytes = -5},
                                                  {.nesting = 0},
                                                  {.nesting = kMaxNesting + 1},
                                                  {.message_bytes = 0}}) {
    for (const absl::Status& refused :
         {LoadFromBytes(kRelu, "relu.mlir", {.limits = limits}).status(),
          Compile(*model, {.limits = limits}).status(),
          CheckVerifyInputs(model->module(), {.limits = limits})}) {
      EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
      EXPECT_THAT(std::string(refused.message()), HasSubstr("Limits::"));
    }
  }
  EXPECT_TRUE(LoadFromBytes(kRelu, "relu.mlir", {.limits = {.nesting = kMaxNesting}}).ok());
  for (const double tolerance : {-1.0, std::nan("")})
    EXPECT_TRUE(
        absl::IsInvalidArgument(CheckVerifyInputs(model->module(), {.tolerance = tolerance})));
}

TEST(Api, OptimizesTwice) {
  absl::StatusOr<Model> model = Load(kModel);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model).ok());
  const std::string text = Print(*model->module());
  ASSERT_TRUE(Optimize(*model).ok());
  EXPECT_EQ(Print(*model->module()), text);
  // Its text is how a host keeps it.
  absl::StatusOr<Model> again = LoadFromBytes(text, "model.mlir");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_TRUE(Compile(*again).ok());
}

TEST(Api, TheVersionIsThatOfTheProject) {
  EXPECT_STREQ(TENON_VERSION, TENON_PROJECT_VERSION);
  std::string numbers = std::to_string(TENON_VERSION_MAJOR);
  for (const int number : {TENON_VERSION_MINOR, TENON_VERSION_PATCH})
    numbers.append(".").append(std::to_string(number));
  EXPECT_EQ(numbers, TENON_VERSION);
}

TEST(Api, PipelinesAreKnownByName) {
  PassRegistry registry;
  EXPECT_TRUE(RegisterAllPasses(registry).ok());
  for (const StandardPipeline& pipeline : StandardPipelines()) {
    EXPECT_TRUE(registry.pipelines().contains(pipeline.name)) << pipeline.name;
  }
  EXPECT_EQ(OptPipeline(1), StandardPipelines()[1].text);
}

}  // namespace
}  // namespace tenon
