// Shape functions of the halves of a layer of a transformer, and of the whole layer.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/stacked_layers.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

// The operand groups of fused.attention_block, in order.
enum AttentionGroup : uint8_t {
  kX,
  kResidual,
  kWq,
  kWo,
  kBq,
  kWk,
  kBk,
  kWv,
  kBv,
  kBo,
  kCos,
  kSin,
  kMask,
  kBias,
  kKeyMask,
  kPastKey,
  kPastValue,
  kNormScale,
  kNormBias,
  kBlockOperands
};
using BlockTypes = std::array<Type, kBlockOperands>;

// Those of fused.feed_forward.
enum ForwardGroup : uint8_t {
  kRows,
  kRowsResidual,
  kWu,
  kWd,
  kBu,
  kWg,
  kBg,
  kBd,
  kForwardScale,
  kForwardBias,
  kForwardOperands
};
using ForwardTypes = std::array<Type, kForwardOperands>;

// The group of fused.transformer_layer that holds each of them.
constexpr std::array<int, kBlockOperands> kBlockOfLayer = {0,  1,  2,  3,  6,  7,  8,  9,  10, 11,
                                                           12, 13, 14, 15, 16, 17, 18, 19, 20};
constexpr std::array<int, kForwardOperands> kForwardOfLayer = {0, 1, 4, 5, 21, 22, 23, 24, 25, 26};

// The operands of fused.transformer_layer, in order.
using LayerTypes = std::array<Type, StackedLayers::kOperands>;

template <size_t n>
std::array<Type, n> TypesOf(const LayerTypes& layer, const std::array<int, n>& groups) {
  std::array<Type, n> types;
  for (size_t i = 0; i < n; ++i) types[i] = layer[static_cast<size_t>(groups[i])];
  return types;
}

// Returns the number of columns of rows times `w` plus `bias`. `depth` is the extent of the rows.
absl::StatusOr<DimExpr> ColumnsOf(const InferContext& c, std::string_view name, DimExpr depth,
                                  Type w, Type bias) {
  TENON_RETURN_IF_ERROR(CheckRank(c, name, w, 2));
  DimExpr columns = DimExpr::Unknown(c.context);
  if (w.is_tensor()) {
    const bool transposed = InferBool(c, "transpose_w");
    columns = w.dim(transposed ? 0 : 1);
    TENON_RETURN_IF_ERROR(MergeEqual(c, depth, w.dim(transposed ? 1 : 0),
                                     fmt::format("the number of columns that {} takes", name))
                              .status());
  }
  TENON_RETURN_IF_ERROR(CheckVector(c, fmt::format("the bias of {}", name), bias, columns));
  return columns;
}

// The heads that begin at column `offset` of a product; size -1: they are all its columns.
struct PackedHeads {
  int64_t count, offset, size;
};

// Returns the size of a head. An error if the heads do not lie in `columns` columns.
absl::StatusOr<DimExpr> HeadSize(const InferContext& c, std::string_view what, DimExpr columns,
                                 PackedHeads heads) {
  if (heads.offset < 0 || heads.size < -1 || (heads.size < 0 && heads.offset > 0)) {
    return c.Error(
        fmt::format("the heads of {} have the first column {} and the size {}, expected 0 or more "
                    "with a size, or column 0",
                    what, heads.offset, heads.size));
  }
  int64_t end = 0;
  if (heads.size >= 0) {
    if (__builtin_mul_overflow(heads.count, heads.size, &end) ||
        __builtin_add_overflow(end, heads.offset, &end) ||
        (columns.is_constant() && end > columns.constant())) {
      return c.Error(fmt::format("{} heads of size {} from column {} do not fit {} columns of {}",
                                 heads.count, heads.size, heads.offset, columns.text(), what));
    }
    return DimExpr::Constant(c.context, heads.size);
  }
  if (columns.is_unknown()) return columns;
  if (columns.is_constant() && columns.constant() % heads.count != 0) {
    return c.Error(fmt::format("the {} columns of {} cannot be divided into {} heads",
                               columns.text(), what, heads.count));
  }
  return FloorDiv(columns, heads.count);
}

