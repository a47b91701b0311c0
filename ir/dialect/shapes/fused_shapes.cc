// Shape functions of the fused dialect.
#include <algorithm>

#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/weight_group.h"
#include "ir/core/context/context.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {

absl::Status InferFusedLinear(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), w = c.operand(1), bias = c.operand(2), residual = c.operand(3);
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 1) return c.Error("x must be of rank 1 or more, not 0");
  TENON_RETURN_IF_ERROR(CheckRank(c, "w", w, 2));
  DimVector dims(x.dims().begin(), x.dims().end());
  dims.back() = DimExpr::Unknown(c.context);
  if (w.is_tensor()) {
    const bool transposed = InferBool(c, "transpose_w");
    const DimExpr inner = w.dim(transposed ? 1 : 0);
    dims.back() = w.dim(transposed ? 0 : 1);
    if (ProvablyDifferent(inner, x.dim(-1))) {
      return c.Error(fmt::format("the last extent of x is {}, but w of shape {}{} takes {}",
                                 x.dim(-1).text(), DimsText(w.dims()),
                                 transposed ? " (transposed)" : "", inner.text()));
    }
  }
  TENON_RETURN_IF_ERROR(CheckVector(c, "bias", bias, dims.back()));
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "residual", residual, dims));
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferExpertLinear(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1}));
  const Type x = c.operand(0), w = c.operand(1);
  if (!x.is_tensor() || !w.is_tensor()) {
    return SetResult(results, Type::Unranked(c.context, x.dtype()));
  }
  TENON_RETURN_IF_ERROR(CheckRank(c, "x", x, 2));
  TENON_RETURN_IF_ERROR(CheckRank(c, "w", w, 3));
  TENON_RETURN_IF_ERROR(CheckVector(c, "index", c.operand(2), x.dim(0)));
  const bool transposed = InferBool(c, "transpose_w");
  TENON_RETURN_IF_ERROR(MergeEqual(c, x.dim(1), w.dim(transposed ? 2 : 1),
                                   "the number of columns that x has and w takes")
                            .status());
  const DimExpr dims[] = {x.dim(0), w.dim(transposed ? 1 : 2)};
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferCompressedLinear(const InferContext& c, ResultTypes& results) {
  const Type w = c.operand(1), scale = c.operand(4);
  const int64_t group = InferI64(c, "group");
  if (group < 0) return c.Error(fmt::format("group is {} (expected 0 or more)", group));
  const bool quantized = w && w.is_any_tensor() && w.dtype() == DType::kI8;
  if (quantized && !scale) return c.Error("w of i8 needs a scale");
  if (!quantized && scale) return c.Error("only w of i8 takes a scale");
  TENON_RETURN_IF_ERROR(InferFusedLinear(c, results));
  if (!scale || !scale.is_any_tensor()) return absl::OkStatus();
  TENON_RETURN_IF_ERROR(CheckRank(c, "scale", scale, 2));
  if (!scale.is_tensor() || !w.is_tensor()) return absl::OkStatus();
  const bool transposed = InferBool(c, "transpose_w");
  const DimExpr k = w.dim(transposed ? 1 : 0), n = w.dim(transposed ? 0 : 1);
  if (ProvablyDifferent(scale.dim(1), n)) {
    return c.Error(fmt::format("scale of shape {} has no factor for each of {} columns",
                               DimsText(scale.dims()), n.text()));
  }
  if (!k.is_constant() || !scale.dim(0).is_constant()) return absl::OkStatus();
  const int64_t groups = FactorsPerColumn(group, k.constant());
  if (scale.dim(0).constant() != groups) {
    return c.Error(fmt::format("scale has {} rows, but groups of {} of {} need {}",
                               scale.dim(0).constant(), group, k.constant(), groups));
  }
  return absl::OkStatus();
}

