#include "frontends/c/types.h"

#include <vector>

#include "frontends/c/convert.h"
#include "frontends/c/convert_types.h"
#include "frontends/c/errors.h"
#include "ir/base/limits.h"
#include "ir/core/dims/dim_expr.h"
#include "ir/core/text/parser.h"

namespace c = tenon::c;

using tenon::DimExpr;
using tenon::DType;
using tenon::Type;

namespace tenon::c {

absl::Status ReadDType(TenonDType dtype, DType& out) {
  const auto number = static_cast<unsigned>(dtype);
  if (number == 0 || number >= kNumDTypes) return Wrong("{} is no element type", number);
  out = static_cast<DType>(number);
  return absl::OkStatus();
}

absl::Status ReadTypes(const TenonType* types, size_t count, const Context& context,
                       std::string_view what, std::vector<Type>& out) {
  if (count > 0) TENON_RETURN_IF_ERROR(NotNull(types, what));
  out.reserve(out.size() + count);
  for (size_t i = 0; i < count; ++i) {
    out.push_back(FromC(types[i]));
    TENON_RETURN_IF_ERROR(Belongs(out.back(), context, fmt::format("{}[{}]", what, i)));
  }
  return absl::OkStatus();
}

}  // namespace tenon::c

// The enumerators are the same in both languages, and stay what they are.
static_assert(tenon::kNumDTypes == TENON_U2 + 1);
static_assert(static_cast<int>(DType::kBool) == TENON_BOOL);
static_assert(static_cast<int>(DType::kI64) == TENON_I64);
static_assert(static_cast<int>(DType::kU64) == TENON_U64);
static_assert(static_cast<int>(DType::kF16) == TENON_F16);
static_assert(static_cast<int>(DType::kF64) == TENON_F64);
static_assert(static_cast<int>(DType::kF8E8M0FNU) == TENON_F8E8M0FNU);
static_assert(static_cast<int>(DType::kF4E2M1FN) == TENON_F4E2M1FN);
static_assert(static_cast<int>(DType::kU2) == TENON_U2);

namespace {

absl::Status CheckMaking(TenonContext context, const void* out, std::string_view what) {
  TENON_RETURN_IF_ERROR(c::NotNull(context.ptr, "context"));
  return c::NotNull(out, what);
}

absl::Status CheckRank(size_t rank, const void* extents) {
  if (rank > 0) TENON_RETURN_IF_ERROR(c::NotNull(extents, "extents"));
  if (rank <= static_cast<size_t>(tenon::kMaxRank)) return absl::OkStatus();
  return c::Wrong("{} dimensions (expected at most {})", rank, tenon::kMaxRank);
}

bool IsRanked(TenonType type) { return type.ptr != nullptr && c::FromC(type).is_tensor(); }

}  // namespace

size_t tenonDTypeSize(TenonDType dtype) {
  DType known;
  return c::ReadDType(dtype, known).ok() ? tenon::SizeOf(known) : 0;
}

TenonString tenonDTypeName(TenonDType dtype) {
  DType known;
  return c::ReadDType(dtype, known).ok() ? tenonString(tenon::Name(known))
                                         : TenonString{nullptr, 0};
}

TenonStatus* tenonTypeParse(TenonContext context, TenonString text, TenonType* type) {
  if (context.ptr == nullptr) return c::ToC(c::NotNull(context.ptr, "context"));
  return c::AnswerIn(*c::FromC(context), "reading a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(type, "type"));
    std::string_view given;
    TENON_RETURN_IF_ERROR(c::ReadText(text, "text", given));
    TENON_ASSIGN_OR_RETURN(const Type made, tenon::ParseType(*c::FromC(context), given));
    *type = c::ToC(made);
    return absl::OkStatus();
  });
}

TenonStatus* tenonTypeTensor(TenonContext context, TenonDType dtype, const int64_t* extents,
                             size_t rank, TenonType* type) {
  return c::Answer("making a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckMaking(context, type, "type"));
    TENON_RETURN_IF_ERROR(CheckRank(rank, extents));
    DType known;
    TENON_RETURN_IF_ERROR(c::ReadDType(dtype, known));
    std::vector<DimExpr> dims;
    for (size_t i = 0; i < rank; ++i) {
      if (extents[i] < 0 && extents[i] != TENON_DYNAMIC)
        return c::Wrong("extent {} is {} (expected at least 0, or TENON_DYNAMIC)", i, extents[i]);
      dims.push_back(extents[i] == TENON_DYNAMIC
                         ? DimExpr::Unknown(*c::FromC(context))
                         : DimExpr::Constant(*c::FromC(context), extents[i]));
    }
    *type = c::ToC(Type::Tensor(*c::FromC(context), known, std::span<const DimExpr>(dims)));
    return absl::OkStatus();
  });
}

TenonStatus* tenonTypeSymbolicTensor(TenonContext context, TenonDType dtype,
                                     const TenonString* extents, size_t rank, TenonType* type) {
  return c::Answer("making a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckMaking(context, type, "type"));
    TENON_RETURN_IF_ERROR(CheckRank(rank, extents));
    DType known;
    TENON_RETURN_IF_ERROR(c::ReadDType(dtype, known));
    std::vector<DimExpr> dims;
    for (size_t i = 0; i < rank; ++i) {
      std::string_view text;
      TENON_RETURN_IF_ERROR(c::ReadText(extents[i], "extents", text));
      const std::optional<DimExpr> dim = DimExpr::Parse(*c::FromC(context), text);
      if (!dim || (dim->is_constant() && dim->constant() < 0))
        return c::Wrong("extent {} is '{}' (expected a number, a name or an expression)", i, text);
      dims.push_back(*dim);
    }
    *type = c::ToC(Type::Tensor(*c::FromC(context), known, std::span<const DimExpr>(dims)));
    return absl::OkStatus();
  });
}

TenonStatus* tenonTypeScalar(TenonContext context, TenonDType dtype, TenonType* type) {
  return c::Answer("making a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckMaking(context, type, "type"));
    DType known;
    TENON_RETURN_IF_ERROR(c::ReadDType(dtype, known));
    *type = c::ToC(Type::Scalar(*c::FromC(context), known));
    return absl::OkStatus();
  });
}

TenonStatus* tenonTypeFunction(TenonContext context, const TenonType* inputs, size_t num_inputs,
                               const TenonType* results, size_t num_results, TenonType* type) {
  return c::Answer("making a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckMaking(context, type, "type"));
    std::vector<Type> in, out;
    TENON_RETURN_IF_ERROR(c::ReadTypes(inputs, num_inputs, *c::FromC(context), "inputs", in));
    TENON_RETURN_IF_ERROR(c::ReadTypes(results, num_results, *c::FromC(context), "results", out));
    *type = c::ToC(Type::Function(*c::FromC(context), in, out));
    return absl::OkStatus();
  });
}

TenonTypeKind tenonTypeGetKind(TenonType type) {
  if (type.ptr == nullptr) return TENON_TYPE_NULL;
  switch (c::FromC(type).kind()) {
    case Type::Kind::kScalar:
      return TENON_TYPE_SCALAR;
    case Type::Kind::kIndex:
      return TENON_TYPE_INDEX;
    case Type::Kind::kNone:
      return TENON_TYPE_NONE;
    case Type::Kind::kTensor:
      return TENON_TYPE_TENSOR;
    case Type::Kind::kUnranked:
      return TENON_TYPE_UNRANKED;
    case Type::Kind::kFunction:
      return TENON_TYPE_FUNCTION;
    case Type::Kind::kTuple:
      return TENON_TYPE_TUPLE;
    case Type::Kind::kOpaque:
      return TENON_TYPE_OPAQUE;
  }
  return TENON_TYPE_NULL;
}

TenonDType tenonTypeGetDType(TenonType type) {
  if (type.ptr == nullptr) return TENON_DTYPE_INVALID;
  return static_cast<TenonDType>(c::FromC(type).dtype());
}

int64_t tenonTypeRank(TenonType type) { return IsRanked(type) ? c::FromC(type).rank() : -1; }

int64_t tenonTypeExtent(TenonType type, size_t axis) {
  if (!IsRanked(type) || axis >= c::FromC(type).dims().size()) return TENON_DYNAMIC;
  const DimExpr dim = c::FromC(type).dims()[axis];
  return dim.is_constant() ? dim.constant() : TENON_DYNAMIC;
}

TenonString tenonTypeExtentText(TenonType type, size_t axis) {
  if (!IsRanked(type) || axis >= c::FromC(type).dims().size()) return {nullptr, 0};
  return c::ToC(std::string_view(c::FromC(type).dims()[axis].text()));
}

size_t tenonTypeNumInputs(TenonType type) {
  const TenonTypeKind kind = tenonTypeGetKind(type);
  const bool has = kind == TENON_TYPE_FUNCTION || kind == TENON_TYPE_TUPLE;
  return has ? c::FromC(type).inputs().size() : 0;
}

TenonType tenonTypeInput(TenonType type, size_t index) {
  if (index >= tenonTypeNumInputs(type)) return {nullptr};
  return c::ToC(c::FromC(type).inputs()[index]);
}

size_t tenonTypeNumResults(TenonType type) {
  return tenonTypeGetKind(type) == TENON_TYPE_FUNCTION ? c::FromC(type).results().size() : 0;
}

TenonType tenonTypeResult(TenonType type, size_t index) {
  if (index >= tenonTypeNumResults(type)) return {nullptr};
  return c::ToC(c::FromC(type).results()[index]);
}

TenonStatus* tenonTypePrint(TenonType type, TenonTextFn sink, void* state) {
  return c::Answer("printing a type", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(type.ptr, "type"));
    TENON_RETURN_IF_ERROR(c::NotNull(sink, "sink"));
    return c::Tell(sink, state, c::FromC(type).text());
  });
}

// ---- locations

TenonStatus* tenonLocationName(TenonContext context, TenonString name, TenonLocation* location) {
  return c::Answer("making a location", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckMaking(context, location, "location"));
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(name, "name", text));
    *location = c::ToC(tenon::Location::Name(*c::FromC(context), text), *c::FromC(context));
    return absl::OkStatus();
  });
}

TenonStatus* tenonLocationFile(TenonContext context, TenonString file, uint32_t line,
                               uint32_t column, TenonLocation* location) {
  return c::Answer("making a location", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(CheckMaking(context, location, "location"));
    std::string_view text;
    TENON_RETURN_IF_ERROR(c::ReadText(file, "file", text));
    *location = c::ToC(tenon::Location::FileLineCol(*c::FromC(context), text, line, column),
                       *c::FromC(context));
    return absl::OkStatus();
  });
}

TenonStatus* tenonLocationPrint(TenonContext context, TenonLocation location, TenonTextFn sink,
                                void* state) {
  return c::Answer("printing a location", [&]() -> absl::Status {
    TENON_RETURN_IF_ERROR(c::NotNull(context.ptr, "context"));
    TENON_RETURN_IF_ERROR(c::NotNull(sink, "sink"));
    tenon::Location known;
    TENON_RETURN_IF_ERROR(c::ReadLocation(location, *c::FromC(context), known));
    return c::Tell(sink, state, tenon::DescribeLocation(*c::FromC(context), known));
  });
}