// The rows and the sum before a norm: `residual` in the shape of `rows` with `columns` columns.
absl::StatusOr<DimVector> SumDims(const InferContext& c, std::span<const DimExpr> rows,
                                  DimExpr columns, Type residual) {
  DimVector dims(rows.begin(), rows.end());
  dims.back() = columns;
  if (!residual.is_tensor()) return dims;
  TENON_RETURN_IF_ERROR(CheckRank(c, "residual", residual, static_cast<int64_t>(dims.size())));
  for (size_t i = 0; i < dims.size(); ++i) {
    TENON_ASSIGN_OR_RETURN(dims[i], MergeEqual(c, dims[i], residual.dim(static_cast<int64_t>(i)),
                                               "an extent of the rows and the residual"));
  }
  return dims;
}

absl::Status CheckNorm(const InferContext& c, Type scale, Type bias, DimExpr extent) {
  TENON_RETURN_IF_ERROR(CheckVector(c, "the scale of a norm", scale, extent));
  TENON_RETURN_IF_ERROR(CheckVector(c, "the bias of a norm", bias, extent));
  if (bias && InferStr(c, "norm") == "rms") return c.Error("only a layer norm has a bias");
  return absl::OkStatus();
}

// What attention makes of the rows.
struct Attended {
  DimExpr columns;            // of its result
  std::vector<Type> present;  // with a past
};

absl::StatusOr<Attended> InferAttended(const InferContext& c, const BlockTypes& t) {
  const int64_t heads = InferI64(c, "num_heads"), kv_heads = InferI64(c, "kv_num_heads");
  const DimExpr batch = t[kX].dim(0), rows = t[kX].dim(1), depth = t[kX].dim(2);
  TENON_ASSIGN_OR_RETURN(const DimExpr q, ColumnsOf(c, "wq", depth, t[kWq], t[kBq]));
  DimExpr k = q;
  if (t[kWk]) {
    TENON_ASSIGN_OR_RETURN(k, ColumnsOf(c, "wk", depth, t[kWk], t[kBk]));
  }
  DimExpr v = k;
  if (t[kWv]) {
    TENON_ASSIGN_OR_RETURN(v, ColumnsOf(c, "wv", depth, t[kWv], t[kBv]));
  }
  const int64_t head_dim = InferI64(c, "head_dim");
  TENON_ASSIGN_OR_RETURN(DimExpr size,
                         HeadSize(c, "the queries", q, {heads, InferI64(c, "q_offset"), head_dim}));
  TENON_ASSIGN_OR_RETURN(const DimExpr k_size,
                         HeadSize(c, "the keys", k, {kv_heads, InferI64(c, "k_offset"), head_dim}));
  TENON_ASSIGN_OR_RETURN(size, MergeEqual(c, size, k_size, "the head size of queries and keys"));
  TENON_ASSIGN_OR_RETURN(
      const DimExpr v_size,
      HeadSize(c, "the values", v, {kv_heads, InferI64(c, "v_offset"), InferI64(c, "v_head_dim")}));
  const DimExpr count = DimExpr::Constant(c.context, heads),
                kv_count = DimExpr::Constant(c.context, kv_heads);
  const int64_t rotated = InferI64(c, "rotary_dim");
  for (const DimExpr& of : {count, kv_count}) {
    const DimExpr turned = rotated > 0 ? DimExpr::Constant(c.context, rotated) : size;
    const DimExpr dims[] = {batch, rows, of, turned};
    if (t[kCos]) {
      TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "cos", t[kCos], dims));
      TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "sin", t[kSin], dims));
    }
  }
  Attended made{v_size.is_unknown() ? v_size : count * v_size, {}};
  DimExpr keys = rows;
  for (int i = 0; i < 2 && t[kPastKey]; ++i) {
    const Type past = t[i == 0 ? kPastKey : kPastValue];
    TENON_RETURN_IF_ERROR(CheckRank(c, i == 0 ? "past_key" : "past_value", past, 4));
    if (!past.is_tensor()) {
      made.present.push_back(Type::Unranked(c.context, t[kX].dtype()));
      keys = DimExpr::Unknown(c.context);
      continue;
    }
    DimVector dims = {batch, kv_count, DimExpr(), i == 0 ? size : v_size};
    for (const int axis : {0, 1, 3}) {
      TENON_ASSIGN_OR_RETURN(
          dims[static_cast<size_t>(axis)],
          MergeEqual(c, dims[static_cast<size_t>(axis)], past.dim(axis), "an extent of the past"));
    }
    keys = past.dim(2) + rows;
    dims[2] = keys;
    made.present.push_back(Type::Tensor(c.context, past.dtype(), dims));
  }
  const DimExpr scores[] = {batch, count, rows, keys}, positions[] = {batch, keys};
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "mask", t[kMask], scores));
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "bias", t[kBias], scores));
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "key_mask", t[kKeyMask], positions));
  return made;
}

