#include "frontends/onnx/file/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>

#include "ir/base/check.h"
#include "ir/base/limits.h"
#include "ir/base/narrow_number.h"

namespace tenon::onnx {
namespace {

using onnxpb::TensorProto;

static_assert(std::endian::native == std::endian::little, "ONNX's raw data is little-endian");

struct TypePair {
  TensorProto::DataType onnx;
  DType dtype;
};

constexpr TypePair kTypes[] = {
    {TensorProto::BOOL, DType::kBool},
    {TensorProto::INT8, DType::kI8},
    {TensorProto::INT16, DType::kI16},
    {TensorProto::INT32, DType::kI32},
    {TensorProto::INT64, DType::kI64},
    {TensorProto::UINT8, DType::kU8},
    {TensorProto::UINT16, DType::kU16},
    {TensorProto::UINT32, DType::kU32},
    {TensorProto::UINT64, DType::kU64},
    {TensorProto::FLOAT16, DType::kF16},
    {TensorProto::BFLOAT16, DType::kBF16},
    {TensorProto::FLOAT, DType::kF32},
    {TensorProto::DOUBLE, DType::kF64},
    {TensorProto::FLOAT8E4M3FN, DType::kF8E4M3FN},
    {TensorProto::FLOAT8E4M3FNUZ, DType::kF8E4M3FNUZ},
    {TensorProto::FLOAT8E5M2, DType::kF8E5M2},
    {TensorProto::FLOAT8E5M2FNUZ, DType::kF8E5M2FNUZ},
    {TensorProto::FLOAT8E8M0, DType::kF8E8M0FNU},
    {TensorProto::FLOAT4E2M1, DType::kF4E2M1FN},
    {TensorProto::INT4, DType::kI4},
    {TensorProto::INT2, DType::kI2},
    {TensorProto::UINT4, DType::kU4},
    {TensorProto::UINT2, DType::kU2},
};

// The repeated field that holds a dtype's elements when they are not raw.
enum class Field { kFloat, kInt32, kInt64, kDouble, kUint64 };

Field FieldOf(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return Field::kFloat;
    case DType::kF64:
      return Field::kDouble;
    case DType::kI64:
      return Field::kInt64;
    case DType::kU32:
    case DType::kU64:
      return Field::kUint64;
    default:
      return Field::kInt32;
  }
}

// Elements of a typed field, cut to the low bytes of each: small integers and 16-bit floats are
// kept as bit patterns in wider ones.
template <typename T>
absl::StatusOr<std::shared_ptr<const Blob>> CopyTyped(
    const google::protobuf::RepeatedField<T>& values, DType dtype, size_t count) {
  const size_t width = SizeOf(dtype);
  if (static_cast<size_t>(values.size()) != count) {
    return absl::InvalidArgumentError(
        fmt::format("has {} elements, its dimensions need {}", values.size(), count));
  }
  return Blob::Make(count * width, [&](std::byte* out) {
    for (const T& value : values) {
      if (dtype == DType::kBool) {
        *out = std::byte{value != T{}};
      } else {
        std::memcpy(out, &value, width);
      }
      out += width;
    }
  });
}

std::shared_ptr<const Blob> Share(const FileBytes& file) {
  return file.source.bytes.empty() ? Blob::Borrow(file.bytes, file.owner)
                                   : Blob::OfFile(file.bytes, file.owner);
}

// True is one byte of value 1 in the IR, and any byte but 0 in some files.
std::shared_ptr<const Blob> NormalizeBool(FileBytes file) {
  bool normal = true;
  for (std::byte b : file.bytes) normal = normal && static_cast<unsigned char>(b) <= 1;
  if (normal) return Share(file);
  return Blob::Make(file.bytes.size(), [&](std::byte* out) {
    for (std::byte b : file.bytes) *out++ = std::byte{b != std::byte{0}};
  });
}

absl::StatusOr<FileBytes> RawBytes(const TensorProto& tensor, const TensorSource& source,
                                   size_t size) {
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    if (source.external == nullptr) {
      return absl::InvalidArgumentError("has external data, which is not allowed here");
    }
    return source.external->Read(tensor, size);
  }
  const uint64_t offset = tensor.raw_slice().offset(), length = tensor.raw_slice().length();
  TENON_CHECK(offset <= source.file.bytes.size() && length <= source.file.bytes.size() - offset);
  if (length != size) {
    return absl::InvalidArgumentError(
        fmt::format("has {} bytes, its dimensions need {}", length, size));
  }
  FileBytes slice = source.file;
  slice.bytes = slice.bytes.subspan(offset, length);
  return slice;
}

