// Which byte quantized nodes round to, where the last bits of their floats decide. The expected
// bytes are those of ONNX Runtime.
#include <gtest/gtest.h>

#include "fmt/format.h"
#include "frontends/cpp/tenon.h"
#include "tests/onnx/model_builder.h"

namespace tenon::onnx::quantized_values_test {
namespace {

using onnxpb::TensorProto;

// The bytes a and b with their scales and zero points, and what they become.
struct Close {
  float a_scale;
  uint8_t a_zero;
  float b_scale;
  uint8_t b_zero;
  float scale;
  uint8_t zero;
  std::vector<uint8_t> a, b, expected;
};

void AddByte(ModelBuilder& model, const std::string& name, uint8_t value) {
  TensorProto& tensor = *model.graph().add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(TensorProto::UINT8);
  tensor.set_raw_data(std::string(1, static_cast<char>(value)));
}

void Check(const std::string& op, const std::vector<Close>& cases) {
  for (const Close& c : cases) {
    const auto n = static_cast<int>(c.a.size());
    ModelBuilder model(17);
    model.Input("a", {n}, TensorProto::UINT8).Input("b", {n}, TensorProto::UINT8);
    model.Floats("a_scale", {}, {c.a_scale}).Floats("b_scale", {}, {c.b_scale});
    model.Floats("scale", {}, {c.scale});
    AddByte(model, "a_zero", c.a_zero);
    AddByte(model, "b_zero", c.b_zero);
    AddByte(model, "zero", c.zero);
    model.Node(op, {"a", "a_scale", "a_zero", "b", "b_scale", "b_zero", "scale", "zero"}, {"out"});
    model.Output("out");
    model.graph().mutable_node(0)->set_domain("com.microsoft");
    for (const int level : {0, 2}) {
      for (const bool reference : {true, false}) {
        SCOPED_TRACE(fmt::format("{} to {} at -O{}{}", op, c.scale, level,
                                 reference ? ", reference kernels" : ""));
        absl::StatusOr<tenon::Model> loaded = LoadFromBytes(model.Serialize(), "case.onnx");
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        ASSERT_TRUE(Optimize(*loaded, {.level = level}).ok());
        absl::StatusOr<Program> program = Compile(*loaded, {.threads = 1, .reference = reference});
        ASSERT_TRUE(program.ok()) << program.status();
        const int64_t shape[] = {n};
        const Tensor inputs[] = {Tensor::Copy(DType::kU8, shape, c.a.data()),
                                 Tensor::Copy(DType::kU8, shape, c.b.data())};
        const absl::StatusOr<std::vector<Tensor>> made = program->Run(inputs);
        ASSERT_TRUE(made.ok()) << made.status();
        const uint8_t* bytes = (*made)[0].as<uint8_t>();
        EXPECT_EQ(std::vector<uint8_t>(bytes, bytes + n), c.expected);
      }
    }
  }
}

TEST(QuantizedValues, SumsRoundOnce) {
  Check("QLinearAdd", {{1.834884762763977F,
                        122,
                        1.7908812761306763F,
                        128,
                        1.2004953622817993F,
                        0,
                        {209, 252},
                        {64, 152},
                        {37, 234}},
                       {0.09124147891998291F,
                        126,
                        0.09051106125116348F,
                        129,
                        0.1349039524793625F,
                        112,
                        {193},
                        {16},
                        {81}},
                       {0.10831961780786514F,
                        131,
                        0.11956015229225159F,
                        124,
                        0.0735257938504219F,
                        0,
                        {237},
                        {91},
                        {103}},
                       {0.6809728145599365F,
                        100,
                        0.7203210592269897F,
                        132,
                        1.030074954032898F,
                        88,
                        {179, 21},
                        {28, 236},
                        {68, 108}}});
}

TEST(QuantizedValues, ProductsHaveOneFactor) {
  Check("QLinearMul", {{0.7774881720542908F,
                        134,
                        0.003921568859368563F,
                        0,
                        0.3689553737640381F,
                        1,
                        {248, 216, 210},
                        {164, 228, 246},
                        {156, 156, 156}},
                       {1.722667932510376F,
                        140,
                        0.003921568859368563F,
                        0,
                        0.7812671065330505F,
                        0,
                        {192},
                        {139},
                        {62}}});
}

}  // namespace
}  // namespace tenon::onnx::quantized_values_test