absl::Status CheckBlockAttrs(const InferContext& c, const BlockTypes& t) {
  const int64_t heads = InferI64(c, "num_heads"), kv_heads = InferI64(c, "kv_num_heads");
  if (heads < 1 || kv_heads < 1 || heads > INT32_MAX || heads % kv_heads != 0) {
    return c.Error(
        fmt::format("num_heads is {} and kv_num_heads is {}, expected num_heads to be a positive "
                    "multiple of kv_num_heads",
                    heads, kv_heads));
  }
  if (InferI64(c, "window") < 0) return c.Error("window must be 0 or more keys");
  if (t[kWv] && !t[kWk]) return c.Error("wv needs wk");
  if ((!t[kWk] && t[kBk]) || (!t[kWv] && t[kBv])) return c.Error("a bias needs its matrix");
  if (!t[kCos] != !t[kSin]) return c.Error("cos and sin must be given together");
  if (t[kCos] && (!t[kWv] || InferI64(c, "head_dim") >= 0))
    return c.Error("rotated queries and keys need matrices of their own");
  if (!t[kPastKey] != !t[kPastValue])
    return c.Error("past_key and past_value must be given together");
  return absl::OkStatus();
}

// Appends the two results of a norm and the keys and values, all unranked.
absl::Status Unranked(const InferContext& c, ResultTypes& results, bool past) {
  results.insert(results.end(), past ? 4 : 2, Type::Unranked(c.context, c.operand(0).dtype()));
  return absl::OkStatus();
}

absl::Status InferBlock(const InferContext& c, const BlockTypes& t, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckBlockAttrs(c, t));
  const Type x = t[kX];
  if (!x.is_tensor()) return Unranked(c, results, static_cast<bool>(t[kPastKey]));
  TENON_RETURN_IF_ERROR(CheckRank(c, "x", x, 3));
  TENON_ASSIGN_OR_RETURN(const Attended made, InferAttended(c, t));
  TENON_ASSIGN_OR_RETURN(const DimExpr columns, ColumnsOf(c, "wo", made.columns, t[kWo], t[kBo]));
  TENON_ASSIGN_OR_RETURN(const DimVector dims, SumDims(c, x.dims(), columns, t[kResidual]));
  TENON_RETURN_IF_ERROR(CheckNorm(c, t[kNormScale], t[kNormBias], dims.back()));
  results.insert(results.end(), 2, Type::Tensor(c.context, x.dtype(), dims));
  results.insert(results.end(), made.present.begin(), made.present.end());
  return absl::OkStatus();
}

absl::Status InferForward(const InferContext& c, const ForwardTypes& t, ResultTypes& results) {
  if (!t[kWg] && t[kBg]) return c.Error("a bias needs its matrix");
  const Type x = t[kRows];
  if (!x.is_tensor()) return Unranked(c, results, false);
  if (x.rank() < 1) return c.Error("x must be of rank 1 or more, not 0");
  TENON_ASSIGN_OR_RETURN(DimExpr inner, ColumnsOf(c, "wu", x.dim(-1), t[kWu], t[kBu]));
  if (t[kWg]) {
    TENON_ASSIGN_OR_RETURN(const DimExpr gate, ColumnsOf(c, "wg", x.dim(-1), t[kWg], t[kBg]));
    TENON_ASSIGN_OR_RETURN(inner, MergeEqual(c, inner, gate, "the number of columns of wu and wg"));
  }
  TENON_ASSIGN_OR_RETURN(const DimExpr columns, ColumnsOf(c, "wd", inner, t[kWd], t[kBd]));
  TENON_ASSIGN_OR_RETURN(const DimVector dims, SumDims(c, x.dims(), columns, t[kRowsResidual]));
  TENON_RETURN_IF_ERROR(CheckNorm(c, t[kForwardScale], t[kForwardBias], dims.back()));
  results.insert(results.end(), 2, Type::Tensor(c.context, x.dtype(), dims));
  return absl::OkStatus();
}

