// Classes generated from YAML: creation, defaults, accessors, segments, and the tables behind them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "ir/core/builder.h"
#include "ir/core/interfaces/op_interfaces.h"
#include "ir/core/text/parser.h"
#include "ir/core/verify/verifier.h"
#include "ir/dialect/cf_ops.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/dialects.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class GeneratedOpsTest : public testing::Test {
 protected:
  GeneratedOpsTest() : builder_(context_) {
    RegisterAllDialects(context_);
    module_ = CreateModule(context_);
    const Type matrix = Tensor({4, 4});
    const Type types[] = {matrix, matrix, Tensor({4})};
    Operation* function = CreateFunction(module_.get(), "f", Type::Function(context_, types, {}));
    body_ = &function->region().front();
    builder_.SetInsertionPointToEnd(body_);
    x_ = body_->argument(0), w_ = body_->argument(1), bias_ = body_->argument(2);
  }

  Type Tensor(std::vector<int64_t> dims, DType dtype = DType::kF32) {
    return Type::Tensor(context_, dtype, std::span<const int64_t>(dims));
  }

  Context context_;
  OpBuilder builder_;
  OwnedOp module_;
  Block* body_ = nullptr;
  Value x_, w_, bias_;
};

TEST_F(GeneratedOpsTest, DefaultsAndAttributes) {
  absl::StatusOr<ten::MatmulOp> op = ten::MatmulOp::Create(builder_, Location(), x_, w_);
  ASSERT_TRUE(op.ok()) << std::string(op.status().message());
  EXPECT_EQ(op->a(), x_);
  EXPECT_EQ(op->b(), w_);
  EXPECT_EQ(op->out().type(), Tensor({4, 4}));
  EXPECT_FALSE(op->transpose_a());
  EXPECT_EQ((*op)->slot(0), (*op)->info().default_value(0));
  op = ten::MatmulOp::Create(builder_, Location(), x_, w_, {.transpose_b = true});
  ASSERT_TRUE(op.ok());
  EXPECT_TRUE(op->transpose_b());
  EXPECT_TRUE(op->attrs().transpose_b);
  EXPECT_FALSE(op->attrs().transpose_a);
  EXPECT_EQ(Cast<ten::MatmulOp>(op->op()).op(), op->op());
  EXPECT_FALSE(DynCast<ten::AddOp>(op->op()));
}

TEST_F(GeneratedOpsTest, SettersWriteAttributesAndOperands) {
  ten::MatmulOp op = *ten::MatmulOp::Create(builder_, Location(), x_, w_);
  op.set_transpose_b(true);
  op.set_a(w_);
  EXPECT_TRUE(op.transpose_b());
  EXPECT_EQ(op.a(), w_);
  EXPECT_FALSE(x_.has_uses());

  fused::LinearOp linear =
      *fused::LinearOp::Create(builder_, Location(), x_, w_, Value(), x_, {.activation = "gelu"});
  const Value replaced = linear.out();
  ten::ReluOp user = *ten::ReluOp::Create(builder_, Location(), replaced);
  linear.set_activation("relu");
  linear.set_bias(bias_);  // one operand more: a new op
  EXPECT_EQ(linear.bias(), bias_);
  EXPECT_EQ(linear.residual(), x_);
  EXPECT_EQ(linear.activation(), "relu");
  EXPECT_EQ(user.x(), linear.out());
  linear.set_bias(Value());
  EXPECT_FALSE(linear.bias());
  EXPECT_THAT(linear->attr("operandSegmentSizes").ints(), ElementsAre(1, 1, 0, 1));

  ten::ConcatOp concat =
      *ten::ConcatOp::Create(builder_, Location(), std::vector<Value>{x_, w_}, {.axis = 0});
  EXPECT_THAT(concat.inputs().vec(), ElementsAre(x_, w_));
  concat.set_inputs(std::vector<Value>{w_, x_, w_});
  EXPECT_THAT(concat.inputs().vec(), ElementsAre(w_, x_, w_));
  concat.set_axis(1);
  EXPECT_EQ(concat.axis(), 1);
}

