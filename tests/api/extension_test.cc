// Operations, kernels, rules and passes of a host's own.
#include "frontends/cpp/extension.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drr/check/check.h"
#include "executor/evaluator.h"
#include "executor/passes.h"
#include "frontends/cpp/tenon.h"
#include "ir/core/text/printer.h"
#include "ir/dialect/define_op.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/shapes/shape_functions.h"
#include "kernels/attr_map.h"
#include "pass/rule_log.h"
#include "patterns/prelude.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

// x * a + b, the second kernel also with a name that no reference kernel has.
constexpr char kAffine[] = R"ir(
func.func() <{function_type = (tensor<?xf32, ["N"]>) -> tensor<?xf32, ["N"]>, sym_name = "main"}> ({
^bb0(%x: tensor<?xf32, ["N"]>):
  %a = core.constant() <{value = dense<3.0> : tensor<f32>}> : () -> tensor<f32>
  %b = core.constant() <{value = dense<0.5> : tensor<f32>}> : () -> tensor<f32>
  %0 = ten.mul(%x, %a) : (tensor<?xf32, ["N"]>, tensor<f32>) -> tensor<?xf32, ["N"]>
  %1 = ten.add(%0, %b) : (tensor<?xf32, ["N"]>, tensor<f32>) -> tensor<?xf32, ["N"]>
  func.return(%1) : (tensor<?xf32, ["N"]>) -> ()
}) : () -> ()
)ir";

OpDef AffineDef() {
  OpDef def;
  def.name = "own.affine";
  def.summary = "x * scale + shift";
  def.operands = {{"x", Arity::kSingle, TensorOf({DType::kF32, DType::kF64})}};
  def.results = {{"out", Arity::kSingle, TensorOf({DType::kF32, DType::kF64})}};
  def.attrs = {{"scale", AttrType::kF32, true, "", {}},
               {"shift", AttrType::kF32, false, "0.0 : f32", {}}};
  def.traits = TraitBits({Trait::kPure, Trait::kElementwise});
  def.infer = InferElementwise;
  return def;
}

template <typename T>
void Affine(const kernels::RunArgs& args) {
  const auto& attrs = args.get<kernels::AttrMap>();
  for (int64_t i = 0; i < args.outputs[0].numel(); ++i) {
    args.outputs[0].as<T>()[i] = static_cast<T>(
        args.inputs[0].as<T>()[i] * *attrs.Find<double>("scale") + *attrs.Find<double>("shift"));
  }
}

kernels::Kernel AffineKernel() {
  kernels::Kernel kernel = {.op = "own.affine", .name = "ref.own.affine"};
  kernel.run = [](const kernels::RunArgs& args) {
    args.inputs[0].dtype == DType::kF32 ? Affine<float>(args) : Affine<double>(args);
    return kernels::KernelStatus::Ok();
  };
  return kernel;
}

drr::Rule AffineRule(double error = 0) {
  using pattern::Add;
  using pattern::Mul;
  const drr::Val x("x");
  const drr::Attr<float> scale("scale"), shift("shift");
  const drr::AttrArg<float> made = drr::Compute([error](double s) { return s + error; }, scale);
  const drr::AttrArg<float> kept = shift;
  return drr::Rule("own-affine")
      .Summary("x * a + b")
      .Match(Add(Mul(x, drr::Splat(scale)), drr::Splat(shift)))
      .Replace(drr::MakeOp("own.affine", {drr::One(x)},
                           {{"scale", made.node()}, {"shift", kept.node()}}));
}

// Turns every own.affine's scale to its negative.
class Negate : public Pass {
 public:
  absl::StatusOr<PassResult> Run(Operation* op, PassContext&) override {
    PassResult result;
    op->Walk([&](Operation* inner) {
      if (inner->name() != "own.affine") return;
      inner->SetAttr("scale",
                     Attribute::F32(inner->context(),
                                    static_cast<float>(-inner->attr("scale").float_value())));
      result.changed = true;
    });
    return result;
  }
};

