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
#include "ir/core/interfaces/op_interfaces.h"
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

// Runs its region again and again; always, if it says so.
class Repeated : public LoopInterface {
 public:
  bool Repeats(const Operation&, unsigned) const override { return true; }
  bool RunsAlways(const Operation& loop, unsigned) const override {
    return loop.attr("always") && loop.attr("always").bool_value();
  }
};

// Calls the function that `target` names. The first operand is no argument.
class Invoked : public CallInterface {
 public:
  std::string_view Callee(const Operation& call) const override {
    return call.attr("target").str();
  }
  void SetCallee(Operation& call, std::string_view callee) const override {
    call.SetAttr("target", Attribute::SymbolRef(call.context(), callee));
  }
  OperandRange Arguments(const Operation& call) const override {
    return {call.operands().data() + 1, call.num_operands() - 1};
  }
};

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
  const TypeConstraint any{.any = true, .description = "any type"};
  OpDef loop;
  loop.name = "my.loop";
  loop.attrs = {{"always", AttrType::kBool, /*required=*/true, {}, {}}};
  loop.regions = {"body"};
  loop.traits = TraitBits({Trait::kNoTerminator});
  loop.interfaces.Add<LoopInterface, Repeated>();
  OpDef invoke;
  invoke.name = "my.invoke";
  invoke.operands = {{"token", Arity::kSingle, any}, {"arguments", Arity::kVariadic, any}};
  invoke.results = {{"out", Arity::kVariadic, any}};
  invoke.attrs = {{"target", AttrType::kSymbol, /*required=*/true, {}, {}}};
  invoke.interfaces.Add<CallInterface, Invoked>();
  OpDef keep;
  keep.name = "my.keep";
  keep.operands = {{"x", Arity::kSingle, any}};
  return {"my", "What the host adds", {invoke, keep, loop, scale}};
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
    return RunText(pipeline, Program(factor));
  }

  std::string RunText(const std::string& pipeline, const std::string& text) {
    absl::StatusOr<OwnedOp> module = ParseModule(context_, text);
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

// What cannot fail leaves every loop, and a division of integers one that runs always.
TEST_F(OwnDialect, LicmAsksItsLoops) {
  const auto loop = [](const std::string& always) {
    return R"ir(
func.func() <{function_type = (tensor<2xf32>, tensor<i64>) -> (), sym_name = "f"}> ({
^bb0(%x: tensor<2xf32>, %n: tensor<i64>):
  my.loop() <{always = )ir" +
           always + R"ir(}> ({
    %a = ten.exp(%x) : (tensor<2xf32>) -> tensor<2xf32>
    my.keep(%a) : (tensor<2xf32>) -> ()
    %b = ten.div(%n, %n) : (tensor<i64>, tensor<i64>) -> tensor<i64>
    my.keep(%b) : (tensor<i64>) -> ()
  }) : () -> ()
  func.return() : () -> ()
}) : () -> ()
)ir";
  };
  const auto is_before = [](const std::string& text, std::string_view a, std::string_view b) {
    return text.find(a) < text.find(b);
  };
  const std::string sometimes = RunText("licm", loop("false")),
                    always = RunText("licm", loop("true"));
  EXPECT_TRUE(is_before(sometimes, "ten.exp", "my.loop")) << sometimes;
  EXPECT_TRUE(is_before(sometimes, "my.loop", "ten.div")) << sometimes;
  EXPECT_TRUE(is_before(always, "ten.div", "my.loop")) << always;
}

// The body takes the place of the call, if operands and results fit.
TEST_F(OwnDialect, InlineAsksItsCalls) {
  const auto call = [](const std::string& operands, const std::string& types) {
    return R"ir(
func.func() <{function_type = (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>, sym_name = "twice", sym_visibility = "private"}> ({
^bb0(%x: tensor<?xf32, ["N"]>):
  %0 = ten.add(%x, %x) : (tensor<?xf32, ["N"]>, tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>
  func.return(%0) : (tensor<?xf32, ["N"]>) -> ()
}) : () -> ()
func.func() <{function_type = (tensor<i64>, tensor<2xf32>, tensor<2xi64>) -> tensor<2xf32>, sym_name = "f"}> ({
^bb0(%token: tensor<i64>, %x: tensor<2xf32>, %y: tensor<2xi64>):
  %0 = my.invoke()ir" +
           operands + ") <{target = @twice}> : (" + types + R"ir() -> tensor<2xf32>
  func.return(%0) : (tensor<2xf32>) -> ()
}) : () -> ()
)ir";
  };
  const std::string inlined =
      RunText("inline,symbol-dce", call("%token, %x", "tensor<i64>, tensor<2xf32>"));
  EXPECT_THAT(inlined, HasSubstr("ten.add(%x, %x)"));
  EXPECT_THAT(inlined, Not(HasSubstr("my.invoke")));
  EXPECT_THAT(RunText("inline", call("%token, %y", "tensor<i64>, tensor<2xi64>")),
              HasSubstr("my.invoke"));
  EXPECT_THAT(RunText("inline", call("%token", "tensor<i64>")), HasSubstr("my.invoke"));
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