namespace {

// What an operand of fused.attention says about its extents in a layout.
struct View {
  DimExpr batch, heads, sequence, size;
};

// The columns of a tensor of layout bsh that hold the heads; size -1: all columns.
struct Columns {
  int64_t offset, size;
};

// Refuses columns outside the tensor, and such columns where the layout has none.
absl::Status CheckColumns(const InferContext& c, std::string_view what, Type type,
                          std::string_view layout, int64_t num_heads, Columns columns) {
  if (columns.offset < 0 || columns.size < -1) {
    return c.Error(
        fmt::format("the heads of {} have the first column {} and the size {}, expected 0 or more "
                    "and -1 or more",
                    what, columns.offset, columns.size));
  }
  if (columns.offset == 0 && (columns.size < 0 || layout != "bsh")) return absl::OkStatus();
  if (layout != "bsh" || columns.size < 0) {
    return c.Error(fmt::format(
        "the heads of {} do not begin at column 0, which needs the layout bsh and a head size",
        what));
  }
  int64_t end = 0;
  if (__builtin_mul_overflow(num_heads, columns.size, &end) ||
      __builtin_add_overflow(end, columns.offset, &end) ||
      (type.dim(2).is_constant() && end > type.dim(2).constant())) {
    return c.Error(
        fmt::format("{} heads of size {} from column {} do not fit the last extent {} of {}",
                    num_heads, columns.size, columns.offset, type.dim(2).text(), what));
  }
  return absl::OkStatus();
}

absl::StatusOr<View> ReadLayout(const InferContext& c, std::string_view what, Type type,
                                std::string_view layout, int64_t num_heads, Columns columns) {
  TENON_RETURN_IF_ERROR(CheckRank(c, what, type, layout == "bsh" ? 3 : 4));
  TENON_RETURN_IF_ERROR(CheckColumns(c, what, type, layout, num_heads, columns));
  const DimExpr heads = DimExpr::Constant(c.context, num_heads);
  if (layout == "bsh" && columns.size >= 0) {
    return View{type.dim(0), heads, type.dim(1), DimExpr::Constant(c.context, columns.size)};
  }
  if (layout == "bsh") {
    const DimExpr packed = type.dim(2);
    if (packed.is_constant() && packed.constant() % num_heads != 0) {
      return c.Error(fmt::format("the last extent {} of {} cannot be divided into {} heads",
                                 packed.text(), what, num_heads));
    }
    return View{type.dim(0), heads, type.dim(1), FloorDiv(packed, num_heads)};
  }
  View view;
  if (layout == "bshd") {
    view = {type.dim(0), type.dim(2), type.dim(1), type.dim(3)};
  } else if (layout == "bhds") {
    view = {type.dim(0), type.dim(1), type.dim(3), type.dim(2)};
  } else {
    view = {type.dim(0), type.dim(1), type.dim(2), type.dim(3)};
  }
  TENON_ASSIGN_OR_RETURN(
      view.heads, MergeEqual(c, view.heads, heads, fmt::format("the number of heads of {}", what)));
  return view;
}

// What an attention sees of its keys, or of its values: those of `past`, if given, and then `view`.
// `present`: their type as a result.
absl::StatusOr<View> AppendToPast(const InferContext& c, std::string_view what, Type past,
                                  View view, int64_t kv_heads, Type& present) {
  if (!past) return view;
  TENON_ASSIGN_OR_RETURN(const View before, ReadLayout(c, what, past, "bhsd", kv_heads, {0, -1}));
  TENON_ASSIGN_OR_RETURN(
      view.batch, MergeEqual(c, view.batch, before.batch, fmt::format("the batch of {}", what)));
  TENON_ASSIGN_OR_RETURN(
      view.size, MergeEqual(c, view.size, before.size, fmt::format("the head size of {}", what)));
  view.sequence = before.sequence + view.sequence;
  const DimExpr dims[] = {view.batch, view.heads, view.sequence, view.size};
  present = Type::Tensor(c.context, past.dtype(), dims);
  return view;
}

}  // namespace

