// Programs of elementwise ops in all their ways to run, on values at the edges of f32, against the
// reference kernel.
#include "kernels/cpu/pointwise/pointwise_program.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/op_attrs.h"
#include "tests/kernels/kernel_test_util.h"

namespace tenon::kernels::testing {
namespace {

using cpu::Isa;
using cpu::PointwiseProgram;

const std::vector<float>& Edges() {
  static const std::vector<float> values = {
      0.0f,    -0.0f,   1.0f,   -1.0f,  0.5f,    -0.5f,  1.5f,  -2.5f,  2.5f,   3.0f,
      -3.0f,   1e-3f,   -1e-3f, 1e-20f, -1e-20f, 1e-40f, 1e20f, -1e20f, 87.0f,  -87.0f,
      88.9f,   -104.5f, 20.5f,  -20.5f, 9.5f,    -9.5f,  4.25f, -4.25f, 100.0f, -100.0f,
      0.7071f, 1.4142f, kInf,   -kInf,  kNan,    6.0f,   -6.0f, 0.1f,   -0.1f};
  return values;
}

std::vector<Isa> Compiled() {
  std::vector<Isa> isas = {Isa::kPortable};
  for (Isa isa : {Isa::kAvx2, Isa::kAvx512}) {
    if (isa <= cpu::DetectedIsa()) isas.push_back(isa);
  }
  return isas;
}

PointwiseBody Parse(const std::string& text, std::vector<DType> inputs) {
  PointwiseBody body;
  std::string error;
  EXPECT_TRUE(ParsePointwise(text, inputs, body, error)) << error;
  return body;
}

// Was Tenon built with an assembler, and may it make code here?
bool HasAssembler() {
  const bool scalar[] = {false};
  return cpu::PointwiseJit::Make(Parse("%1 = ten.neg %0; yield %1", {DType::kF32}), scalar,
                                 cpu::DetectedIsa()) != nullptr;
}

// Runs a program on the case in place of a kernel's.
void RunProgram(const PointwiseProgram& program, Case& c) {
  ThreadPool pool(1);
  DeviceContext device = {&pool};
  const std::vector<TensorView> inputs = Views(c.inputs), outputs = Views(c.outputs);
  program.Run({.inputs = inputs, .outputs = outputs, .device = &device});
}

void ExpectSame(const Tensor& actual, const Tensor& expected) {
  ASSERT_EQ(actual.bytes, expected.bytes);
  if (expected.dtype != DType::kF32) {
    EXPECT_EQ(std::memcmp(actual.data<void>(), expected.data<void>(), expected.bytes), 0);
    return;
  }
  for (int64_t i = 0; i < expected.numel(); ++i) {
    const float a = actual.data<float>()[i], b = expected.data<float>()[i];
    if (std::isnan(b)) {
      EXPECT_TRUE(std::isnan(a)) << "element " << i << " is " << a;
    } else if (std::isinf(b)) {
      EXPECT_EQ(a, b) << "element " << i;
    } else {
      EXPECT_NEAR(a, b, 1e-5f * std::fabs(b) + 6e-7f) << "element " << i;
    }
  }
}

// The text of `program` on the inputs, in all ways.
void Check(const std::string& text, const std::vector<Tensor>& inputs, bool compiles) {
  SCOPED_TRACE(text);
  std::vector<DType> dtypes;
  Dims shape;
  for (const Tensor& input : inputs) {
    dtypes.push_back(input.dtype);
    shape = BroadcastShape(View(shape), input.shape);
  }
  const PointwiseBody body = Parse(text, dtypes);
  Case want;
  want.inputs = inputs;
  want.attrs = MakeAttrs(fused::GroupAttrs{text});
  for (int result : body.results) {
    want.outputs.emplace_back(body.dtype(result), Shape(shape.begin(), shape.end()));
  }
  ASSERT_TRUE(RunCase(*Registry().FindByName("ref.group"), want).ok());
  for (Isa isa : Compiled()) {
    SCOPED_TRACE(std::string(cpu::Name(isa)));
    Case got = want;
    for (Tensor& t : got.outputs) std::fill(t.storage.begin(), t.storage.end(), 0x7f7f7f7f7f7f7f7f);
    const std::vector<TensorView> views = Views(got.inputs);
    const PointwiseProgram program(body, views, View(shape), isa);
    // AVX2 has no masks of bytes, so bodies that read or write bools or bytes are interpreted
    // there.
    if (isa != Isa::kAvx2) {
      EXPECT_EQ(program.compiled(), compiles && isa != Isa::kPortable && HasAssembler());
    }
    RunProgram(program, got);
    for (size_t i = 0; i < want.outputs.size(); ++i) ExpectSame(got.outputs[i], want.outputs[i]);
  }
}

TEST(PointwiseProgramTest, EveryOpOfFloatsOnEdges) {
  const auto n = static_cast<int64_t>(Edges().size());
  std::vector<float> turned(Edges().rbegin(), Edges().rend());
  const Tensor x = Tensor::Of<float>({n}, Edges()), y = Tensor::Of<float>({n}, turned);
  int tried = 0;
  for (const char* op : {
#define TENON_POINTWISE_OP(id, name, operands, dtypes, result) name,
#include "ir/base/pointwise_ops.def"
#undef TENON_POINTWISE_OP
       }) {
    PointwiseOp kind;
    ASSERT_TRUE(FindPointwiseOp(op, kind));
    const PointwiseOpInfo& info = InfoOf(kind);
    if (info.dtypes == PointwiseDTypes::kBools) continue;
    ++tried;
    const std::string name = op;
    const bool compiles = name != "ten.sin" && name != "ten.cos" && name != "ten.pow";
    const std::string operands = info.num_operands == 1   ? "%2"
                                 : info.num_operands == 2 ? "%2, %1"
                                                          : "%2, %1, %0";
    std::vector<std::string> params = {""};
    if (name == "nn.gelu") {
      params = {" {approximate = none}", " {approximate = tanh}", " {approximate = sigmoid}"};
    }
    if (name == "ten.cast") params = {" {to = i1}", " {to = f32}", " {to = ui8}", " {to = i8}"};
    if (name == "ten.clip") params = {" {max = 2.5, min = -0.75}"};
    if (name == "ten.elu") {
      params = {" {alpha = 1.0, gamma = 1.0, width = 1.0}",
                " {alpha = 1.5, gamma = 1.25, width = -0.5}"};
    }
    if (name == "ten.hard_sigmoid") params = {" {alpha = 0.2, beta = 0.5}"};
    if (name == "ten.leaky_relu") params = {" {alpha = 0.01}"};
    for (const std::string& param : params) {
      if (name == "ten.where") {
        Check("%2 = ten.less %0, %1; %3 = ten.where %2, %0, %1; yield %3", {x, y}, true);
        Check(
            "%2 = ten.less %0, %1; %3 = ten.where %2, 1.5, %1; %4 = ten.where %2, %0, -inf; "
            "yield %3, %4",
            {x, y}, true);
        continue;
      }
      // The first step leaves everything as it is, but -0.
      Check("%2 = ten.mul %0, 1.0; %3 = " + name + " " + operands + param + "; yield %3", {x, y},
            compiles);
      if (info.num_operands == 2) {
        Check("%2 = ten.mul %0, 1.0; %3 = " + name + " %2, 2.0; %4 = " + name +
                  " 1.5, %2; yield %3, %4",
              {x, y}, compiles);
      }
    }
  }
  EXPECT_GT(tried, 30);
}

TEST(PointwiseProgramTest, BytesAreFloatsOnTheWay) {
  Tensor u(DType::kU8, {2, 300}), i(DType::kI8, {300});
  for (int64_t j = 0; j < 600; ++j) u.data<uint8_t>()[j] = static_cast<uint8_t>(7 * j);
  for (int64_t j = 0; j < 300; ++j) i.data<int8_t>()[j] = static_cast<int8_t>(j);
  const std::string both =
      "%2 = ten.cast %0 {to = f32}; %3 = ten.cast %1 {to = f32}; %4 = ten.mul %2, %3; ";
  Check(both + "yield %4", {u, i}, true);
  // What is cut off, and read again.
  Check(both + "%5 = ten.cast %4 {to = i8}; %6 = ten.cast %5 {to = f32}; yield %5, %6", {u, i},
        true);
  Check(both + "%5 = ten.cast %4 {to = ui8}; %6 = ten.cast %5 {to = f32}; yield %6", {u, i}, true);
  Check("%1 = ten.cast %0 {to = i1}; %2 = ten.cast %1 {to = ui8}; yield %1, %2", {u}, true);
  Check("%1 = ten.cast %0 {to = i8}; %2 = ten.cast %1 {to = i64}; yield %1, %2", {u}, false);
  const Tensor large = Tensor::Of<float>(
      {16}, {255, 256, 300.5f, -1, -128, -129, -300, 2147483520.0f, 2147483648.0f, -2147483648.0f,
             -3e9f, 4294967296.0f, 1e18f, 9.3e18f, -9.3e18f, -0.75f});
  Check("%1 = ten.neg %0; %2 = ten.cast %1 {to = i8}; %3 = ten.cast %1 {to = ui8}; yield %2, %3",
        {large}, true);
  for (const char* bounds : {"max = 255, min = 0", "max = 1e+30, min = -3"}) {
    const std::string clip = std::string("%1 = ten.clip %0 {") + bounds + "}; ";
    Check(clip + "%2 = ten.cast %1 {to = ui8}; %3 = ten.cast %1 {to = i8}; yield %2, %3", {large},
          true);
    Check(clip + "%2 = ten.cast %1 {to = ui8}; %3 = ten.cast %1 {to = i8}; yield %2, %3",
          {Tensor::Of<float>({39}, Edges())}, true);
  }
}

TEST(PointwiseProgramTest, BoolsAreMasks) {
  const Tensor x =
      Tensor::Of<float>({37}, std::vector<float>(Edges().begin(), Edges().begin() + 37));
  Tensor p(DType::kBool, {37}), q(DType::kBool, {37});
  for (int i = 0; i < 37; ++i) p.data<uint8_t>()[i] = i % 3 == 0, q.data<uint8_t>()[i] = i % 4 < 2;
  for (const char* op : {"ten.and", "ten.or", "ten.xor", "ten.equal"}) {
    Check(std::string("%3 = ") + op +
              " %1, %2; %4 = ten.not %3; %5 = ten.where %4, %0, 0.25; "
              "%6 = ten.cast %3 {to = f32}; yield %3, %5, %6",
          {x, p, q}, true);
  }
}

TEST(PointwiseProgramTest, EveryWayToBroadcast) {
  // Long and short rows, columns, scalars, axes in the middle.
  for (int64_t n : {5, 16, 63, 64, 129, 1500}) {
    for (const Shape& other : {Shape{3, 4, n}, Shape{n}, Shape{4, 1}, Shape{3, 1, n},
                               Shape{3, 1, 1}, Shape{1}, Shape{}}) {
      Tensor x(DType::kF32, {3, 4, n}), y(DType::kF32, other);
      for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = 0.01f * (i % 100) - 0.5f;
      for (int64_t i = 0; i < y.numel(); ++i) y.data<float>()[i] = 0.02f * (i % 77) - 0.3f;
      Check(
          "%2 = ten.add %0, %1; %3 = ten.tanh %2; %4 = ten.mul %3, %1; %5 = ten.sub %1, %4; "
          "yield %5, %3",
          {x, y}, true);
      Check("%2 = ten.less %0, %1; %3 = ten.where %2, %0, %1; yield %2, %3", {x, y}, true);
    }
  }
}

TEST(PointwiseProgramTest, ManyLiveValuesAreInterpreted) {
  // A sum of 40 products, all of them computed first.
  std::string text;
  for (int i = 0; i < 20; ++i) {
    text += "%" + std::to_string(i + 1) + " = ten.mul %0, " + std::to_string(i + 1) + ".0; ";
  }
  for (int i = 0; i < 19; ++i) {
    text += "%" + std::to_string(i + 21) + " = ten.add %" + std::to_string(i == 0 ? 1 : i + 20) +
            ", %" + std::to_string(i + 2) + "; ";
  }
  text += "yield %39";
  Tensor x = Tensor::Of<float>({3}, {1, 2, 3});
  Check(text, {x}, true);
}

TEST(PointwiseTextTest, ReadsWhatItWrites) {
  for (const char* text :
       {"%2 = ten.add %0, %1; %3 = nn.gelu %2 {approximate = tanh}; yield %3",
        "%2 = ten.mul %0, 0.5; %3 = ten.clip %2 {max = 6, min = -inf}; yield %2, %3",
        "%2 = ten.less %0, 1e-05; %3 = ten.where %2, nan, %1; yield %3",
        "%2 = ten.cast %0 {to = i64}; %3 = ten.add %2, 7 : i64; yield %3",
        "%2 = ten.equal %0, %1; %3 = ten.xor %2, true; yield %3",
        "%2 = nn.layer_norm %0 {epsilon = 1e-05}; %3 = ten.mul %2, %1; yield %3",
        "%2 = ten.reduce_max %0; %3 = ten.sub %1, %2; %4 = nn.softmax %3; yield %2, %4"}) {
    EXPECT_EQ(PointwiseText(Parse(text, {DType::kF32, DType::kF32})), text);
  }
}

TEST(PointwiseTextTest, SaysWhatIsWrong) {
  const auto error = [](const char* text) {
    PointwiseBody body;
    std::string message;
    const DType inputs[] = {DType::kF32, DType::kI64};
    EXPECT_FALSE(ParsePointwise(text, inputs, body, message)) << text;
    return message;
  };
  EXPECT_NE(error("%2 = ten.softmax %0; yield %2").find("is not an op that a body may have"),
            std::string::npos);
  EXPECT_NE(error("%2 = nn.softmax 1.0; yield %2").find("expected a value with whole rows"),
            std::string::npos);
  EXPECT_NE(error("%2 = ten.reduce_sum %0; %3 = ten.neg %2; %4 = nn.softmax %3; yield %4")
                .find("expected a value with whole rows"),
            std::string::npos);
  EXPECT_NE(error("%2 = ten.reduce_sum %1; yield %2").find("does not work on i64"),
            std::string::npos);
  EXPECT_NE(error("%2 = ten.add %0, %1; yield %2").find("does not work on f32, i64"),
            std::string::npos);
  EXPECT_NE(error("%2 = ten.neg %3; yield %2").find("%3 is not defined here"), std::string::npos);
  EXPECT_NE(error("%4 = ten.neg %0; yield %4").find("expected the value %2"), std::string::npos);
  EXPECT_NE(error("%2 = ten.neg %0; yield %0").find("only values of steps"), std::string::npos);
  EXPECT_NE(error("%2 = ten.neg %0; yield %2, %2").find("is yielded twice"), std::string::npos);
  EXPECT_NE(error("%2 = ten.neg %0").find("expected ';'"), std::string::npos);
  EXPECT_NE(error("%2 = ten.cast %0; yield %2").find("expected '{'"), std::string::npos);
  EXPECT_NE(error("%2 = ten.cast %0 {to = f99}; yield %2").find("expected"), std::string::npos);
  EXPECT_NE(error("yield").find("expected '%'"), std::string::npos);
  EXPECT_NE(error("").find("expected '%'"), std::string::npos);
}

}  // namespace
}  // namespace tenon::kernels::testing
