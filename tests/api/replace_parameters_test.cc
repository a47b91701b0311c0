// Values of parameters replaced while programs run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "frontends/cpp/parameters/parameters.h"
#include "frontends/cpp/tenon.h"
#include "ir/core/text/printer.h"

namespace tenon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Parameters that a kernel packs, that an operation on constants reads, that a region and a called
// function read, and one that nothing reads.
constexpr char kReplaceProgram[] = R"ir(
core.parameter() <{sym_name = "w1", type = f32, value = dense<0.5> : tensor<128x160xf32>}> : () -> ()
core.parameter() <{sym_name = "b1", type = f32, value = dense<0.25> : tensor<160xf32>}> : () -> ()
core.parameter() <{sym_name = "w2", type = f32, value = dense<0.125> : tensor<160x64xf32>}> : () -> ()
core.parameter() <{sym_name = "scale", type = f32, value = dense<2.0> : tensor<64xf32>}> : () -> ()
core.parameter() <{sym_name = "w3", type = f32, value = dense<0.5> : tensor<64x320xf32>}> : () -> ()
core.parameter() <{sym_name = "b3", type = f32, value = dense<1.0> : tensor<320xf32>}> : () -> ()
core.parameter() <{sym_name = "unread", type = f32, value = dense<1.0> : tensor<3xf32>}> : () -> ()
func.func() <{function_type = (tensor<?x128xf32, ["N", ""]>, tensor<i1>) -> tensor<?x320xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x128xf32, ["N", ""]>, %c: tensor<i1>):
  %w1 = core.get_parameter() <{name = @w1}> : () -> tensor<128x160xf32>
  %b1 = core.get_parameter() <{name = @b1}> : () -> tensor<160xf32>
  %0 = ten.matmul(%x, %w1) : (tensor<?x128xf32, ["N", ""]>, tensor<128x160xf32>) -> tensor<?x160xf32, ["N", ""]>
  %1 = ten.add(%0, %b1) : (tensor<?x160xf32, ["N", ""]>, tensor<160xf32>) -> tensor<?x160xf32, ["N", ""]>
  %w2 = core.get_parameter() <{name = @w2}> : () -> tensor<160x64xf32>
  %scale = core.get_parameter() <{name = @scale}> : () -> tensor<64xf32>
  %2 = ten.mul(%w2, %scale) : (tensor<160x64xf32>, tensor<64xf32>) -> tensor<160x64xf32>
  %3 = ten.matmul(%1, %2) : (tensor<?x160xf32, ["N", ""]>, tensor<160x64xf32>) -> tensor<?x64xf32, ["N", ""]>
  %r = ctl.if(%c) ({
    %w3 = core.get_parameter() <{name = @w3}> : () -> tensor<64x320xf32>
    %4 = ten.matmul(%3, %w3) : (tensor<?x64xf32, ["N", ""]>, tensor<64x320xf32>) -> tensor<?x320xf32, ["N", ""]>
    ctl.yield(%4) : (tensor<?x320xf32, ["N", ""]>) -> ()
  }, {
    %4 = func.call(%3) <{callee = @side}> : (tensor<?x64xf32, ["N", ""]>) -> tensor<?x320xf32, ["N", ""]>
    ctl.yield(%4) : (tensor<?x320xf32, ["N", ""]>) -> ()
  }) : (tensor<i1>) -> tensor<?x320xf32, ["N", ""]>
  func.return(%r) : (tensor<?x320xf32, ["N", ""]>) -> ()
}) : () -> ()
func.func() <{function_type = (tensor<?x64xf32, ["N", ""]>) -> tensor<?x320xf32, ["N", ""]>, sym_name = "side"}> ({
^bb0(%x: tensor<?x64xf32, ["N", ""]>):
  %w3 = core.get_parameter() <{name = @w3}> : () -> tensor<64x320xf32>
  %b3 = core.get_parameter() <{name = @b3}> : () -> tensor<320xf32>
  %0 = ten.matmul(%x, %w3) : (tensor<?x64xf32, ["N", ""]>, tensor<64x320xf32>) -> tensor<?x320xf32, ["N", ""]>
  %1 = ten.add(%0, %b3) : (tensor<?x320xf32, ["N", ""]>, tensor<320xf32>) -> tensor<?x320xf32, ["N", ""]>
  func.return(%1) : (tensor<?x320xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

const std::vector<std::string> kNames = {"w1", "b1", "w2", "scale", "w3", "b3", "unread"};

// Numbers around 0 that depend on `seed`.
Tensor Numbers(std::vector<int64_t> shape, uint32_t seed) {
  Tensor tensor = Tensor::Make(DType::kF32, shape);
  uint32_t state = seed * 2654435761u + 1;
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    state = state * 1664525u + 1013904223u;
    tensor.as<float>()[i] = static_cast<float>(state >> 16) / 65536.0f - 0.5f;
  }
  return tensor;
}

std::vector<ParameterValue> Values(uint32_t seed) {
  std::vector<ParameterValue> values = {
      {"w1", Numbers({128, 160}, seed)},    {"b1", Numbers({160}, seed + 1)},
      {"w2", Numbers({160, 64}, seed + 2)}, {"scale", Numbers({64}, seed + 3)},
      {"w3", Numbers({64, 320}, seed + 4)}, {"b3", Numbers({320}, seed + 5)},
      {"unread", Numbers({3}, seed + 6)}};
  return values;
}

std::vector<ParameterValue> Only(std::vector<ParameterValue> values,
                                 const std::vector<std::string>& names) {
  std::erase_if(values, [&](const ParameterValue& value) {
    return std::find(names.begin(), names.end(), value.name) == names.end();
  });
  return values;
}

std::vector<Tensor> Inputs(int64_t rows, bool condition) {
  Tensor flag = Tensor::Make(DType::kBool, std::initializer_list<int64_t>{});
  *flag.as<bool>() = condition;
  return {Numbers({rows, 128}, 99), flag};
}

std::vector<float> Floats(const absl::StatusOr<std::vector<Tensor>>& result) {
  EXPECT_TRUE(result.ok()) << result.status();
  if (!result.ok()) return {};
  const auto* at = result->front().as<float>();
  return {at, at + result->front().numel()};
}

class ReplaceParametersTest : public ::testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  // A program that begins with these values.
  absl::StatusOr<Program> Compiled(const std::vector<ParameterValue>& values,
                                   const std::vector<std::string>& replaceable, int level,
                                   std::shared_ptr<PackedWeights> weights = nullptr) {
    LoadOptions load;
    load.replaceable = replaceable;
    if (!values.empty()) {
      std::vector<SafeTensor> tensors;
      for (const auto& [name, value] : values) {
        tensors.push_back({name,
                           value.dtype(),
                           {value.shape().begin(), value.shape().end()},
                           Blob::Copy({value.as<std::byte>(), value.num_bytes()})});
      }
      EXPECT_TRUE(WriteSafeTensors(path_, tensors).ok());
      load.parameter_files = {path_};
    }
    absl::StatusOr<Model> model = LoadFromBytes(kReplaceProgram, "r.mlir", load);
    if (!model.ok()) return model.status();
    OptimizeOptions optimize;
    optimize.level = level;
    if (const absl::Status status = Optimize(*model, optimize); !status.ok()) return status;
    return Compile(*std::move(model), {.threads = 1, .weights = std::move(weights)});
  }

  const std::string path_ =
      (std::filesystem::path(::testing::TempDir()) /
       (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
        ".safetensors"))
          .string();
};

TEST_F(ReplaceParametersTest, RunsAreThoseOfAProgramThatBeganWithTheValues) {
  const std::vector<std::vector<std::string>> choices = {
      kNames, {"w1", "unread"}, {"b1"}, {"scale", "w3"}, {"w2", "b3"}};
  for (const int level : {0, 1, 2, 3}) {
    for (const std::vector<std::string>& names : choices) {
      if (level != 2 && &names != &choices[0]) continue;
      SCOPED_TRACE(::testing::Message() << level << " " << ::testing::PrintToString(names));
      absl::StatusOr<Program> program = Compiled(Values(1), names, level);
      ASSERT_TRUE(program.ok()) << program.status();
      Session session = program->NewSession();
      for (const uint32_t seed : {100u, 200u, 1u}) {
        // Half of them first: the others stay.
        std::vector<ParameterValue> all = Values(1);
        for (ParameterValue& value : all) {
          for (const ParameterValue& other : Only(Values(seed), names)) {
            if (other.name == value.name) value = other;
          }
        }
        const std::vector<ParameterValue> given = Only(Values(seed), names);
        const size_t half = given.size() / 2;
        ASSERT_TRUE(program->ReplaceParameters(std::span(given).first(half)).ok());
        ASSERT_TRUE(session.Run(Inputs(3, true)).ok());
        const absl::Status replaced = program->ReplaceParameters(std::span(given).subspan(half));
        ASSERT_TRUE(replaced.ok()) << replaced;
        const absl::StatusOr<Program> fresh = Compiled(all, names, level);
        ASSERT_TRUE(fresh.ok()) << fresh.status();
        const absl::StatusOr<Program> folded = Compiled(all, {}, level);
        ASSERT_TRUE(folded.ok()) << folded.status();
        for (const bool condition : {true, false}) {
          for (const int64_t rows : {3, 1, 17}) {
            const std::vector<Tensor> inputs = Inputs(rows, condition);
            const std::vector<float> expected = Floats(fresh->Run(inputs));
            EXPECT_EQ(Floats(session.Run(inputs)), expected);
            EXPECT_EQ(Floats(program->Run(inputs)), expected);
            EXPECT_THAT(Floats(folded->Run(inputs)),
                        ::testing::Pointwise(::testing::FloatNear(2e-2f), expected));
          }
        }
      }
    }
  }
}

TEST_F(ReplaceParametersTest, ListsThemAndTheirValues) {
  absl::StatusOr<Program> program = Compiled({}, {"*"}, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  std::vector<std::string> names;
  for (const TensorSpec& spec : program->parameters()) names.push_back(spec.name);
  EXPECT_EQ(names, kNames);
  EXPECT_THAT(program->parameters()[0].dims, ElementsAre("128", "160"));
  EXPECT_EQ(program->Parameter("scale")->as<float>()[63], 2.0f);
  const Tensor scale = Numbers({64}, 5);
  ASSERT_TRUE(program->ReplaceParameters(std::vector<ParameterValue>{{"scale", scale}}).ok());
  EXPECT_EQ(program->Parameter("scale")->data(), scale.data());
  EXPECT_EQ(program->Parameter("nothing").status().code(), absl::StatusCode::kNotFound);
  absl::StatusOr<Program> none = Compiled({}, {}, 2);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(none->parameters().empty());
}

TEST_F(ReplaceParametersTest, WhatDoesNotFitReplacesNothing) {
  absl::StatusOr<Program> program = Compiled(Values(1), {"w1", "b1"}, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<float> before = Floats(program->Run(Inputs(3, true)));
  const auto replace = [&](const std::vector<ParameterValue>& values) {
    const absl::Status status = program->ReplaceParameters(values);
    EXPECT_EQ(Floats(program->Run(Inputs(3, true))), before);
    return std::string(status.message());
  };
  const ParameterValue good = {"b1", Numbers({160}, 7)};
  EXPECT_THAT(replace({good, {"w9", Numbers({3}, 1)}}),
              HasSubstr("'w9' is no replaceable parameter of the program"));
  EXPECT_THAT(replace({good, {"w2", Numbers({160, 64}, 1)}}),
              HasSubstr("'w2' is no replaceable parameter"));
  EXPECT_THAT(replace({good, {"w1", Numbers({160, 128}, 1)}}),
              HasSubstr("the value of parameter 'w1' is 160x128xf32 (expected 128x160xf32)"));
  EXPECT_THAT(replace({good, {"w1", Tensor()}}), HasSubstr("is null"));
  EXPECT_THAT(replace({good, good}), HasSubstr("parameter 'b1' is given two values"));
  EXPECT_EQ(replace({}), "");
}

TEST_F(ReplaceParametersTest, NamesThatCannotBeReplaceable) {
  const auto load = [&](const std::string& text, const std::string& name) {
    LoadOptions options;
    options.replaceable = {name};
    return std::string(LoadFromBytes(text, "r.mlir", options).status().message());
  };
  EXPECT_THAT(load(kReplaceProgram, "scal"), HasSubstr("did you mean 'scale'?"));
  EXPECT_THAT(load(kReplaceProgram, "*.bias"), HasSubstr("has a name that ends with '.bias'"));
  const std::string constants = R"ir(
core.parameter() <{sym_name = "open", type = f32}> : () -> ()
func.func() <{function_type = (tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>), sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = core.constant() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32> loc("twice")
  %1 = core.constant() <{value = dense<[3.0, 2.0]> : tensor<2xf32>}> : () -> tensor<2xf32> loc("twice")
  %2 = core.constant() <{value = dense<[3, 2]> : tensor<2xi32>}> : () -> tensor<2xi32> loc("ints")
  %3 = ten.add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %4 = ten.mul(%3, %1) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  %5 = core.constant() <{value = dense<[7.0, 9.0]> : tensor<2xf32>}> : () -> tensor<2xf32> loc("main")
  %6 = ten.mul(%4, %5) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%6, %2) : (tensor<2xf32>, tensor<2xi32>) -> ()
}) : () -> ()
)ir";
  EXPECT_THAT(load(constants, "open"), HasSubstr("the parameter has no value"));
  EXPECT_THAT(load(constants, "twice"), HasSubstr("several constants of other values"));
  EXPECT_THAT(load(constants, "ints"), HasSubstr("it is a tensor<2xi32>"));
  EXPECT_THAT(load(constants, "main"), HasSubstr("cannot be that of a parameter"));
}

