// Attention and rotary embedding (opset 23).
#include <fmt/format.h>

#include "frontends/onnx/node.h"
#include "ir/core/check.h"
#include "ir/dialect/nn_ops.h"

namespace tenon::onnx {

absl::Status ImportAttention(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 7));
  if (node.input(4) || node.input(5))
    return node.Unsupported("Attention with past keys and values");
  if (node.input(6)) return node.Unsupported("Attention with key and value lengths");
  TENON_RETURN_IF_ERROR(node.OnlyOutputsBefore(1, "a second output of Attention"));
  node.MarkRead("qk_matmul_output_mode");
  TENON_ASSIGN_OR_RETURN(const int64_t precision,
                         node.Int("softmax_precision", onnxpb::TensorProto::FLOAT));
  if (precision != onnxpb::TensorProto::FLOAT &&
      precision != OnnxTypeOf(node.input(0).type().dtype())) {
    return node.Unsupported("Attention with another softmax_precision than FLOAT or its own type");
  }
  nn::AttentionOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.q_num_heads, node.Int("q_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs.kv_num_heads, node.Int("kv_num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs.scale, node.Float("scale", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs.softcap, node.Float("softcap", 0.0f));
  TENON_ASSIGN_OR_RETURN(attrs.is_causal, node.Flag("is_causal", false));
  if (node.Find("scale") != nullptr && attrs.scale == 0.0f) {
    return node.Unsupported("Attention with a scale of 0");
  }
  return node.Return(node.Make<nn::AttentionOp>(node.input(0), node.input(1), node.input(2),
                                                node.input(3), attrs));
}

absl::Status ImportRotaryEmbedding(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(3, 4));
  nn::RotaryEmbeddingOp::Attrs attrs;
  TENON_ASSIGN_OR_RETURN(attrs.interleaved, node.Flag("interleaved", false));
  TENON_ASSIGN_OR_RETURN(attrs.num_heads, node.Int("num_heads", 0));
  TENON_ASSIGN_OR_RETURN(attrs.rotary_dim, node.Int("rotary_embedding_dim", 0));
  return node.Return(node.Make<nn::RotaryEmbeddingOp>(node.input(0), node.input(1), node.input(2),
                                                      node.input(3), attrs));
}

}  // namespace tenon::onnx