absl::StatusOr<std::shared_ptr<const Blob>> Bytes(const TensorProto& tensor, DType dtype,
                                                  const TensorSource& source, size_t size) {
  if (tensor.has_segment())
    return absl::UnimplementedError("is a segment of a larger tensor (expected a whole one)");
  if (tensor.data_location() == TensorProto::EXTERNAL || tensor.has_raw_slice()) {
    TENON_ASSIGN_OR_RETURN(const FileBytes raw, RawBytes(tensor, source, size));
    return dtype == DType::kBool ? NormalizeBool(raw) : Share(raw);
  }
  if (tensor.has_raw_data()) return absl::InternalError("has raw data outside of the file");
  const size_t count = size / SizeOf(dtype);
  switch (FieldOf(dtype)) {
    case Field::kFloat:
      return CopyTyped(tensor.float_data(), dtype, count);
    case Field::kInt32:
      return CopyTyped(tensor.int32_data(), dtype, count);
    case Field::kInt64:
      return CopyTyped(tensor.int64_data(), dtype, count);
    case Field::kDouble:
      return CopyTyped(tensor.double_data(), dtype, count);
    case Field::kUint64:
      return CopyTyped(tensor.uint64_data(), dtype, count);
  }
  return absl::InternalError("unreachable");
}

bool IsPacked(DType dtype) { return IsNarrow(dtype) && BitsOf(dtype) < 8; }

// How many elements ONNX has in a byte, the first one in the lowest bits.
size_t ElementsPerByte(DType dtype) {
  return IsPacked(dtype) ? static_cast<size_t>(8 / BitsOf(dtype)) : 1;
}

// One element in each byte.
std::shared_ptr<const Blob> Unpack(DType dtype, std::span<const std::byte> packed, size_t count) {
  const size_t in_byte = ElementsPerByte(dtype), bits = static_cast<size_t>(BitsOf(dtype));
  return Blob::Make(count, [&](std::byte* out) {
    for (size_t i = 0; i < count; ++i) {
      const auto shifted = packed[i / in_byte] >> (i % in_byte * bits);
      *out++ = std::byte{NarrowElement(dtype, std::to_integer<uint8_t>(shifted))};
    }
  });
}

absl::StatusOr<TensorData> Decode(const TensorProto& tensor, const TensorSource& source) {
  TensorData data;
  if (tensor.data_type() == TensorProto::UNDEFINED)
    return absl::InvalidArgumentError("has no element type");
  data.dtype = DTypeOf(tensor.data_type());
  if (data.dtype == DType::kInvalid) {
    return absl::UnimplementedError(
        fmt::format("has elements of {} (expected booleans, floats of 4, 8 and 16 to 64 bits or "
                    "integers of 2 to 64 bits)",
                    OnnxTypeName(tensor.data_type())));
  }
  data.dims.assign(tensor.dims().begin(), tensor.dims().end());
  TENON_ASSIGN_OR_RETURN(const size_t size, CheckedByteSize(data.dtype, data.dims));
  if (!IsPacked(data.dtype)) {
    TENON_ASSIGN_OR_RETURN(data.blob, Bytes(tensor, data.dtype, source, size));
    return data;
  }
  TENON_ASSIGN_OR_RETURN(const std::shared_ptr<const Blob> packed,
                         Bytes(tensor, DType::kU8, source, OnnxByteSize(data.dtype, size)));
  data.blob = Unpack(data.dtype, packed->bytes(), size);
  return data;
}

}  // namespace

