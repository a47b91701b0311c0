// What ONNX Runtime's optimizers join: one op where the model had several.
#include <fmt/format.h>

#include <functional>

#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/image_attributes.h"
#include "ir/base/check.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx {

absl::Status ImportGemm(Node& node);

namespace {

// gelu(x + bias), where there is a bias.
absl::Status BiasedGelu(Node& node, int biases, std::string_view form) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1 + biases));
  Formula f(node);
  Value x = node.input(0);
  if (node.input(1)) x = f.Add(x, node.input(1));
  return f.Return(f.Make<nn::GeluOp>(x, nn::GeluOp::Attrs{.approximate = std::string(form)}));
}

absl::StatusOr<Value> Activated(Node& node, Formula& f, Value x) {
  TENON_ASSIGN_OR_RETURN(const std::string name, node.Str("activation", ""));
  TENON_ASSIGN_OR_RETURN(const auto given, node.Floats("activation_params"));
  const std::vector<float> numbers = given.value_or(std::vector<float>());
  const auto needs = [&](size_t count) -> absl::Status {
    if (numbers.size() == count) return absl::OkStatus();
    return node.Error(fmt::format("activation_params of {} has {} numbers, {} needs {}",
                                  node.op_type(), numbers.size(), name, count));
  };
  if (name.empty()) return x;
  if (name == "Relu") return f.Make<ten::ReluOp>(x);
  if (name == "Tanh") return f.Make<ten::TanhOp>(x);
  if (name == "Sigmoid") return f.Make<ten::SigmoidOp>(x);
  if (name == "HardSwish") return f.Make<ten::HardSwishOp>(x);
  if (name == "LeakyRelu") {
    TENON_RETURN_IF_ERROR(needs(1));
    return f.Make<ten::LeakyReluOp>(x, ten::LeakyReluOp::Attrs{.alpha = numbers[0]});
  }
  if (name == "Clip") {
    TENON_RETURN_IF_ERROR(needs(2));
    return f.Make<ten::ClipOp>(x, ten::ClipOp::Attrs{.min = numbers[0], .max = numbers[1]});
  }
  if (name == "HardSigmoid") {
    TENON_RETURN_IF_ERROR(needs(2));
    return f.Make<ten::HardSigmoidOp>(
        x, ten::HardSigmoidOp::Attrs{.alpha = numbers[0], .beta = numbers[1]});
  }
  return node.Unsupported(fmt::format("{} with the activation {}", node.op_type(), name),
                          "Relu, Tanh, Sigmoid, HardSwish, LeakyRelu, Clip or HardSigmoid");
}

// What FusedGemm does to its result, whose numbers are attributes that must be there.
absl::StatusOr<Value> GemmActivated(Node& node, Formula& f, Value x) {
  TENON_ASSIGN_OR_RETURN(const std::string name, node.Str("activation", ""));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("activation_alpha", 0));
  TENON_ASSIGN_OR_RETURN(const float beta, node.Float("activation_beta", 0));
  const auto needs = [&](std::string_view number) -> absl::Status {
    if (node.Find(number) != nullptr) return absl::OkStatus();
    return node.Error(fmt::format("{} with {} needs {}", node.op_type(), name, number));
  };
  if (name == "Relu") return f.Make<ten::ReluOp>(x);
  if (name == "Tanh") return f.Make<ten::TanhOp>(x);
  if (name == "Sigmoid") return f.Make<ten::SigmoidOp>(x);
  if (name == "LeakyRelu") {
    TENON_RETURN_IF_ERROR(needs("activation_alpha"));
    return f.Make<ten::LeakyReluOp>(x, ten::LeakyReluOp::Attrs{.alpha = alpha});
  }
  if (name == "HardSigmoid") {
    TENON_RETURN_IF_ERROR(needs("activation_alpha"));
    TENON_RETURN_IF_ERROR(needs("activation_beta"));
    return f.Make<ten::HardSigmoidOp>(x, ten::HardSigmoidOp::Attrs{.alpha = alpha, .beta = beta});
  }
  return node.Unsupported(fmt::format("{} with the activation {}", node.op_type(), name),
                          "Relu, Tanh, Sigmoid, LeakyRelu or HardSigmoid");
}

// The sum of the first two inputs and of `bias`, which may be null; as output 3 too.
absl::StatusOr<Value> Skipped(Node& node, Formula& f, Value bias) {
  Value sum = f.Add(node.input(0), node.input(1));
  if (bias) sum = f.Add(sum, bias);
  for (const int i : {1, 2}) {
    if (node.IsOutputUsed(i)) {
      return node.Unsupported("a statistics output in use", "a node that leaves it out");
    }
  }
  if (node.num_outputs() > 3) TENON_RETURN_IF_ERROR(f.Return(sum, 3));
  return sum;
}

