// Programs whose numbers lie at the edges of their types: -O2 gives what -O0 gives.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "frontends/cpp/tenon.h"
#include "ir/core/block.h"
#include "ir/core/text/printer.h"

namespace tenon {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct EdgeProgram {
  const char* name;
  const char* made;  // an operation that -O2 leaves
  const char* text;
  std::vector<std::vector<float>> inputs;  // of f32; those of i1 hold 0 and 1
};

void PrintTo(const EdgeProgram& program, std::ostream* out) { *out << program.name; }

// Four rows of q k^T: that of key 1 overflows. The mask hides it, and all of the last row.
#define TENON_HIDDEN_SCORES(BODY)                                                                  \
  "func.func() <{function_type = (tensor<1x1x4x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>, " \
  "tensor<4x3xi1>) -> tensor<1x1x4x2xf32>, sym_name = \"main\"}> ({\n"                             \
  "^bb0(%q: tensor<1x1x4x2xf32>, %k: tensor<1x1x3x2xf32>, %v: tensor<1x1x3x2xf32>, "               \
  "%m: tensor<4x3xi1>):\n"                                                                         \
  "  %low = core.constant() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>\n"     \
  "  %s = ten.matmul(%q, %k) <{transpose_a = false, transpose_b = true}> : (tensor<1x1x4x2xf32>, " \
  "tensor<1x1x3x2xf32>) -> tensor<1x1x4x3xf32>\n" BODY                                             \
  "  %p = nn.softmax(%h) <{axis = 3 : i64}> : (tensor<1x1x4x3xf32>) -> tensor<1x1x4x3xf32>\n"      \
  "  %o = ten.matmul(%p, %v) <{transpose_a = false, transpose_b = false}> : "                      \
  "(tensor<1x1x4x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x4x2xf32>\n"                            \
  "  func.return(%o) : (tensor<1x1x4x2xf32>) -> ()\n}) : () -> ()\n"

const std::vector<float> kQueries = {1, 2e20f, 0.5f, -3e20f, 1, 1e25f, 2, 1};
const std::vector<float> kKeys = {1, 0, 1, 1e20f, -1, 0};
const std::vector<float> kValues = {1, 2, 3, 4, 5, 6};
const std::vector<float> kKept = {1, 0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0};
const std::vector<float> kHidden = {0, 1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1};

// 40 rows: some with infinities of either sign, some with NaN.
std::vector<float> QueriesOfManyKinds() {
  std::vector<float> queries;
  for (int i = 0; i < 80; ++i) {
    const float plain = static_cast<float>(i % 7) * 0.25f;
    queries.push_back(i % 11 == 3   ? kInf
                      : i % 13 == 5 ? -kInf
                      : i % 17 == 7 ? std::numeric_limits<float>::quiet_NaN()
                                    : plain);
  }
  return queries;
}

const EdgeProgram kPrograms[] = {
    {"HiddenScoresThatOverflow",
     "fused.attention",
     TENON_HIDDEN_SCORES("  %h = ten.where(%m, %s, %low) : (tensor<4x3xi1>, tensor<1x1x4x3xf32>, "
                         "tensor<f32>) -> tensor<1x1x4x3xf32>\n"),
     {kQueries, kKeys, kValues, kKept}},
    {"HiddenScoresThatOverflowInverted",
     "fused.attention",
     TENON_HIDDEN_SCORES("  %h = ten.where(%m, %low, %s) : (tensor<4x3xi1>, tensor<f32>, "
                         "tensor<1x1x4x3xf32>) -> tensor<1x1x4x3xf32>\n"),
     {kQueries, kKeys, kValues, kHidden}},
    {"GuardedRowsOfNan",
     "zero_nan_rows = true",
     R"(func.func() <{function_type = (tensor<1x1x40x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x40x2xf32>, sym_name = "main"}> ({
^bb0(%q: tensor<1x1x40x2xf32>, %k: tensor<1x1x3x2xf32>, %v: tensor<1x1x3x2xf32>):
  %zero = core.constant() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
  %s = ten.matmul(%q, %k) <{transpose_a = false, transpose_b = true}> : (tensor<1x1x40x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x40x3xf32>
  %p = nn.softmax(%s) <{axis = 3 : i64}> : (tensor<1x1x40x3xf32>) -> tensor<1x1x40x3xf32>
  %n = ten.is_nan(%p) : (tensor<1x1x40x3xf32>) -> tensor<1x1x40x3xi1>
  %g = ten.where(%n, %zero, %p) : (tensor<1x1x40x3xi1>, tensor<f32>, tensor<1x1x40x3xf32>) -> tensor<1x1x40x3xf32>
  %o = ten.matmul(%g, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x1x40x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x40x2xf32>
  func.return(%o) : (tensor<1x1x40x2xf32>) -> ()
}) : () -> ()
)",
     {QueriesOfManyKinds(), {1, 0.5f, 1, 2, -1, 0.25f}, kValues}},
    {"GuardedRowOfNan",
     "zero_nan_rows = true",
     R"(func.func() <{function_type = (tensor<1x1x1x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x1x2xf32>, sym_name = "main"}> ({
^bb0(%q: tensor<1x1x1x2xf32>, %k: tensor<1x1x3x2xf32>, %v: tensor<1x1x3x2xf32>):
  %zero = core.constant() <{value = dense<0.000000e+00> : tensor<f32>}> : () -> tensor<f32>
  %s = ten.matmul(%q, %k) <{transpose_a = false, transpose_b = true}> : (tensor<1x1x1x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x1x3xf32>
  %p = nn.softmax(%s) <{axis = 3 : i64}> : (tensor<1x1x1x3xf32>) -> tensor<1x1x1x3xf32>
  %n = ten.is_nan(%p) : (tensor<1x1x1x3xf32>) -> tensor<1x1x1x3xi1>
  %g = ten.where(%n, %zero, %p) : (tensor<1x1x1x3xi1>, tensor<f32>, tensor<1x1x1x3xf32>) -> tensor<1x1x1x3xf32>
  %o = ten.matmul(%g, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x1x1x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x1x2xf32>
  func.return(%o) : (tensor<1x1x1x2xf32>) -> ()
}) : () -> ()
)",
     {{-kInf, 1}, {1, 0.5f, 1, 2, 3, 0.25f}, kValues}},
    {"ExponentialsOfInfinity",
     "ten.exp",
     R"(func.func() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2x3xf32>):
  %e = ten.exp(%x) : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %s = ten.reduce_sum(%e) <{axes = array<i64: 1>, keepdims = true}> : (tensor<2x3xf32>) -> tensor<2x1xf32>
  %y = ten.div(%e, %s) : (tensor<2x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  func.return(%y) : (tensor<2x3xf32>) -> ()
}) : () -> ()
)",
     {{kInf, 1, 2, 1, -kInf, 2}}},
    {"HiddenInfinityUnderSoftmax",
     "nn.softmax",
     R"(func.func() <{function_type = (tensor<3x3xi1>, tensor<3x3xf32>) -> tensor<3x3xf32>, sym_name = "main"}> ({
^bb0(%m: tensor<3x3xi1>, %s: tensor<3x3xf32>):
  %low = core.constant() <{value = dense<0xFF800000> : tensor<f32>}> : () -> tensor<f32>
  %h = ten.where(%m, %s, %low) : (tensor<3x3xi1>, tensor<3x3xf32>, tensor<f32>) -> tensor<3x3xf32>
  %p = nn.softmax(%h) <{axis = 1 : i64}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
  func.return(%p) : (tensor<3x3xf32>) -> ()
}) : () -> ()
)",
     {{0, 1, 1, 1, 0, 0, 0, 0, 0}, {kInf, 1, 2, 3, kInf, -kInf, 1, 2, 3}}},
    {"SteepLineThatIsClipped",
     "ten.clip",
     R"(func.func() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<4xf32>):
  %d = core.constant() <{value = dense<1.000000e-40> : tensor<f32>}> : () -> tensor<f32>
  %b = core.constant() <{value = dense<2.500000e-01> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.div(%x, %d) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = ten.add(%0, %b) : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = ten.clip(%1) <{max = 1.000000e+00 : f64, min = 0.000000e+00 : f64}> : (tensor<4xf32>) -> tensor<4xf32>
  func.return(%2) : (tensor<4xf32>) -> ()
}) : () -> ()
)",
     {{0, 5e-41f, -1, 1}}},
    {"HugeQueriesThatAreScaledDown",
     "fused.attention",
     R"(func.func() <{function_type = (tensor<1x1x2x2xf32>, tensor<1x1x3x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x2x2xf32>, sym_name = "main"}> ({
^bb0(%q: tensor<1x1x2x2xf32>, %k: tensor<1x1x3x2xf32>, %v: tensor<1x1x3x2xf32>):
  %c = core.constant() <{value = dense<1.000000e-30> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.mul(%q, %c) : (tensor<1x1x2x2xf32>, tensor<f32>) -> tensor<1x1x2x2xf32>
  %1 = ten.mul(%k, %c) : (tensor<1x1x3x2xf32>, tensor<f32>) -> tensor<1x1x3x2xf32>
  %s = ten.matmul(%0, %1) <{transpose_a = false, transpose_b = true}> : (tensor<1x1x2x2xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x2x3xf32>
  %p = nn.softmax(%s) <{axis = 3 : i64}> : (tensor<1x1x2x3xf32>) -> tensor<1x1x2x3xf32>
  %o = ten.matmul(%p, %v) <{transpose_a = false, transpose_b = false}> : (tensor<1x1x2x3xf32>, tensor<1x1x3x2xf32>) -> tensor<1x1x2x2xf32>
  func.return(%o) : (tensor<1x1x2x2xf32>) -> ()
}) : () -> ()
)",
     {{1e30f, 2e30f, -1e30f, 5e29f}, {1e30f, 0, 2e30f, 1e30f, 0, -1e30f}, kValues}},
};