TEST_F(GeneratedOpsTest, ControlFlowHasInterfaces) {
  absl::StatusOr<OwnedOp> module = ParseModule(context_, R"(
func.func() <{function_type = (tensor<i64>, tensor<2xf32>) -> (), sym_name = "g"}> ({
^bb0(%n: tensor<i64>, %x: tensor<2xf32>):
  %0 = ctl.for(%n, %n, %n, %x) ({
  ^bb0(%i: tensor<i64>, %carried: tensor<2xf32>):
    ctl.yield(%carried) : (tensor<2xf32>) -> ()
  }) : (tensor<i64>, tensor<i64>, tensor<i64>, tensor<2xf32>) -> tensor<2xf32>
  func.return() : () -> ()
}) : () -> ()
)");
  ASSERT_TRUE(module.ok()) << module.status();
  Operation* function = (*module)->region().front().front();
  EXPECT_EQ(function->info().Find<CallableInterface>()->Body(*function), &function->region());
  Operation* loop = function->region().front().front();
  ASSERT_TRUE(RunsItsRegions(*loop));
  const auto& regions = *loop->info().Find<RegionBranchInterface>();
  const auto start = regions.EdgesFrom(*loop, RegionEdge::kParent);
  ASSERT_EQ(start.size(), 2u);
  EXPECT_EQ(start[0].to, 0);
  EXPECT_EQ(start[0].first, 1u);
  EXPECT_THAT(start[0].values.vec(), ElementsAre(loop->operand(3)));
  EXPECT_EQ(start[1].to, RegionEdge::kParent);
  const auto end = regions.EdgesFrom(*loop, 0);
  EXPECT_THAT(end[1].values.vec(), ElementsAre(loop->region().front().argument(1)));
  EXPECT_TRUE(loop->info().Find<LoopInterface>()->Repeats(*loop, 0));
  EXPECT_FALSE(RunsItsRegions(*function));
}

TEST_F(GeneratedOpsTest, OptionalOperandsHaveSegments) {
  absl::StatusOr<fused::LinearOp> op =
      fused::LinearOp::Create(builder_, Location(), x_, w_, Value(), x_, {.activation = "gelu"});
  ASSERT_TRUE(op.ok()) << std::string(op.status().message());
  EXPECT_EQ((*op)->num_operands(), 3u);
  EXPECT_FALSE(op->bias());
  EXPECT_EQ(op->residual(), x_);
  EXPECT_EQ(op->activation(), "gelu");
  EXPECT_THAT((*op)->attr("operandSegmentSizes").ints(), ElementsAre(1, 1, 0, 1));
  absl::StatusOr<fused::LinearOp> both =
      fused::LinearOp::Create(builder_, Location(), x_, w_, bias_, Value());
  ASSERT_TRUE(both.ok());
  EXPECT_EQ(both->bias(), bias_);
  EXPECT_FALSE(both->residual());
}

TEST_F(GeneratedOpsTest, RefusesNullOperands) {
  for (const auto& [a, b] : {std::pair(x_, Value()), std::pair(Value(), x_)}) {
    const absl::StatusOr<ten::AddOp> op = ten::AddOp::Create(builder_, Location(), a, b);
    ASSERT_FALSE(op.ok());
    EXPECT_NE(op.status().message().find("is null"), std::string_view::npos) << op.status();
  }
}

TEST_F(GeneratedOpsTest, OneOptionalOperandNeedsNone) {
  absl::StatusOr<nn::RmsNormOp> with =
      nn::RmsNormOp::Create(builder_, Location(), x_, bias_, {.axis = 1});
  absl::StatusOr<nn::RmsNormOp> without =
      nn::RmsNormOp::Create(builder_, Location(), x_, Value(), {.axis = 1});
  ASSERT_TRUE(with.ok() && without.ok());
  EXPECT_EQ(with->scale(), bias_);
  EXPECT_FALSE(without->scale());
  EXPECT_EQ(without->epsilon(), 1e-5f);
  EXPECT_EQ((*without)->info().segment_slot(), -1);
}

TEST_F(GeneratedOpsTest, VariadicOperandsAndResults) {
  const Value inputs[] = {x_, w_, x_};
  absl::StatusOr<ten::ConcatOp> concat =
      ten::ConcatOp::Create(builder_, Location(), inputs, {.axis = 1});
  ASSERT_TRUE(concat.ok()) << std::string(concat.status().message());
  EXPECT_THAT(concat->inputs(), ElementsAre(x_, w_, x_));
  EXPECT_EQ(concat->out().type(), Tensor({4, 12}));
  const std::vector<DimExpr> sizes = {DimExpr::Constant(context_, 5),
                                      DimExpr::Constant(context_, 7)};
  absl::StatusOr<ten::SplitOp> split =
      ten::SplitOp::Create(builder_, Location(), concat->out(), {.axis = 1, .sizes = sizes});
  ASSERT_TRUE(split.ok()) << std::string(split.status().message());
  ASSERT_EQ(split->outs().size(), 2u);
  EXPECT_EQ(split->outs()[1].type(), Tensor({4, 7}));
  EXPECT_THAT(split->sizes(), ElementsAre(sizes[0], sizes[1]));
  EXPECT_THAT(split->attrs().sizes, ElementsAre(sizes[0], sizes[1]));
}

TEST_F(GeneratedOpsTest, FloatDefaultsKeepTheirBits) {
  absl::StatusOr<ten::ClipOp> clip = ten::ClipOp::Create(builder_, Location(), x_, {.max = 6});
  ASSERT_TRUE(clip.ok());
  EXPECT_EQ(clip->min(), -INFINITY);
  EXPECT_EQ(clip->max(), 6.0);
  absl::StatusOr<ten::LeakyReluOp> relu = ten::LeakyReluOp::Create(builder_, Location(), x_);
  ASSERT_TRUE(relu.ok());
  EXPECT_EQ(relu->alpha(), 0.01f);
  relu = ten::LeakyReluOp::Create(builder_, Location(), x_, {.alpha = -0.0f});
  ASSERT_TRUE(relu.ok());
  EXPECT_TRUE(std::signbit(relu->alpha()));
}