TEST_F(ReplaceParametersTest, TextThatNamesAnotherParameterIsRefused) {
  const auto compile = [](const std::string& name, const std::string& mark) {
    const std::string text = R"ir(
core.parameter() <{sym_name = "w", type = f32, value = dense<1.0> : tensor<4xf32>}> )ir" +
                             mark + R"ir( : () -> ()
func.func() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = core.constant() <{value = dense<[1.0, 2.0]> : tensor<2xf32>}> {core.value_of = ")ir" +
                             name + R"ir("} : () -> tensor<2xf32>
  %1 = ten.add(%x, %0) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return(%1) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir";
    const absl::StatusOr<Model> model = LoadFromBytes(text, "t.mlir");
    EXPECT_TRUE(model.ok()) << model.status();
    return model.ok() ? std::string(Compile(*model).status().message()) : "";
  };
  constexpr char kRefused[] = "core.value_of names no replaceable parameter of type tensor<2xf32>";
  EXPECT_THAT(compile("w", "{core.replaceable}"), HasSubstr(kRefused)) << "another type";
  EXPECT_THAT(compile("v", "{core.replaceable}"), HasSubstr(kRefused));
  EXPECT_THAT(compile("w", ""), HasSubstr(kRefused));
}

TEST_F(ReplaceParametersTest, OnlyWhatReadsThemPacksAgain) {
  const auto weights = std::make_shared<PackedWeights>(PackedWeights::Options());
  absl::StatusOr<Program> program = Compiled(Values(1), kNames, 2, weights);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  ASSERT_TRUE(session.Run(Inputs(3, true)).ok());
  const int64_t packed = weights->stats().packed;
  EXPECT_GT(packed, 0);
  ASSERT_TRUE(program->ReplaceParameters(Only(Values(50), {"b1"})).ok());
  ASSERT_TRUE(session.Run(Inputs(3, true)).ok());
  EXPECT_EQ(weights->stats().packed, packed) << "nobody packs a bias";
  ASSERT_TRUE(program->ReplaceParameters(Only(Values(50), {"w1"})).ok());
  ASSERT_TRUE(session.Run(Inputs(3, true)).ok());
  EXPECT_EQ(weights->stats().packed, packed + 1);
  // Another session of the new values shares it.
  ASSERT_TRUE(program->Run(Inputs(3, true)).ok());
  EXPECT_EQ(weights->stats().packed, packed + 1);
}

