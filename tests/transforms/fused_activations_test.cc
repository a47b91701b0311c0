// Each activation that an op with one knows can be taken from the program: written out and fused
// again it is the same op. Products of one tensor become one whatever their activations are.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "fmt/format.h"
#include "ir/core/context/context.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/dialects.h"
#include "pass/pass_manager.h"
#include "transforms/passes.h"

namespace tenon {
namespace {

// An op with an activation, as text in front of the attribute and behind it.
struct Carrier {
  const char* op;
  const char* weight;  // its type
  const char* attrs;   // others than the activation
  const char* x;
  const char* out;
};

constexpr Carrier kLinear = {"fused.linear", "tensor<4x3xf32>",
                             "operandSegmentSizes = array<i32: 1, 1, 0, 0>", "tensor<2x4xf32>",
                             "tensor<2x3xf32>"};
constexpr Carrier kConv = {"fused.conv", "tensor<3x4x1x1xf32>",
                           "dilations = array<i64: 1, 1>, operandSegmentSizes = array<i32: 1, 1, "
                           "0, 0>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>",
                           "tensor<1x4x5x5xf32>", "tensor<1x3x5x5xf32>"};
constexpr Carrier kConvTranspose = {"fused.conv_transpose", "tensor<4x3x1x1xf32>",
                                    "dilations = array<i64: 1, 1>, output_padding = array<i64: 0, "
                                    "0>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>",
                                    "tensor<1x4x5x5xf32>", "tensor<1x3x5x5xf32>"};

class FusedActivations : public ::testing::TestWithParam<Carrier> {
 protected:
  FusedActivations() {
    RegisterAllDialects(context_);
    EXPECT_TRUE(RegisterTransformPasses(registry_).ok());
  }

  std::vector<std::string> ActivationsOf(const char* op) {
    for (const AttrDef& attr : context_.FindOp(op)->def().attrs)
      if (attr.name == "activation") return attr.enums;
    return {};
  }

  // The program that returns one op for each of `activations`, all of one tensor, after `pipeline`.
  std::string Run(const std::vector<std::string>& activations, const std::string& pipeline) {
    const Carrier& c = GetParam();
    std::string body, names, types;
    for (size_t i = 0; i < activations.size(); ++i) {
      body += fmt::format(
          "  %w{0} = core.constant() <{{value = dense<{0}.5> : {1}}}> : () -> {1}\n"
          "  %y{0} = {2}(%x, %w{0}) <{{activation = \"{3}\", {4}, {5}}}> : ({6}, {1}) -> {7}\n",
          i, c.weight, c.op, activations[i],
          activations[i] == "none" ? "alpha = 0.0 : f32" : "alpha = 0.25 : f32, beta = 0.75 : f32",
          c.attrs, c.x, c.out);
      names += fmt::format("{}%y{}", i == 0 ? "" : ", ", i);
      types += fmt::format("{}{}", i == 0 ? "" : ", ", c.out);
    }
    const std::string text = fmt::format(
        "func.func() <{{function_type = ({0}) -> ({1}), sym_name = \"f\"}}> ({{\n^bb0(%x: {0}):\n"
        "{2}  func.return({3}) : ({1}) -> ()\n}}) : () -> ()\n",
        c.x, types, body, names);
    absl::StatusOr<OwnedOp> module = ParseModule(context_, text);
    if (!module.ok()) return module.status().ToString() + "\n" + text;
    PassManager manager(registry_);
    if (absl::Status s = manager.AddPipeline(pipeline); !s.ok()) return s.ToString();
    PassContext context;
    absl::StatusOr<PassResult> result = manager.Run(module->get(), context);
    return result.ok() ? Print(**module) : result.status().ToString();
  }

  static int Count(const std::string& text, const std::string& part) {
    int n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
  }

  Context context_;
  PassRegistry registry_;
};

TEST_P(FusedActivations, AreThoseOfLinear) {
  EXPECT_EQ(ActivationsOf(GetParam().op), ActivationsOf("fused.linear"));
}

TEST_P(FusedActivations, AreFoundAgain) {
  const std::string op = std::string(GetParam().op) + "(";
  for (const std::string& activation : ActivationsOf(GetParam().op)) {
    if (activation == "none") continue;
    SCOPED_TRACE(activation);
    const std::string parts = Run({activation}, "expand-fused{all},dce");
    EXPECT_EQ(Count(parts, "fused."), 0) << parts;
    const std::string text = Run({activation}, "expand-fused{all},fuse{rules=linear,conv},dce");
    EXPECT_EQ(Count(text, op), 1) << text;
    EXPECT_EQ(Count(text, fmt::format("activation = \"{}\"", activation)), 1) << text;
  }
}

// Each beside the next one of the list, and beside one without an activation.
TEST_P(FusedActivations, DoNotKeepSiblingsApart) {
  const std::string op = GetParam().op;
  if (op == "fused.conv_transpose") return;  // its filters have no siblings
  const std::vector<std::string> all = ActivationsOf(GetParam().op);
  for (size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(all[i]);
    const std::string text =
        Run({all[i], all[(i + 1) % all.size()], "none"}, "fuse{rules=siblings},dce");
    EXPECT_EQ(Count(text, op + "("), 1) << text;
    EXPECT_EQ(Count(text, "activation = "), 0) << text;  // "none" is the default
    EXPECT_EQ(Count(text, "ten.split("), 1) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FusedActivations, ::testing::Values(kLinear, kConv, kConvTranspose),
                         [](const ::testing::TestParamInfo<Carrier>& info) {
                           return std::string(info.param.op).substr(6);
                         });

}  // namespace
}  // namespace tenon