// The norm of the sum of what words, positions and segments stand for. Output 1 counts the ones of
// each row of the mask; output 2 is the sum. `table` gives input i as floats, for the tables, 2 to
// 4, and the norm's scale and bias, 5 and 6.
absl::Status EmbedLayerNorm(Node& node, Formula& f, Value positions,
                            const std::function<Value(int)>& table) {
  for (const int i : {2, 3, 5, 6}) {
    if (!node.input(i)) {
      return node.Error(fmt::format("input {} of {} is missing", i, node.op_type()));
    }
  }
  const Value ids = node.input(0), segments = node.input(1), mask = node.input(7);
  if (ids.type().rank() != 2) {
    return node.Error(
        fmt::format("{} needs ids of rank 2, got {}", node.op_type(), ids.type().text()));
  }
  if (!segments != !node.input(4)) {
    return node.Error(
        fmt::format("{} needs both segment_ids and segment_embedding", node.op_type()));
  }
  nn::LayerNormOp::Attrs attrs{.axis = 2};
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-12f));
  const auto rows = [&](int i, Value at) { return f.Make<ten::GatherOp>(table(i), at); };
  if (!positions) positions = f.Iota(ids.type().dim(1), 1, 2);
  Value sum = f.Add(rows(2, ids), rows(3, positions));
  if (segments) sum = f.Add(sum, rows(4, segments));
  TENON_RETURN_IF_ERROR(f.Return(f.Make<nn::LayerNormOp>(sum, table(5), table(6), attrs)));
  if (node.IsOutputUsed(1)) {
    Value count = f.Expand(f.Scalar(DType::kI64, 0), {ids.type().dim(0)});
    if (mask) {
      const Value seen = f.Make<ten::EqualOp>(mask, f.Scalar(mask.type().dtype(), 1));
      count = f.Make<ten::ReduceSumOp>(f.Cast(seen, DType::kI64),
                                       ten::ReduceSumOp::Attrs{.axes = {1}, .keepdims = false});
    }
    TENON_RETURN_IF_ERROR(f.Return(f.Cast(count, ids.type().dtype()), 1));
  }
  return node.num_outputs() > 2 ? f.Return(sum, 2) : absl::OkStatus();
}

}  // namespace

absl::Status ImportMicrosoftBiasGelu(Node& node) { return BiasedGelu(node, 1, "none"); }
absl::Status ImportMicrosoftGelu(Node& node) { return BiasedGelu(node, 0, "none"); }
absl::Status ImportMicrosoftFastGelu(Node& node) { return BiasedGelu(node, 1, "tanh"); }

absl::Status ImportMicrosoftQuickGelu(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.702f));
  Formula f(node);
  const Value x = node.input(0);
  if (alpha == 1.0f) return f.Return(f.Make<nn::SiluOp>(x));
  const Value scaled = f.Mul(x, f.Scalar(x.type().dtype(), alpha));
  return f.Return(f.Mul(x, f.Make<ten::SigmoidOp>(scaled)));
}

absl::Status ImportMicrosoftFusedMatMul(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 2));
  for (const char* name : {"transBatchA", "transBatchB"}) {
    TENON_ASSIGN_OR_RETURN(const bool moved, node.Flag(name, false));
    if (moved)
      return node.Unsupported(fmt::format("FusedMatMul with {}", name),
                              fmt::format("{} = 0 and a Transpose before it", name));
  }
  ten::MatmulOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.transpose_a, node.Flag("transA", false));
  TENON_ASSIGN_OR_RETURN(attrs.transpose_b, node.Flag("transB", false));
  TENON_ASSIGN_OR_RETURN(const float alpha, node.Float("alpha", 1.0f));
  // A vector has nothing to transpose.
  if (node.input(0).type().rank() < 2) attrs.transpose_a = false;
  if (node.input(1).type().rank() < 2) attrs.transpose_b = false;
  Formula f(node);
  const Value product = f.Make<ten::MatmulOp>(node.input(0), node.input(1), attrs);
  if (alpha == 1.0f) return f.Return(product);
  return f.Return(f.Mul(product, f.Scalar(node.input(0).type().dtype(), alpha)));
}

// activation(gemm(a, b, c)).
absl::Status ImportMicrosoftFusedGemm(Node& node) {
  TENON_RETURN_IF_ERROR(ImportGemm(node));
  node.MarkRead("activation_gamma");
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value y, GemmActivated(node, f, node.output(0)));
  return f.Return(y);
}

// activation(conv(x, w, bias) + z).
absl::Status ImportMicrosoftFusedConv(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(2, 4));
  TENON_ASSIGN_OR_RETURN(const nn::ConvOp::Attrs attrs, ReadConv(node, node.input(1)));
  Formula f(node);
  Value y = f.Make<nn::ConvOp>(node.input(0), node.input(1), node.input(2), attrs);
  if (node.input(3)) y = f.Add(y, node.input(3));
  TENON_ASSIGN_OR_RETURN(y, Activated(node, f, y));
  return f.Return(y);
}

absl::Status ImportMicrosoftSkipLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 5));
  nn::LayerNormOp::Attrs attrs{.axis = node.input(0).type().rank() - 1};
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-12f));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value sum, Skipped(node, f, node.input(4)));
  return f.Return(f.Make<nn::LayerNormOp>(sum, node.input(2), node.input(3), attrs));
}

absl::Status ImportMicrosoftSkipSimplifiedLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 4));
  nn::RmsNormOp::Attrs attrs{.axis = node.input(0).type().rank() - 1};
  TENON_ASSIGN_OR_RETURN(attrs.epsilon, node.Float("epsilon", 1e-12f));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const Value sum, Skipped(node, f, node.input(3)));
  return f.Return(f.Make<nn::RmsNormOp>(sum, node.input(2), attrs));
}

absl::Status ImportMicrosoftEmbedLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 9));
  node.MarkRead("mask_index_type");
  Formula f(node);
  return EmbedLayerNorm(node, f, node.input(8), [&](int i) { return node.input(i); });
}

// Scales are inputs 8 to 12, zero points 13 to 17.
absl::Status ImportMicrosoftQEmbedLayerNormalization(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 18));
  for (int i = 2; i <= 6; ++i) {
    if (!node.input(i) || (node.input(i + 6) && node.input(i + 11))) continue;
    return node.Error(
        fmt::format("input {} of QEmbedLayerNormalization has no scale or zero point", i));
  }
  Formula f(node);
  return EmbedLayerNorm(node, f, Value(), [&](int i) {
    return f.Mul(f.Sub(f.Cast(node.input(i), DType::kF32), f.Cast(node.input(i + 11), DType::kF32)),
                 node.input(i + 6));
  });
}

}  // namespace tenon::onnx