absl::Status InferFusedAttention(const InferContext& c, ResultTypes& results) {
  TENON_RETURN_IF_ERROR(CheckOneDType(c, {0, 1, 2, 6, 7}));
  const Type q = c.operand(0), k = c.operand(1), v = c.operand(2);
  const int64_t heads = InferI64(c, "num_heads"), kv_heads = InferI64(c, "kv_num_heads");
  if (heads < 1 || kv_heads < 1 || heads % kv_heads != 0) {
    return c.Error(
        fmt::format("num_heads is {} and kv_num_heads is {}, expected num_heads to be a positive "
                    "multiple of kv_num_heads",
                    heads, kv_heads));
  }
  const Type past_key = c.operand(6), past_value = c.operand(7);
  if (!past_key != !past_value) return c.Error("past_key and past_value must be given together");
  const auto is_tensor = [](Type type) { return type.is_tensor(); };
  if (!is_tensor(q) || !is_tensor(k) || !is_tensor(v) ||
      (past_key && (!is_tensor(past_key) || !is_tensor(past_value)))) {
    results.insert(results.end(), past_key ? 3 : 1, Type::Unranked(c.context, q.dtype()));
    return absl::OkStatus();
  }
  const int64_t size = InferI64(c, "head_dim"), v_size = InferI64(c, "v_head_dim");
  TENON_ASSIGN_OR_RETURN(const View vq, ReadLayout(c, "q", q, InferStr(c, "q_layout"), heads,
                                                   {InferI64(c, "q_offset"), size}));
  TENON_ASSIGN_OR_RETURN(View vk, ReadLayout(c, "k", k, InferStr(c, "k_layout"), kv_heads,
                                             {InferI64(c, "k_offset"), size}));
  TENON_ASSIGN_OR_RETURN(View vv, ReadLayout(c, "v", v, InferStr(c, "v_layout"), kv_heads,
                                             {InferI64(c, "v_offset"), v_size}));
  if (past_key) {
    TENON_RETURN_IF_ERROR(
        MergeEqual(c, vk.sequence, vv.sequence, "the sequence of k and v").status());
  }
  Type present_key, present_value;
  TENON_ASSIGN_OR_RETURN(vk, AppendToPast(c, "past_key", past_key, vk, kv_heads, present_key));
  TENON_ASSIGN_OR_RETURN(vv,
                         AppendToPast(c, "past_value", past_value, vv, kv_heads, present_value));
  TENON_ASSIGN_OR_RETURN(DimExpr batch, MergeEqual(c, vq.batch, vk.batch, "the batch of q and k"));
  TENON_ASSIGN_OR_RETURN(batch, MergeEqual(c, batch, vv.batch, "the batch of q and v"));
  TENON_RETURN_IF_ERROR(MergeEqual(c, vq.size, vk.size, "the head size of q and k").status());
  TENON_ASSIGN_OR_RETURN(const DimExpr keys,
                         MergeEqual(c, vk.sequence, vv.sequence, "the sequence of k and v"));
  const DimExpr scores[] = {batch, vq.heads, vq.sequence, keys};
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "mask", c.operand(3), scores));
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "bias", c.operand(4), scores));
  const DimExpr positions[] = {batch, keys};
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "key_mask", c.operand(5), positions));
  if (const int64_t window = InferI64(c, "window"); window < 0)
    return c.Error(fmt::format("window is {}, expected 0 or more keys", window));
  const std::string_view out = InferStr(c, "out_layout");
  if (out == "bsh") {
    const DimExpr dims[] = {batch, vq.sequence, vq.heads * vv.size};
    TENON_RETURN_IF_ERROR(SetTensor(c, results, q.dtype(), dims));
  } else if (out == "bshd") {
    const DimExpr dims[] = {batch, vq.sequence, vq.heads, vv.size};
    TENON_RETURN_IF_ERROR(SetTensor(c, results, q.dtype(), dims));
  } else {
    const DimExpr dims[] = {batch, vq.heads, vq.sequence, vv.size};
    TENON_RETURN_IF_ERROR(SetTensor(c, results, q.dtype(), dims));
  }
  if (past_key) results.insert(results.end(), {present_key, present_value});
  return absl::OkStatus();
}

absl::Status InferFusedRotary(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0);
  if (!x.is_tensor()) return SetResult(results, x);
  if (x.rank() < 1) return c.Error("x must be of rank 1 or more, not 0");
  const int64_t rotated = InferI64(c, "rotary_dim");
  DimVector dims(x.dims().begin(), x.dims().end());
  const DimExpr last = dims.back();
  if (rotated < 0 || (last.is_constant() && rotated > last.constant())) {
    return c.Error(fmt::format("rotary_dim is {}, but x has {} elements", rotated, last.text()));
  }
  if (rotated > 0) dims.back() = DimExpr::Constant(c.context, rotated);
  if (dims.back().is_constant() && dims.back().constant() % 2 != 0) {
    return c.Error(fmt::format("{} elements cannot be rotated in pairs", dims.back().text()));
  }
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "cos", c.operand(1), dims));
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "sin", c.operand(2), dims));
  return SetTensor(c, results, x.dtype(), x.dims());
}