// The rows and the sum of a layer, and its keys and values.
absl::Status InferLayer(const InferContext& c, const LayerTypes& t, ResultTypes& results) {
  const std::string_view parallel = InferStr(c, "parallel");
  const BlockTypes first = TypesOf(t, kBlockOfLayer);
  if (parallel != "none" && InferBool(c, "post_norm"))
    return c.Error("halves beside each other have no norm between them: post_norm must be false");
  if (parallel == "shared" && (first[kNormScale] || first[kNormBias]))
    return c.Error("halves that share their rows have no norm between them");
  ResultTypes block;
  TENON_RETURN_IF_ERROR(InferBlock(c, first, block));
  ForwardTypes forward = TypesOf(t, kForwardOfLayer);
  forward[kRows] = parallel == "shared" ? t[kX] : block[0];
  forward[kRowsResidual] = block[0];
  TENON_RETURN_IF_ERROR(InferForward(c, forward, results));
  results.insert(results.end(), block.begin() + 2, block.end());
  return absl::OkStatus();
}

// The types that fused.transformer_layer asks of the operands of a layer.
absl::Status CheckTypes(const InferContext& c, const LayerTypes& t) {
  constexpr size_t kMaskOfLayer = 14, kBiasOfLayer = 15, kKeyMaskOfLayer = 16;
  for (size_t i = 0; i < t.size(); ++i) {
    if (!t[i] || i == kMaskOfLayer || i == kBiasOfLayer || i == kKeyMaskOfLayer) continue;
    if (t[i].dtype() != t[kX].dtype())
      return c.Error("residual and layers must have the element type of x");
  }
  if (const Type mask = t[kMaskOfLayer];
      mask && !IsFloat(mask.dtype()) && mask.dtype() != DType::kBool)
    return c.Error(fmt::format("mask must hold floats or i1, not {}", Name(mask.dtype())));
  if (const Type bias = t[kBiasOfLayer]; bias && !IsFloat(bias.dtype()))
    return c.Error(fmt::format("bias must hold floats, not {}", Name(bias.dtype())));
  if (const Type mask = t[kKeyMaskOfLayer]; mask && mask.dtype() != DType::kBool)
    return c.Error(fmt::format("key_mask must be of i1, not {}", Name(mask.dtype())));
  return absl::OkStatus();
}

// Returns where the layers of a stack have their operands, and how many layers there are.
absl::StatusOr<std::pair<StackedLayers, size_t>> LayersOf(const InferContext& c) {
  const StackedLayers layers(InferI64s(c, "has"));
  if (!layers.valid()) {
    return c.Error(fmt::format("has must be {} numbers, each 0 or 1",
                               StackedLayers::kOperands - StackedLayers::kNeeded));
  }
  const size_t count = c.operand_group(2).size();
  if (count == 0 || count % layers.per_layer() != 0) {
    return c.Error(fmt::format("layers has {} operands, expected a positive multiple of {}", count,
                               layers.per_layer()));
  }
  return std::pair(layers, count / layers.per_layer());
}

}  // namespace

absl::Status InferAttentionBlock(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 15, 16, 17, 18}));
  BlockTypes types;
  for (int i = 0; i < kBlockOperands; ++i) types[static_cast<size_t>(i)] = c.operand(i);
  return InferBlock(c, types, results);
}

absl::Status InferFeedForward(const InferContext& c, ResultTypes& results) {
  ForwardTypes types;
  for (int i = 0; i < kForwardOperands; ++i) types[static_cast<size_t>(i)] = c.operand(i);
  return InferForward(c, types, results);
}

absl::Status InferTransformerLayer(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(
      c, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26}));
  LayerTypes types;
  for (size_t i = 0; i < types.size(); ++i) types[i] = c.operand(static_cast<int>(i));
  return InferLayer(c, types, results);
}

absl::Status InferTransformerStack(const InferContext& c, ResultTypes& results) {
  if (c.operand(kResidual).dtype() != c.operand(kX).dtype())
    return c.Error("residual and layers must have the element type of x");
  TENON_ASSIGN_OR_RETURN(const auto stack, LayersOf(c));
  const auto& [layers, count] = stack;
  LayerTypes types;
  types[kX] = c.operand(0);
  types[kResidual] = c.operand(1);
  results.resize(2);
  for (size_t layer = 0; layer < count; ++layer) {
    for (size_t i = 2; i < types.size(); ++i) {
      const std::optional<size_t> place = layers.PlaceOf(layer, i);
      types[i] = place ? c.operands[2 + *place] : Type();
    }
    TENON_RETURN_IF_ERROR(CheckTypes(c, types));
    ResultTypes made;
    TENON_RETURN_IF_ERROR(InferLayer(c, types, made));
    types[kX] = results[0] = made[0];
    results[1] = made[1];
    types[kResidual] = InferBool(c, "post_norm") ? made[0] : made[1];
    results.insert(results.end(), made.begin() + 2, made.end());
  }
  return absl::OkStatus();
}

}  // namespace tenon