std::vector<Tensor> Inputs(const EdgeProgram& program, const Model& model) {
  std::vector<Tensor> inputs;
  const Block& body = model.main()->region(0).front();
  for (unsigned i = 0; i < body.num_arguments(); ++i) {
    const Type type = body.argument(i).type();
    std::vector<int64_t> shape;
    for (int64_t d = 0; d < type.rank(); ++d) shape.push_back(type.dim(d).constant());
    Tensor tensor = Tensor::Make(type.dtype(), shape);
    const std::vector<float>& values = program.inputs[i];
    EXPECT_EQ(static_cast<int64_t>(values.size()), tensor.numel());
    for (size_t e = 0; e < values.size(); ++e) {
      if (type.dtype() == DType::kBool) {
        tensor.as<uint8_t>()[e] = values[e] != 0;
      } else {
        tensor.as<float>()[e] = values[e];
      }
    }
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

void ExpectSame(const Tensor& got, const Tensor& want) {
  for (int64_t i = 0; i < want.numel(); ++i) {
    const float a = got.as<float>()[i], b = want.as<float>()[i];
    EXPECT_EQ(std::isnan(a), std::isnan(b)) << "element " << i << " is " << a << " not " << b;
    if (std::isfinite(b)) {
      EXPECT_NEAR(a, b, 1e-5 * std::max(1.0f, std::abs(b))) << "element " << i;
    }
  }
}

class EdgeValues : public ::testing::TestWithParam<EdgeProgram> {};

TEST_P(EdgeValues, AreTheSameOptimised) {
  const EdgeProgram& program = GetParam();
  absl::StatusOr<Model> model = LoadFromBytes(program.text, std::string(program.name) + ".ir");
  ASSERT_TRUE(model.ok()) << model.status();
  Model optimized = model->Clone();
  ASSERT_EQ(Optimize(*model, {.level = 0}), absl::OkStatus());
  ASSERT_EQ(Optimize(optimized, {.level = 2, .verify_each = true}), absl::OkStatus());
  const std::string text = Print(*optimized.module());
  EXPECT_NE(text.find(program.made), std::string::npos) << text;
  const std::vector<Tensor> inputs = Inputs(program, *model);
  const auto run = [&](const Model& which, bool reference) {
    absl::StatusOr<Program> compiled = Compile(which, {.threads = 1, .reference = reference});
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    absl::StatusOr<std::vector<Tensor>> results = compiled->Run(inputs);
    EXPECT_TRUE(results.ok()) << results.status();
    return std::move(results->front());
  };
  const Tensor want = run(*model, true);
  for (const bool reference : {true, false}) {
    SCOPED_TRACE(reference ? "reference kernels" : "fast kernels");
    ExpectSame(run(optimized, reference), want);
  }
}

INSTANTIATE_TEST_SUITE_P(All, EdgeValues, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tenon