absl::Status InferGated(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), up = c.operand(1);
  if (!x.is_tensor()) return SetResult(results, x);
  DimVector dims(x.dims().begin(), x.dims().end());
  if (up) {
    if (!up.is_tensor()) return SetResult(results, x);
    if (up.rank() != x.rank()) return c.Error("x and up must have one shape");
    for (size_t i = 0; i < dims.size(); ++i) {
      TENON_ASSIGN_OR_RETURN(dims[i], MergeEqual(c, dims[i], up.dim(static_cast<int64_t>(i)),
                                                 "an extent of x and up"));
    }
    return SetTensor(c, results, x.dtype(), dims);
  }
  if (dims.empty()) return c.Error("x must be of rank 1 or more, not 0");
  if (dims.back().is_constant() && dims.back().constant() % 2 != 0) {
    return c.Error(fmt::format("the last extent {} of x has no halves", dims.back().text()));
  }
  dims.back() = FloorDiv(dims.back(), 2);
  return SetTensor(c, results, x.dtype(), dims);
}

absl::Status InferEmbedding(const InferContext& c, ResultTypes& results) {
  const std::span<const Type> lookups = c.operand_group(3);
  if (lookups.empty() || lookups.size() % 2 != 0) return c.Error("ids and tables come in pairs");
  const Type table = lookups[1];
  DimVector dims;
  DimExpr size = DimExpr::Unknown(c.context);
  bool known = true;
  for (size_t i = 0; i < lookups.size(); i += 2) {
    const Type ids = lookups[i], rows = lookups[i + 1];
    if (ids.dtype() != DType::kI32 && ids.dtype() != DType::kI64) {
      return c.Error(fmt::format("ids must be i32 or i64, not {}", Name(ids.dtype())));
    }
    if (!IsFloat(rows.dtype())) {
      return c.Error(fmt::format("a table must hold floats, not {}", Name(rows.dtype())));
    }
    TENON_RETURN_IF_ERROR(CheckRank(c, "a table", rows, 2));
    if (rows.dtype() != table.dtype()) return c.Error("the tables have several element types");
    if (rows.is_tensor()) {
      TENON_ASSIGN_OR_RETURN(size, MergeEqual(c, size, rows.dim(1), "the row length of tables"));
    }
    if (!ids.is_tensor()) {
      known = false;
    } else {
      TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, ids.dims()));
    }
  }
  dims.push_back(size);
  const Type added = c.operand(0);
  if (added && added.is_tensor()) {
    TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, added.dims()));
    if (size.is_constant() && dims.back() != size) {
      return c.Error(fmt::format("added has rows of {} elements, the tables of {}",
                                 dims.back().text(), size.text()));
    }
  } else if (added) {
    known = false;
  }
  for (int i = 0; i < 3; ++i) {
    if (c.operand(i) && c.operand(i).dtype() != table.dtype())
      return c.Error("added, scale and bias must have the element type of the tables");
    if (i > 0) {
      TENON_RETURN_IF_ERROR(CheckVector(c, i == 1 ? "scale" : "bias", c.operand(i), dims.back()));
    }
  }
  const Type made = known ? Type::Tensor(c.context, table.dtype(), dims)
                          : Type::Unranked(c.context, table.dtype());
  results.insert(results.end(), 2, made);
  return absl::OkStatus();
}

absl::Status InferSkipNorm(const InferContext& c, ResultTypes& results) {
  const Type x = c.operand(0), skip = c.operand(1);
  if (!x.is_tensor() || !skip.is_tensor()) {
    const Type unranked = Type::Unranked(c.context, x.dtype());
    results.insert(results.end(), 2, unranked);
    return absl::OkStatus();
  }
  DimVector dims(x.dims().begin(), x.dims().end());
  TENON_RETURN_IF_ERROR(BroadcastInto(c, dims, skip.dims()));
  TENON_RETURN_IF_ERROR(InferAxis(c, "axis", static_cast<int64_t>(dims.size())).status());
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "scale", c.operand(2), dims));
  const int offset = static_cast<int>(c.segments.size()) - 1;  // behind a bias, if the op has one
  if (offset > 3) TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "bias", c.operand(3), dims));
  TENON_RETURN_IF_ERROR(CheckBroadcastsTo(c, "offset", c.operand(offset), dims));
  results.insert(results.end(), 2, Type::Tensor(c.context, x.dtype(), dims));
  return absl::OkStatus();
}

}  // namespace tenon
