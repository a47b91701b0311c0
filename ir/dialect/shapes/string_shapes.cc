// The shape functions of strings and of encoded images.
#include <algorithm>

#include "fmt/format.h"
#include "ir/dialect/shapes/infer_helpers.h"
#include "ir/dialect/shapes/shape_functions.h"

namespace tenon {
namespace {

Type TextOfAnySize(const InferContext& c) {
  const DimExpr dims[] = {DimExpr::Unknown(c.context)};
  return Type::Tensor(c.context, DType::kU8, std::span<const DimExpr>(dims));
}

// Returns an error unless each of these operands can be a text.
absl::Status CheckTexts(const InferContext& c, std::initializer_list<size_t> operands) {
  for (const size_t i : operands) {
    if (absl::Status status = CheckRank(c, "a text", c.operands[i], 1); !status.ok()) return status;
  }
  return absl::OkStatus();
}

// The shape of x, with another element type.
Type LikeSpans(const InferContext& c, Type x, DType dtype) {
  return x.is_tensor() ? Type::Tensor(c.context, dtype, x.dims())
                       : Type::Unranked(c.context, dtype);
}

// The shape to which the spans of operands 0 and 2 broadcast.
absl::StatusOr<Type> BroadcastSpans(const InferContext& c, DType dtype) {
  const Type a = c.operands[0], b = c.operands[2];
  if (absl::Status status = CheckTexts(c, {1, 3}); !status.ok()) return status;
  if (!a.is_tensor() || !b.is_tensor()) return Type::Unranked(c.context, dtype);
  DimVector dims(a.dims().begin(), a.dims().end());
  if (absl::Status status = BroadcastInto(c, dims, b.dims()); !status.ok()) return status;
  return Type::Tensor(c.context, dtype, std::span<const DimExpr>(dims.data(), dims.size()));
}

}  // namespace

absl::Status InferStrEqual(const InferContext& c, ResultTypes& results) {
  const absl::StatusOr<Type> type = BroadcastSpans(c, DType::kBool);
  return type.ok() ? SetResult(results, *type) : type.status();
}

absl::Status InferStrFind(const InferContext& c, ResultTypes& results) {
  if (absl::Status status = CheckTexts(c, {1, 3}); !status.ok()) return status;
  if (absl::Status status = CheckRank(c, "keys", c.operands[2], 1); !status.ok()) return status;
  return SetResult(results, LikeSpans(c, c.operands[0], DType::kI64));
}

absl::Status InferStrConcat(const InferContext& c, ResultTypes& results) {
  const absl::StatusOr<Type> type = BroadcastSpans(c, DType::kI64);
  if (!type.ok()) return type.status();
  results.push_back(*type);
  return SetResult(results, TextOfAnySize(c));
}

absl::Status InferStrMake(const InferContext& c, ResultTypes& results) {
  if (c.operands.size() > 1) {
    if (absl::Status status = CheckTexts(c, {1}); !status.ok()) return status;
  }
  results.push_back(LikeSpans(c, c.operands[0], DType::kI64));
  return SetResult(results, TextOfAnySize(c));
}

absl::Status InferStrSplit(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  if (absl::Status status = CheckTexts(c, {1}); !status.ok()) return status;
  if (const Attribute most = InferAttr(c, "maxsplit"); most && most.int_value() < 0) {
    return c.Error(fmt::format("maxsplit is {} (expected 0 or more)", most.int_value()));
  }
  Type parts = Type::Unranked(c.context, DType::kI64);
  if (x.is_tensor()) {
    DimVector dims(x.dims().begin(), x.dims().end());
    dims.push_back(DimExpr::Unknown(c.context));
    parts =
        Type::Tensor(c.context, DType::kI64, std::span<const DimExpr>(dims.data(), dims.size()));
  }
  results.push_back(parts);
  return SetResult(results, LikeSpans(c, x, DType::kI64));
}

absl::Status InferStrMatches(const InferContext& c, ResultTypes& results) {
  if (absl::Status status = CheckTexts(c, {1}); !status.ok()) return status;
  return SetResult(results, LikeSpans(c, c.operands[0], DType::kBool));
}

absl::Status InferStrToNumber(const InferContext& c, ResultTypes& results) {
  if (absl::Status status = CheckTexts(c, {1}); !status.ok()) return status;
  const Attribute to = InferAttr(c, "to");
  const DType dtype = to && to.kind() == Attribute::Kind::kType ? to.type().dtype() : DType();
  if (dtype == DType::kInvalid || IsNarrow(dtype)) {
    return c.Error("to must be i1, an integer of 8 to 64 bits or a float of 16 to 64 bits");
  }
  return SetResult(results, LikeSpans(c, c.operands[0], dtype));
}

absl::Status InferCountNgrams(const InferContext& c, ResultTypes& results) {
  const Type x = c.operands[0];
  const std::span<const int64_t> pool = InferI64s(c, "pool"), starts = InferI64s(c, "starts"),
                                 columns = InferI64s(c, "columns");
  const int64_t least = InferI64(c, "min_length"), most = InferI64(c, "max_length");
  if (least < 1 || most < least || most > static_cast<int64_t>(starts.size())) {
    return c.Error(fmt::format("n-grams have {} to {} numbers (expected 1 to {}, in this order)",
                               least, most, starts.size()));
  }
  if (InferI64(c, "max_skip") < 0) return c.Error("max_skip is negative (expected 0 or more)");
  // The number of n-grams of all lengths.
  int64_t count = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto size = static_cast<int64_t>(i) + 1, end = static_cast<int64_t>(pool.size());
    const int64_t next = i + 1 < starts.size() ? starts[i + 1] : end;
    if (starts[i] < 0 || next < starts[i] || next > end || (next - starts[i]) % size != 0) {
      return c.Error(fmt::format(
          "the n-grams of {} numbers are {} to {} of the pool (expected whole ones within 0 to {})",
          size, starts[i], next, end));
    }
    count += (next - starts[i]) / size;
  }
  if (!starts.empty() && starts[0] != 0) return c.Error("starts must begin with 0");
  if (count != static_cast<int64_t>(columns.size())) {
    return c.Error(fmt::format("there are {} n-grams and {} columns", count, columns.size()));
  }
  int64_t width = 0;
  for (const int64_t column : columns) {
    if (column < 0 || column >= int64_t{1} << 31) {
      return c.Error(fmt::format("a column is {} (expected 0 to 2147483647)", column));
    }
    width = std::max(width, column + 1);
  }
  if (!x.is_tensor()) return SetResult(results, Type::Unranked(c.context, DType::kF32));
  if (x.rank() != 1 && x.rank() != 2) {
    return c.Error(fmt::format("x has rank {} (expected 1 or 2)", x.rank()));
  }
  DimVector dims(x.dims().begin(), x.dims().end());
  dims.back() = DimExpr::Constant(c.context, width);
  return SetTensor(c, results, DType::kF32, std::span<const DimExpr>(dims.data(), dims.size()));
}

absl::Status InferDecodeImage(const InferContext& c, ResultTypes& results) {
  if (absl::Status status = CheckRank(c, "x", c.operands[0], 1); !status.ok()) return status;
  const DimExpr unknown = DimExpr::Unknown(c.context);
  const DimExpr dims[] = {
      unknown, unknown, DimExpr::Constant(c.context, InferStr(c, "format") == "Grayscale" ? 1 : 3)};
  return SetTensor(c, results, DType::kU8, dims);
}

}  // namespace tenon