TEST_F(GeneratedOpsTest, TypesAndElements) {
  absl::StatusOr<ten::CastOp> cast =
      ten::CastOp::Create(builder_, Location(), x_, {.to = DType::kI64});
  ASSERT_TRUE(cast.ok());
  EXPECT_EQ(cast->to(), DType::kI64);
  EXPECT_EQ(cast->out().type(), Tensor({4, 4}, DType::kI64));
  const float one = 1;
  const Attribute value =
      Attribute::Splat(context_, Tensor({2}), std::as_bytes(std::span(&one, 1)));
  absl::StatusOr<core::ConstantOp> constant =
      core::ConstantOp::Create(builder_, Location(), {.value = value});
  ASSERT_TRUE(constant.ok());
  EXPECT_EQ(constant->value(), value);
  EXPECT_EQ(constant->out().type(), Tensor({2}));
}

TEST_F(GeneratedOpsTest, MissingAttributesAndWrongOperandsAreErrors) {
  EXPECT_THAT(std::string(ten::CastOp::Create(builder_, Location(), x_).status().message()),
              HasSubstr("ten.cast: attribute 'to' is not set"));
  EXPECT_THAT(std::string(core::ConstantOp::Create(builder_, Location()).status().message()),
              HasSubstr("core.constant: attribute 'value' is not set"));
  Operation* last = body_->back();
  EXPECT_FALSE(ten::TransposeOp::Create(builder_, Location(), x_, {.perm = {0, 0}}).ok());
  EXPECT_EQ(body_->back(), last);  // nothing was inserted
}

TEST_F(GeneratedOpsTest, ExplicitResultsAndRegions) {
  const bool yes = true;
  const Attribute value =
      Attribute::Splat(context_, Tensor({}, DType::kBool), std::as_bytes(std::span(&yes, 1)));
  absl::StatusOr<core::ConstantOp> cond =
      core::ConstantOp::Create(builder_, Location(), {.value = value});
  ASSERT_TRUE(cond.ok());
  const Type types[] = {x_.type()};
  absl::StatusOr<ctl::IfOp> if_op = ctl::IfOp::Create(builder_, Location(), cond->out(), types);
  ASSERT_TRUE(if_op.ok());
  for (Region* region : {&if_op->then(), &if_op->else_()}) {
    OpBuilder inner = OpBuilder::AtEnd(context_, region->AddBlock());
    const Value yielded[] = {region == &if_op->then() ? x_ : w_};
    ASSERT_TRUE(ctl::YieldOp::Create(inner, Location(), yielded).ok());
  }
  ASSERT_TRUE(func::ReturnOp::Create(builder_, Location(), {}).ok());
  ASSERT_EQ(if_op->outs().size(), 1u);
  EXPECT_EQ(if_op->outs()[0].type(), x_.type());
  EXPECT_TRUE(Verify(module_.get()).ok());
}

TEST_F(GeneratedOpsTest, Successors) {
  Block* next = body_->parent()->AddBlock();
  next->AddArgument(x_.type());
  const Value passed[] = {x_};
  absl::StatusOr<cf::BrOp> br = cf::BrOp::Create(builder_, Location(), passed, next);
  ASSERT_TRUE(br.ok());
  EXPECT_EQ(br->dest(), next);
  EXPECT_EQ((*br)->successor_operands(0), (std::pair<unsigned, unsigned>(0, 1)));
}

TEST_F(GeneratedOpsTest, KeywordsAsNames) {
  const Value t = ten::EqualOp::Create(builder_, Location(), x_, w_)->out();
  absl::StatusOr<ten::AndOp> op = ten::AndOp::Create(builder_, Location(), t, t);
  ASSERT_TRUE(op.ok());
  EXPECT_EQ((*op)->name(), "ten.and");
  EXPECT_EQ(op->out().type(), Tensor({4, 4}, DType::kBool));
}

TEST_F(GeneratedOpsTest, EveryDefaultIsAnAttribute) {
  for (const std::string& dialect : context_.DialectNames()) {
    for (const OpInfo* info : context_.OpsOf(dialect)) {
      for (int slot = 0; slot < info->num_slots(); ++slot) {
        const AttrDef& attr = info->def().attrs[slot];
        const Attribute value = info->default_value(slot);
        EXPECT_EQ(static_cast<bool>(value), !attr.default_text.empty())
            << info->name() << " " << attr.name;
        if (!value) continue;
        absl::StatusOr<Attribute> parsed = ParseAttribute(context_, attr.default_text);
        ASSERT_TRUE(parsed.ok()) << attr.default_text;
        EXPECT_EQ(value, *parsed) << info->name() << " " << attr.name;
      }
    }
  }
}

}  // namespace
}  // namespace tenon