TEST_F(ReplaceParametersTest, OldValuesAreGivenUp) {
  absl::StatusOr<Program> program = Compiled({}, kNames, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  std::weak_ptr<const void> old;
  {
    const std::vector<ParameterValue> values = Values(3);
    old = values[0].value.owner();
    ASSERT_TRUE(program->ReplaceParameters(values).ok());
  }
  ASSERT_TRUE(program->Run(Inputs(3, true)).ok());
  ASSERT_TRUE(session.Run(Inputs(3, true)).ok());
  EXPECT_FALSE(old.expired());
  ASSERT_TRUE(program->ReplaceParameters(Values(4)).ok());
  EXPECT_FALSE(old.expired()) << "the session has them until its next run";
  ASSERT_TRUE(session.Run(Inputs(3, true)).ok());
  EXPECT_TRUE(old.expired());
}

TEST_F(ReplaceParametersTest, BindingsStay) {
  absl::StatusOr<Program> program = Compiled(Values(1), kNames, 2);
  ASSERT_TRUE(program.ok()) << program.status();
  Session session = program->NewSession();
  IoBinding binding(*program);
  const std::vector<Tensor> inputs = Inputs(3, false);
  ASSERT_TRUE(binding.BindInput(0, inputs[0]).ok());
  ASSERT_TRUE(binding.BindInput(1, inputs[1]).ok());
  for (const uint32_t seed : {1u, 60u, 70u}) {
    ASSERT_TRUE(program->ReplaceParameters(Values(seed)).ok());
    ASSERT_TRUE(session.Run(binding).ok());
    const absl::StatusOr<Tensor> output = binding.output(0);
    ASSERT_TRUE(output.ok());
    EXPECT_EQ(Floats(std::vector<Tensor>{*output}), Floats(program->Run(inputs)));
  }
}

// y = x * a + x . w + b: with one number k in all of them, x of ones has 1 + 64 + 1 times k.
constexpr char kUniform[] = R"ir(
core.parameter() <{sym_name = "a", type = f32, value = dense<1.0> : tensor<64xf32>}> : () -> ()
core.parameter() <{sym_name = "w", type = f32, value = dense<1.0> : tensor<64x64xf32>}> : () -> ()
core.parameter() <{sym_name = "b", type = f32, value = dense<1.0> : tensor<64xf32>}> : () -> ()
func.func() <{function_type = (tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>, sym_name = "main"}> ({
^bb0(%x: tensor<?x64xf32, ["N", ""]>):
  %a = core.get_parameter() <{name = @a}> : () -> tensor<64xf32>
  %w = core.get_parameter() <{name = @w}> : () -> tensor<64x64xf32>
  %b = core.get_parameter() <{name = @b}> : () -> tensor<64xf32>
  %0 = ten.mul(%x, %a) : (tensor<?x64xf32, ["N", ""]>, tensor<64xf32>) -> tensor<?x64xf32, ["N", ""]>
  %1 = ten.matmul(%x, %w) : (tensor<?x64xf32, ["N", ""]>, tensor<64x64xf32>) -> tensor<?x64xf32, ["N", ""]>
  %2 = ten.add(%0, %1) : (tensor<?x64xf32, ["N", ""]>, tensor<?x64xf32, ["N", ""]>) -> tensor<?x64xf32, ["N", ""]>
  %3 = ten.add(%2, %b) : (tensor<?x64xf32, ["N", ""]>, tensor<64xf32>) -> tensor<?x64xf32, ["N", ""]>
  func.return(%3) : (tensor<?x64xf32, ["N", ""]>) -> ()
}) : () -> ()
)ir";

Tensor Filled(std::vector<int64_t> shape, float value) {
  Tensor tensor = Tensor::Make(DType::kF32, shape);
  std::fill_n(tensor.as<float>(), tensor.numel(), value);
  return tensor;
}

TEST_F(ReplaceParametersTest, EachRunHasAllOldOrAllNewValues) {
  LoadOptions load;
  load.replaceable = {"*"};
  absl::StatusOr<Model> model = LoadFromBytes(kUniform, "u.mlir", load);
  ASSERT_TRUE(model.ok()) << model.status();
  ASSERT_TRUE(Optimize(*model).ok());
  absl::StatusOr<Program> program = Compile(*std::move(model), {.threads = 1});
  ASSERT_TRUE(program.ok()) << program.status();
  constexpr int kThreads = 4, kReplacements = 30;
  std::atomic<int> newest = 1;  // the number in values whose replacement has returned
  std::atomic<int64_t> runs[kThreads] = {};
  std::atomic<bool> stop = false;
  const auto run = [&](int thread) {
    Session session = program->NewSession();
    const Tensor x = Filled({1 + thread, 64}, 1);
    int last = 0;
    while (!stop.load()) {
      const int least = newest.load();
      const std::vector<float> y =
          Floats(thread % 2 == 0 ? session.Run(std::vector{x}) : program->Run(std::vector{x}));
      ASSERT_FALSE(y.empty());
      const int k = static_cast<int>(y[0]) / 66;
      for (const float value : y) ASSERT_EQ(value, static_cast<float>(66 * k));
      ASSERT_GE(k, least) << "stale";
      ASSERT_GE(k, last);
      last = k;
      ++runs[thread];
    }
  };
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) threads.emplace_back(run, t);
  for (int k = 2; k <= kReplacements; ++k) {
    const auto value = static_cast<float>(k);
    const absl::Status replaced = program->ReplaceParameters(std::vector<ParameterValue>{
        {"w", Filled({64, 64}, value)}, {"a", Filled({64}, value)}, {"b", Filled({64}, value)}});
    ASSERT_TRUE(replaced.ok()) << replaced;
    newest.store(k);
    // Until each thread has run again, so that versions and runs meet in many ways.
    for (const std::atomic<int64_t>& count : runs) {
      const int64_t before = count.load();
      while (count.load() == before && !HasFailure()) std::this_thread::yield();
    }
  }
  stop.store(true);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenon
