#include "frontends/python/bindings/dlpack.h"

#include <array>

namespace tenon::python {
namespace {

struct Row {
  DType dtype;
  uint8_t code, bits;  // DLPack's; 0 bits: none
  const char* format;  // of a buffer; null: none
  const char* name;    // NumPy's
};

// Of the types with fewer than 8 bits DLPack's form is not that of Tenon: it packs them.
constexpr std::array<Row, kNumDTypes - 1> kRows = {{
    {DType::kBool, 6, 8, "?", "bool"},
    {DType::kI8, 0, 8, "b", "int8"},
    {DType::kI16, 0, 16, "h", "int16"},
    {DType::kI32, 0, 32, "i", "int32"},
    {DType::kI64, 0, 64, "q", "int64"},
    {DType::kU8, 1, 8, "B", "uint8"},
    {DType::kU16, 1, 16, "H", "uint16"},
    {DType::kU32, 1, 32, "I", "uint32"},
    {DType::kU64, 1, 64, "Q", "uint64"},
    {DType::kF16, 2, 16, "e", "float16"},
    {DType::kBF16, 4, 16, nullptr, "bfloat16"},
    {DType::kF32, 2, 32, "f", "float32"},
    {DType::kF64, 2, 64, "d", "float64"},
    {DType::kF8E4M3FN, 10, 8, nullptr, "float8_e4m3fn"},
    {DType::kF8E4M3FNUZ, 11, 8, nullptr, "float8_e4m3fnuz"},
    {DType::kF8E5M2, 12, 8, nullptr, "float8_e5m2"},
    {DType::kF8E5M2FNUZ, 13, 8, nullptr, "float8_e5m2fnuz"},
    {DType::kF8E8M0FNU, 14, 8, nullptr, "float8_e8m0fnu"},
    {DType::kF4E2M1FN, 0, 0, nullptr, "float4_e2m1fn"},
    {DType::kI4, 0, 0, nullptr, "int4"},
    {DType::kI2, 0, 0, nullptr, "int2"},
    {DType::kU4, 0, 0, nullptr, "uint4"},
    {DType::kU2, 0, 0, nullptr, "uint2"},
}};

const Row* RowOf(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

DType IntOf(int64_t size, bool is_signed) {
  switch (size) {
    case 1:
      return is_signed ? DType::kI8 : DType::kU8;
    case 2:
      return is_signed ? DType::kI16 : DType::kU16;
    case 4:
      return is_signed ? DType::kI32 : DType::kU32;
    case 8:
      return is_signed ? DType::kI64 : DType::kU64;
    default:
      return DType::kInvalid;
  }
}

}  // namespace

DlType DlTypeOf(DType dtype) {
  const Row* row = RowOf(dtype);
  return row == nullptr ? DlType() : DlType{row->code, row->bits, 1};
}

DType DTypeOf(DlType type) {
  if (type.lanes != 1 || type.bits == 0) return DType::kInvalid;
  for (const Row& row : kRows) {
    if (row.code == type.code && row.bits == type.bits) return row.dtype;
  }
  return DType::kInvalid;
}

const char* FormatOf(DType dtype) {
  const Row* row = RowOf(dtype);
  return row == nullptr ? nullptr : row->format;
}

DType DTypeOf(std::string_view format, int64_t size) {
  // '<' is the order of this machine: Tenon runs on little-endian ones alone.
  if (!format.empty() && (format[0] == '@' || format[0] == '=' || format[0] == '<'))
    format.remove_prefix(1);
  if (format.size() != 1) return DType::kInvalid;
  constexpr std::string_view kSigned = "bhilqn", kUnsigned = "BHILQN";
  if (kSigned.find(format[0]) != std::string_view::npos) return IntOf(size, true);
  if (kUnsigned.find(format[0]) != std::string_view::npos) return IntOf(size, false);
  for (const Row& row : kRows) {
    if (row.format != nullptr && format == row.format &&
        size == static_cast<int64_t>(SizeOf(row.dtype)))
      return row.dtype;
  }
  return DType::kInvalid;
}

const char* NumpyName(DType dtype) {
  const Row* row = RowOf(dtype);
  return row == nullptr ? "invalid" : row->name;
}

DType DTypeNamed(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name) return row.dtype;
  }
  return DType::kInvalid;
}

}  // namespace tenon::python