PassInfo NegateInfo() {
  PassInfo info;
  info.name = "own-negate";
  info.summary = "x * -a + b";
  info.anchor = "func.func";
  info.create = [](const PassOptionValues&) { return std::make_unique<Negate>(); };
  return info;
}

Extension Own() {
  Extension extension;
  extension.dialects = {{"own", "", {AffineDef()}}};
  extension.kernels = {AffineKernel()};
  extension.rules = {AffineRule()};
  extension.passes = {NegateInfo()};
  return extension;
}

absl::StatusOr<Model> LoadOwn(Extension extension, std::string_view text = kAffine) {
  LoadOptions options;
  options.extension = std::make_shared<const Extension>(std::move(extension));
  return LoadFromBytes(text, "own.mlir", options);
}

std::vector<float> RunOn(const Model& model, const std::vector<float>& x) {
  absl::StatusOr<Program> program = Compile(model, {.threads = 1});
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return {};
  const int64_t size = static_cast<int64_t>(x.size());
  const Tensor input = Tensor::Copy(DType::kF32, std::span(&size, 1), x.data());
  absl::StatusOr<std::vector<Tensor>> out = program->Run(std::span(&input, 1));
  EXPECT_TRUE(out.ok()) << out.status();
  if (!out.ok()) return {};
  return {out->front().as<float>(), out->front().as<float>() + size};
}

TEST(Extension, RulesMakeOperationsThatKernelsRun) {
  absl::StatusOr<Model> model = LoadOwn(Own());
  ASSERT_TRUE(model.ok()) << model.status();
  std::string told;
  OptimizeReport report;
  const absl::Status status = Optimize(
      *model,
      {.explain_rule = "own-affine", .report = [&](std::string_view line) { told += line; }},
      &report);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(report.rules["own-affine"], 1);
  EXPECT_THAT(told, HasSubstr("own-affine: fired 1 time"));
  EXPECT_THAT(Print(*model->module()), HasSubstr("own.affine"));
  EXPECT_EQ(RunOn(*model, {1, -2}), (std::vector<float>{3.5f, -5.5f}));
  EXPECT_EQ(RunOn(model->Clone(), {2}), (std::vector<float>{6.5f}));
}

TEST(Extension, ALogReceivesWhatRulesDid) {
  for (const std::string explained : {"", "own-affine"}) {
    absl::StatusOr<Model> model = LoadOwn(Own());
    ASSERT_TRUE(model.ok()) << model.status();
    RuleLog log;
    log.wanted = [](std::string_view rule) { return rule == "gelu-erf"; };
    std::string told;
    const absl::Status status =
        Optimize(*model, {.explain_rule = explained,
                          .report = [&](std::string_view line) { told += line; },
                          .rule_log = &log});
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(log.hits.size(), 1u);
    EXPECT_EQ(log.hits[0].rule, "own-affine");
    EXPECT_THAT(log.tried, testing::Contains("gelu-erf"));
    // The caller's choice stands, and the report is about the other one alone.
    EXPECT_TRUE(log.wanted("gelu-erf"));
    EXPECT_FALSE(log.wanted("own-affine"));
    EXPECT_EQ(told.empty(), explained.empty());
    EXPECT_THAT(told, testing::Not(HasSubstr("gelu-erf")));
  }
}

TEST(Extension, PassesRunWhereThePipelineNamesThem) {
  absl::StatusOr<Model> model = LoadOwn(Own());
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::Status status = Optimize(*model, {.pipeline = "O2,own-negate"});
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(RunOn(*model, {1}), (std::vector<float>{-2.5f}));
  // Models without the extension do not know it.
  absl::StatusOr<Model> plain = LoadFromBytes(kAffine, "plain.mlir");
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_THAT(Optimize(*plain, {.pipeline = "own-negate"}).ToString(), HasSubstr("own-negate"));
}

TEST(Extension, AFasterKernelOfTenonsOwnOperationWins) {
  Extension extension;
  kernels::Kernel kernel = {.op = "ten.mul", .name = "own.mul", .priority = 1000};
  kernel.run = [](const kernels::RunArgs& args) {
    for (int64_t i = 0; i < args.outputs[0].numel(); ++i) args.outputs[0].as<float>()[i] = 7;
    return kernels::KernelStatus::Ok();
  };
  extension.kernels = {kernel};
  absl::StatusOr<Model> model = LoadOwn(std::move(extension));
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(RunOn(*model, {1, 2}), (std::vector<float>{7.5f, 7.5f}));
}

TEST(Extension, AKernelWithoutMemoryNamesTheLimit) {
  Extension extension;
  kernels::Kernel kernel = {.op = "ten.mul", .name = "own.mul", .priority = 1000};
  kernel.run = [](const kernels::RunArgs&) {
    return kernels::KernelStatus::OutOfMemory("no memory for a table");
  };
  extension.kernels = {kernel};
  absl::StatusOr<Model> model = LoadOwn(std::move(extension));
  ASSERT_TRUE(model.ok()) << model.status();
  const absl::StatusOr<Program> program = Compile(*model);
  ASSERT_TRUE(program.ok()) << program.status();
  const std::vector<Tensor> inputs = {Tensor::Make(DType::kF32, std::vector<int64_t>{2})};
  const absl::Status refused = program->Run(inputs).status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("no memory for a table"));
  EXPECT_THAT(refused.ToString(), HasSubstr("--max-memory"));
}

TEST(Extension, RulesCanBeCheckedAgainstTheirKernels) {
  const Extension own = Own();
  Context context;
  RegisterAllDialects(context);
  ASSERT_TRUE(RegisterExtension(own, context).ok());
  ReferenceEvaluator evaluator(MakeKernelRegistry(own.kernels));
  const drr::CheckReport right = drr::CheckRule(own.rules[0], context, evaluator);
  EXPECT_TRUE(right.ok()) << right.status();
  const drr::CheckReport wrong = drr::CheckRule(AffineRule(0.25), context, evaluator);
  EXPECT_TRUE(wrong.wrong()) << wrong.status();
}

// Functions that give nothing are found when they are called.
TEST(Extension, FunctionsThatGiveNothingAreErrors) {
  Extension extension = Own();
  extension.passes[0].create = [](const PassOptionValues&) { return std::unique_ptr<Pass>(); };
  absl::StatusOr<Model> model = LoadOwn(extension);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_THAT(Optimize(*model, {.pipeline = "own-negate"}).ToString(),
              HasSubstr("pass 'own-negate' gives no pass"));

  extension = Own();
  extension.dialects[0].ops[0].infer = [](const InferContext&, ResultTypes& results) {
    results.push_back(Type());
    return absl::OkStatus();
  };
  const std::string text = R"ir(
func.func() <{function_type = (tensor<2xf32>) -> tensor<3xf32>, sym_name = "main"}> ({
^bb0(%x: tensor<2xf32>):
  %0 = own.affine(%x) <{scale = 1.0 : f32}> : (tensor<2xf32>) -> tensor<3xf32>
  func.return(%0) : (tensor<3xf32>) -> ()
}) : () -> ()
)ir";
  std::string told;
  LoadOptions options;
  options.extension = std::make_shared<const Extension>(extension);
  options.on_diagnostic = [&](const Context& context, const Diagnostic& diagnostic) {
    told += FormatDiagnostic(context, diagnostic);
  };
  EXPECT_FALSE(LoadFromBytes(text, "own.mlir", options).ok());
  EXPECT_THAT(told, HasSubstr("own.mlir:4"));
  EXPECT_THAT(told, HasSubstr("its shape function gives no type for result 0"));
  // A rule that would make one does not apply.
  model = LoadOwn(extension);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_TRUE(Optimize(*model, {}).ok());
  EXPECT_EQ(RunOn(*model, {1}), (std::vector<float>{3.5f}));
}