DType DTypeOf(int32_t onnx_type) {
  for (const TypePair& pair : kTypes) {
    if (pair.onnx == onnx_type) return pair.dtype;
  }
  return DType::kInvalid;
}

int32_t OnnxTypeOf(DType dtype) {
  for (const TypePair& pair : kTypes) {
    if (pair.dtype == dtype) return pair.onnx;
  }
  return TensorProto::UNDEFINED;
}

std::string OnnxTypeName(int32_t onnx_type) {
  if (!TensorProto::DataType_IsValid(onnx_type)) return fmt::format("type {}", onnx_type);
  return TensorProto::DataType_Name(static_cast<TensorProto::DataType>(onnx_type));
}

size_t OnnxByteSize(DType dtype, size_t count) {
  const size_t in_byte = ElementsPerByte(dtype);
  return (count / in_byte + (count % in_byte != 0 ? 1 : 0)) * SizeOf(dtype);
}

std::shared_ptr<const Blob> OnnxBytes(DType dtype, std::shared_ptr<const Blob> elements) {
  if (!IsPacked(dtype)) return elements;
  const std::span<const std::byte> from = elements->bytes();
  const size_t in_byte = ElementsPerByte(dtype), bits = static_cast<size_t>(BitsOf(dtype));
  const auto mask = static_cast<std::byte>((1u << bits) - 1);
  const size_t size = OnnxByteSize(dtype, from.size());
  return Blob::Make(size, [&](std::byte* out) {
    std::fill_n(out, size, std::byte{0});
    for (size_t i = 0; i < from.size(); ++i)
      out[i / in_byte] |= (from[i] & mask) << (i % in_byte * bits);
  });
}

int64_t OldestOpset(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 19;
    case DType::kI4:
    case DType::kU4:
      return 21;
    case DType::kF4E2M1FN:
      return 23;
    case DType::kF8E8M0FNU:
      return 24;
    case DType::kI2:
    case DType::kU2:
      return 25;
    default:
      return 1;
  }
}

absl::StatusOr<size_t> CheckedByteSize(DType dtype, std::span<const int64_t> dims) {
  if (dims.size() > static_cast<size_t>(kMaxRank)) {
    return absl::ResourceExhaustedError(
        fmt::format("has {} dimensions (expected at most {})", dims.size(), kMaxRank));
  }
  uint64_t size = SizeOf(dtype);
  bool empty = false;
  for (int64_t dim : dims) {
    if (dim < 0) return absl::InvalidArgumentError(fmt::format("has the dimension {}", dim));
    empty = empty || dim == 0;
  }
  for (int64_t dim : dims) {
    if (empty) break;
    if (size >
        static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / static_cast<uint64_t>(dim)) {
      return absl::InvalidArgumentError("has dimensions whose product overflows");
    }
    size *= static_cast<uint64_t>(dim);
  }
  return empty ? 0 : size;
}

absl::StatusOr<TensorData> DecodeTensor(const TensorProto& tensor, const TensorSource& source) {
  absl::StatusOr<TensorData> data = Decode(tensor, source);
  if (data.ok()) return data;
  return absl::Status(data.status().code(),
                      fmt::format("tensor \"{}\" {}", tensor.name(),
                                  std::string_view(data.status().message().data(),
                                                   data.status().message().size())));
}

absl::StatusOr<Attribute> DecodeElements(Context& context, const TensorProto& tensor,
                                         const TensorSource& source) {
  TENON_ASSIGN_OR_RETURN(TensorData data, DecodeTensor(tensor, source));
  const Type type = Type::Tensor(context, data.dtype, std::span<const int64_t>(data.dims));
  return Attribute::Elements(context, type, std::move(data.blob));
}

}  // namespace tenon::onnx
