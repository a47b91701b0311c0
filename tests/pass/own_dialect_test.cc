// A dialect, a pass, a pipeline and rules from outside, as docs/guide/write-a-pass.md describes
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "drr/rewrite/driver.h"
#include "drr/text/text.h"
#include "frontends/cpp/passes.h"
#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/core/context/diagnostic.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/define_op.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/ten_ops.h"
#include "pass/pass_manager.h"

namespace my {

using namespace tenon;  // NOLINT(google-build-using-namespace): a host would be in its own
                        // namespace

// my.scale: x * factor.
Dialect MyDialect() {
  OpDef scale;
  scale.name = "my.scale";
  scale.summary = "x * factor";
  scale.operands = {{"x", Arity::kSingle, TensorOf({DType::kF32})}};
  scale.results = {{"out", Arity::kSingle, TensorOf({DType::kF32})}};
  scale.attrs = {{"factor", AttrType::kF32, /*required=*/true, {}, {}}};
  scale.traits = TraitBits({Trait::kPure});
  scale.infer = [](const InferContext& infer, ResultTypes& results) {
    results.push_back(infer.operand(0));
    return absl::OkStatus();
  };
  scale.verify = [](Operation& op) {
    return op.attr("factor").float_value() != 0
               ? absl::OkStatus()
               : absl::InvalidArgumentError("'factor' must not be 0");
  };
  return {"my", "What the host adds", {scale}};
}

class LowerScale : public Pass {
 public:
  explicit LowerScale(int64_t least) : least_(least) {}

  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    std::vector<Operation*> found;
    function->Walk([&](Operation* op) {
      if (op->name() != "my.scale") return;
      const Type type = op->result().type();
      if (type.is_tensor() && type.rank() >= least_) found.push_back(op);
    });
    PassResult result;
    for (Operation* op : found) {
      const float factor = static_cast<float>(op->attr("factor").float_value());
      if (factor < 0) {
        return EmitError(op->context(), op->location(), "my.scale: a negative factor");
      }
      OpBuilder builder = OpBuilder::Before(op);
      const Type scalar = Type::Tensor(op->context(), DType::kF32, std::span<const int64_t>());
      const Attribute number =
          Attribute::Splat(op->context(), scalar, std::as_bytes(std::span(&factor, 1)));
      TENON_ASSIGN_OR_RETURN(core::ConstantOp constant,
                             core::ConstantOp::Create(builder, op->location(), {.value = number}));
      TENON_ASSIGN_OR_RETURN(
          ten::MulOp product,
          ten::MulOp::Create(builder, op->location(), op->operand(0), constant.out()));
      op->result().ReplaceAllUsesWith(product.out());
      op->Erase();
      context.statistics->Add("scales");
      result.changed = true;
    }
    return result;
  }

 private:
  int64_t least_;
};

PassInfo LowerScalePassInfo() {
  PassInfo info;
  info.name = "my-lower-scale";
  info.summary = "Writes my.scale as a product";
  info.anchor = "func.func";
  info.options = {{"least-rank", PassOption::Type::kCount, "0", "tensors of lower rank stay"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<LowerScale>(values.GetInt("least-rank"));
  };
  return info;
}

}  // namespace my

namespace tenon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class OwnDialect : public ::testing::Test {
 protected:
  OwnDialect() {
    RegisterAllDialects(context_);
    TENON_CHECK(context_.RegisterDialect(my::MyDialect()).ok());
    EXPECT_TRUE(RegisterAllPasses(registry_).ok());
    EXPECT_TRUE(registry_.Register(my::LowerScalePassInfo()).ok());
    EXPECT_TRUE(registry_.RegisterPipeline("my-O2", "scales first", "my-lower-scale,O2").ok());
  }

  static std::string Program(const std::string& factor) {
    return "func.func() <{function_type = (tensor<2x3xf32>) -> tensor<2x3xf32>, sym_name = \"f\"}> "
           "({\n^bb0(%x: tensor<2x3xf32>):\n  %0 = my.scale(%x) <{factor = " +
           factor +
           " : f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>\n  %1 = my.scale(%0) <{factor = 2.0 : "
           "f32}> : (tensor<2x3xf32>) -> tensor<2x3xf32>\n  func.return(%1) : (tensor<2x3xf32>) -> "
           "()\n}) : () -> ()\n";
  }

  std::string Run(const std::string& pipeline, const std::string& factor) {
    absl::StatusOr<OwnedOp> module = ParseModule(context_, Program(factor));
    if (!module.ok()) return std::string(module.status().message());
    PassManager manager(registry_);
    if (absl::Status s = manager.AddPipeline(pipeline); !s.ok()) return std::string(s.message());
    PassContext context;
    if (auto result = manager.Run(module->get(), context); !result.ok())
      return std::string(result.status().message());
    return Print(*module->get());
  }

  Context context_;
  PassRegistry registry_;
};

TEST_F(OwnDialect, RunsAmongTheOthers) {
  const std::string out = Run("my-O2", "3.0");
  EXPECT_THAT(out, Not(HasSubstr("my.scale")));
  EXPECT_THAT(out, HasSubstr("6.0"));  // canonicalize has made one product of the two
  EXPECT_THAT(Run("func.func(my-lower-scale{least-rank=3})", "3.0"), HasSubstr("my.scale"));
}

TEST_F(OwnDialect, ErrorsNameThePlace) {
  EXPECT_THAT(Run("my-O2", "0.0"), HasSubstr("my.scale: 'factor' must not be 0"));
  EXPECT_THAT(Run("my-O2", "-1.0"), HasSubstr("pass 'my-lower-scale' on 'func.func' operation: @f: "
                                              "<input>:3:8: my.scale: a negative factor"));
  EXPECT_THAT(Run("my-lower-scales", "1.0"), HasSubstr("did you mean 'my-lower-scale'?"));
}

TEST_F(OwnDialect, RulesSpeakOfItsOps) {
  auto rules = drr::ParseRules(
      "rule one {\n  summary \"x * 1\"\n  match my.scale(x) {factor = 1}\n  replace x\n}\n",
      "my.drr", context_);
  ASSERT_TRUE(rules.ok()) << rules.status();
  auto compiled = drr::CompiledRules::Create(*std::move(rules), context_);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  absl::StatusOr<OwnedOp> module = ParseModule(context_, Program("1.0"));
  ASSERT_TRUE(module.ok()) << module.status();
  PassContext context;
  auto result = drr::ApplyRules(*compiled, module->get(), context);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->rewrites, 1);
}

}  // namespace
}  // namespace tenon