// Each change of a right extension is refused by Load, with what is wrong.
TEST(Extension, MistakesAreNamed) {
  const auto message = [](const std::function<void(Extension&)>& change) {
    Extension extension = Own();
    change(extension);
    const absl::StatusOr<Model> model = LoadOwn(std::move(extension));
    EXPECT_EQ(model.status().code(), absl::StatusCode::kInvalidArgument) << model.status();
    return std::string(model.status().message());
  };
  OpDef* def = nullptr;
  const auto of_def = [&](const std::function<void()>& change) {
    return message([&](Extension& e) { def = &e.dialects[0].ops[0], change(); });
  };
  EXPECT_THAT(of_def([&] { std::swap(def->attrs[0], def->attrs[1]); }),
              HasSubstr("'shift' and 'scale' of 'own.affine' are not sorted"));
  EXPECT_THAT(of_def([&] { def->attrs[1].default_text = "0.0 : f33"; }),
              HasSubstr("default of attribute 'shift' of 'own.affine' cannot be read: 0.0 : f33"));
  EXPECT_THAT(of_def([&] { def->attrs[1].default_text = "1 : i64"; }),
              HasSubstr("default of op 'own.affine': attribute 'shift' must be"));
  EXPECT_THAT(of_def([&] { def->attrs[1].name = "the shift"; }), HasSubstr("no identifier"));
  EXPECT_THAT(of_def([&] { def->name = "own."; }), HasSubstr("op 'own.' has a name"));
  EXPECT_THAT(of_def([&] { def->name = "own.a..b"; }), HasSubstr("op 'own.a..b' has a name"));
  for (const char* name : {"", "a b", "own."}) {
    EXPECT_THAT(message([&](Extension& e) { e.dialects[0].name = name; }),
                HasSubstr("has a name that is no identifier"));
  }
  EXPECT_THAT(of_def([&] { def->infer = nullptr; }), HasSubstr("has no shape function"));
  EXPECT_THAT(of_def([&] {
                const TypeConstraint y = TensorOf({DType::kF32});
                def->operands = {{"y", Arity::kOptional, y}, {"z", Arity::kOptional, y}};
              }),
              HasSubstr("has 2 optional or variadic operands"));
  EXPECT_THAT(of_def([&] { def->name = "other.affine"; }), HasSubstr("'other.affine'"));
  EXPECT_THAT(message([](Extension& e) { e.dialects[0].name = "ten"; }), HasSubstr("'ten'"));
  EXPECT_THAT(message([](Extension& e) { e.kernels[0].op = "own.affin"; }),
              HasSubstr("'own.affin', an operation that no dialect has"));
  EXPECT_THAT(message([](Extension& e) { e.kernels[0].run = nullptr; }), HasSubstr("run function"));
  EXPECT_THAT(message([](Extension& e) { e.kernels[0].name = "ref.matmul"; }),
              HasSubstr("two kernels 'ref.matmul'"));
  EXPECT_THAT(message([](Extension& e) { e.rules.push_back(AffineRule()); }),
              HasSubstr("own-affine"));
  EXPECT_THAT(message([](Extension& e) { e.passes[0].name = "O2"; }), HasSubstr("'O2'"));
  EXPECT_THAT(message([](Extension& e) { e.passes[0].name = "a b,c{"; }),
              HasSubstr("pass 'a b,c{' has a name that pipelines cannot hold"));
  EXPECT_THAT(message([](Extension& e) {
                e.passes[0].options = {{"a=b", {}, "", ""}};
              }),
              HasSubstr("option 'a=b' of pass 'own-negate'"));
  EXPECT_THAT(message([](Extension& e) {
                using pattern::Tan;
                const drr::Val x("x");
                e.rules = {drr::Rule("silu").Summary("").Match(Tan(Tan(x))).Replace(Tan(x))};
              }),
              HasSubstr("two rules 'silu'"));
  EXPECT_THAT(message([](Extension& e) { e.passes[0].create = nullptr; }),
              HasSubstr("create function"));
  EXPECT_THAT(message([](Extension& e) { e.passes[0].anchor = "func"; }),
              HasSubstr("'func' (expected func.func"));
}

}  // namespace
}  // namespace tenon
