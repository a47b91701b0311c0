// compress-weights: linear layers with constant weights keep them in fewer bits. Weights of bf16
// halve what is read and double the rate of products where the CPU multiplies bf16; weights of i8
// with factors for groups of rows leave a quarter to read.
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "ir/base/check.h"
#include "ir/core/block.h"
#include "ir/core/builder.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/fused_ops.h"
#include "ir/dialect/ten_ops.h"
#include "transforms/passes.h"
#include "transforms/weights/compressed_constants.h"

namespace tenon {
namespace {

// A product with a constant matrix, however it is written.
struct Linear {
  Value x, w, bias, residual;
  fused::CompressedLinearOp::Attrs attrs;
};

std::optional<Linear> LinearOf(Operation* op) {
  Linear linear;
  if (const auto product = DynCast<fused::LinearOp>(op)) {
    linear = {product.x(), product.w(), product.bias(), product.residual(), {}};
    linear.attrs.transpose_w = product.transpose_w();
    linear.attrs.activation = product.activation();
    linear.attrs.alpha = product.alpha(), linear.attrs.beta = product.beta();
  } else if (const auto matmul = DynCast<ten::MatmulOp>(op)) {
    if (matmul.transpose_a()) return std::nullopt;
    linear = {matmul.a(), matmul.b(), Value(), Value(), {}};
    linear.attrs.transpose_w = matmul.transpose_b();
  } else {
    return std::nullopt;
  }
  const Type x = linear.x.type(), w = linear.w.type();
  if (!x.is_tensor() || x.rank() < 1 || x.dtype() != DType::kF32 || !w.is_tensor() ||
      w.rank() != 2 || !w.is_static() || !DefinedBy<core::ConstantOp>(linear.w)) {
    return std::nullopt;
  }
  return linear;
}

class CompressWeights : public Pass {
 public:
  CompressWeights(bool int8, int64_t group, int64_t min_elements)
      : int8_(int8), group_(group), min_elements_(min_elements) {}

  absl::StatusOr<PassResult> Run(Operation* function, PassContext& context) override {
    std::vector<Operation*> ops;
    function->WalkPreOrder([&](Operation* op) {
      ops.push_back(op);
      return true;
    });
    made_.clear();
    bool changed = false;
    for (Operation* op : ops) {
      TENON_ASSIGN_OR_RETURN(const bool compressed, Visit(op, context));
      changed |= compressed;
    }
    return PassResult{changed};
  }

 private:
  struct Constants {
    Value w, scale;
  };

  absl::StatusOr<bool> Visit(Operation* op, PassContext& context) {
    std::optional<Linear> linear = LinearOf(op);
    if (!linear) return false;
    if (linear->w.type().num_elements() < min_elements_) {
      context.statistics->Add("kept-small");
      return false;
    }
    TENON_ASSIGN_OR_RETURN(const Constants constants,
                           ConstantsFor(linear->w, linear->attrs.transpose_w));
    if (!constants.w) {
      context.statistics->Add("kept-not-finite");
      return false;
    }
    if (int8_) linear->attrs.group = group_;
    OpBuilder builder = OpBuilder::Before(op);
    TENON_ASSIGN_OR_RETURN(const fused::CompressedLinearOp made,
                           fused::CompressedLinearOp::Create(
                               builder, op->location(), linear->x, constants.w, linear->bias,
                               linear->residual, constants.scale, linear->attrs));
    if (const Attribute kept = op->discardable_attrs()) made.op()->SetDiscardableAttrs(kept);
    context.statistics->Add("compressed");
    context.statistics->Add("bytes-saved", Bytes(linear->w) - Bytes(constants.w) -
                                               (constants.scale ? Bytes(constants.scale) : 0));
    Operation* const weights = linear->w.defining_op();
    op->result().ReplaceAllUsesWith(made.out());
    op->Erase();
    if (!weights->has_uses()) weights->Erase();
    return true;
  }

  static int64_t Bytes(Value value) {
    return value.type().num_elements() * static_cast<int64_t>(SizeOf(value.type().dtype()));
  }

  // Where the weights are, so that whatever uses the weights may use these. Users of one matrix
  // share them.
  absl::StatusOr<Constants> ConstantsFor(Value w, bool transposed) {
    const Attribute value = DefinedBy<core::ConstantOp>(w).value();
    const auto [found, is_new] =
        made_.try_emplace({value.storage(), w.defining_op()->block(), transposed});
    if (!is_new) return found->second;
    const CompressedConstant compressed = int8_ ? ToInt8(value, transposed, group_) : ToBf16(value);
    if (!compressed.w) return found->second;
    // At the block's begin: the constants of equal values may come in any order.
    OpBuilder builder = OpBuilder::Before(w.defining_op()->block()->front());
    const Location location = w.defining_op()->location();
    TENON_ASSIGN_OR_RETURN(const core::ConstantOp made,
                           core::ConstantOp::Create(builder, location, {.value = compressed.w}));
    found->second.w = made.out();
    if (compressed.scale) {
      TENON_ASSIGN_OR_RETURN(
          const core::ConstantOp scale,
          core::ConstantOp::Create(builder, location, {.value = compressed.scale}));
      found->second.scale = scale.out();
    }
    return found->second;
  }

  bool int8_;
  int64_t group_, min_elements_;
  std::map<std::tuple<const void*, const void*, bool>, Constants> made_;
};

}  // namespace

PassInfo CompressWeightsPassInfo() {
  PassInfo info;
  info.anchor = "func.func";
  info.statistics = {{"bytes-saved", "bytes of weights before less those after"},
                     {"compressed", "weights in fewer bits"},
                     {"kept-not-finite", "weights kept because of infinities or NaNs"},
                     {"kept-small", "weights kept because they are small"}};
  info.options = {
      {"to", PassOption::Type::kString, "i8", "element type of the weights", {"bf16", "i8"}},
      {"group", PassOption::Type::kCount, "32",
       "neighboring weights of a column that share a factor (i8); 0: all"},
      {"min-elements", PassOption::Type::kCount, "4096", "smaller matrices stay as they are"}};
  info.create = [](const PassOptionValues& values) {
    return std::make_unique<CompressWeights>(values.GetString("to") == "i8", values.GetInt("group"),
                                             values.GetInt("min-elements"));
  };
  return info;
}

}  // namespace tenon
