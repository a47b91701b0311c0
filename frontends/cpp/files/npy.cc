#include "frontends/cpp/files/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <vector>

#include "frontends/onnx/file/mapped_file.h"
#include "frontends/onnx/file/tensor.h"
#include "ir/base/check.h"
#include "ir/base/narrow_number.h"
#include "ir/base/write_file.h"
#include "ir/core/attribute.h"

namespace tenon {
namespace {

using onnx::NamedTensor;
using onnx::TensorData;

constexpr std::string_view kMagic("\x93NUMPY", 6);

struct TypeName {
  DType dtype;
  std::string_view name;  // kind and size, without the byte order
};

constexpr TypeName kTypes[] = {
    {DType::kBool, "b1"}, {DType::kI8, "i1"},  {DType::kI16, "i2"}, {DType::kI32, "i4"},
    {DType::kI64, "i8"},  {DType::kU8, "u1"},  {DType::kU16, "u2"}, {DType::kU32, "u4"},
    {DType::kU64, "u8"},  {DType::kF16, "f2"}, {DType::kF32, "f4"}, {DType::kF64, "f8"},
};

struct Header {
  DType dtype = DType::kInvalid;
  bool big_endian = false;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

// Reads the dictionary literal: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, DType unnamed) : rest_(text), unnamed_(unnamed) {}

  absl::StatusOr<Header> Read() {
    Header header;
    bool found[3] = {};
    if (!Eat('{')) return Bad("does not begin with {");
    while (!Eat('}')) {
      const std::string_view key = Quoted();
      if (!Eat(':')) return Bad("has a key without a value");
      if (key == "descr") {
        found[0] = true;
        TENON_RETURN_IF_ERROR(ReadType(Quoted(), header));
      } else if (key == "fortran_order") {
        found[1] = true;
        header.fortran_order = EatWord("True");
        if (!header.fortran_order && !EatWord("False")) return Bad("has a bad fortran_order");
      } else if (key == "shape") {
        found[2] = true;
        TENON_RETURN_IF_ERROR(ReadShape(header));
      } else {
        return Bad(fmt::format("has the unknown key \"{}\"", key));
      }
      if (!Eat(',') && !Peek('}')) return Bad("lacks a comma");
    }
    if (!found[0] || !found[1] || !found[2]) return Bad("lacks descr, fortran_order or shape");
    return header;
  }

 private:
  absl::Status Bad(std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("the .npy header {}", what));
  }
  void SkipSpace() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool Peek(char c) {
    SkipSpace();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Eat(char c) {
    if (!Peek(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool EatWord(std::string_view word) {
    SkipSpace();
    if (rest_.substr(0, word.size()) != word) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // The text between quotes; empty if there is none.
  std::string_view Quoted() {
    SkipSpace();
    if (rest_.empty() || (rest_[0] != '\'' && rest_[0] != '"')) return {};
    const size_t end = rest_.find(rest_[0], 1);
    if (end == std::string_view::npos) return {};
    const std::string_view text = rest_.substr(1, end - 1);
    rest_.remove_prefix(end + 1);
    return text;
  }
  absl::Status ReadType(std::string_view descr, Header& header) {
    if (descr.size() >= 2) {
      header.big_endian = descr[0] == '>';
      for (const TypeName& type : kTypes) {
        if (type.name == descr.substr(1)) header.dtype = type.dtype;
      }
      const bool unnamed = IsNarrow(unnamed_) || unnamed_ == DType::kBF16;
      if (unnamed && descr.substr(1) == fmt::format("V{}", SizeOf(unnamed_)))
        header.dtype = unnamed_;
    }
    if (header.dtype != DType::kInvalid) return absl::OkStatus();
    return Bad(
        fmt::format("names elements of type '{}' (expected booleans, integers or floats)", descr));
  }
  absl::Status ReadShape(Header& header) {
    if (!Eat('(')) return Bad("has a bad shape");
    while (!Eat(')')) {
      SkipSpace();
      int64_t dim = 0;
      const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), dim);
      if (error != std::errc()) return Bad("has a bad shape");
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      header.dims.push_back(dim);
      if (!Eat(',') && !Peek(')')) return Bad("has a bad shape");
    }
    return absl::OkStatus();
  }

  std::string_view rest_;
  const DType unnamed_;
};

// Elements in row-major order and the machine's byte order.
std::shared_ptr<const Blob> Reorder(const Header& header, std::span<const std::byte> data) {
  const size_t width = SizeOf(header.dtype), rank = header.dims.size();
  return Blob::Make(data.size(), [&](std::byte* out) {
    std::vector<int64_t> index(rank, 0);
    for (size_t i = 0; i < data.size() / width; ++i) {
      size_t from = i;
      if (header.fortran_order) {
        from = 0;
        for (size_t axis = rank; axis-- > 0;) {
          from = from * static_cast<size_t>(header.dims[axis]) + static_cast<size_t>(index[axis]);
        }
        for (size_t axis = rank; axis-- > 0;) {
          if (++index[axis] < header.dims[axis]) break;
          index[axis] = 0;
        }
      }
      std::byte* to = out + i * width;
      std::memcpy(to, data.data() + from * width, width);
      if (header.big_endian) std::reverse(to, to + width);
      if (header.dtype == DType::kBool) *to = std::byte{*to != std::byte{0}};
      // ml_dtypes has no sign above the bits of an integer.
      if (IsNarrow(header.dtype))
        *to = std::byte{NarrowElement(header.dtype, std::to_integer<uint8_t>(*to))};
    }
  });
}

TensorData AsFloat32(const TensorData& tensor) {
  TensorData result{DType::kF32, tensor.dims, nullptr};
  const size_t width = SizeOf(tensor.dtype), count = tensor.blob->size() / width;
  const std::byte* from = tensor.blob->bytes().data();
  result.blob = Blob::Make(4 * count, [&](std::byte* out) {
    for (size_t i = 0; i < count; ++i)
      StoreFromDouble(DType::kF32, LoadAsDouble(tensor.dtype, from + width * i), out + 4 * i);
  });
  return result;
}

// A tensor of a type that NumPy has.
TensorData WithNamedType(const TensorData& tensor) {
  if (tensor.dtype == DType::kBF16 || IsNarrowFloat(tensor.dtype)) return AsFloat32(tensor);
  if (!IsNarrowInt(tensor.dtype)) return tensor;
  return {HoldsSigned(tensor.dtype) ? DType::kI8 : DType::kU8, tensor.dims, tensor.blob};
}

}  // namespace

absl::StatusOr<NamedTensor> ParseNpy(std::span<const std::byte> file,
                                     std::shared_ptr<const void> owner, DType unnamed) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.substr(0, kMagic.size()) != kMagic || text.size() < 10) {
    return absl::InvalidArgumentError("not a .npy file");
  }
  const auto byte = [&](size_t i) {
    return static_cast<size_t>(static_cast<unsigned char>(text[i]));
  };
  size_t start = 10, length = byte(8) | byte(9) << 8;
  if (byte(6) >= 2) {
    if (text.size() < 12) return absl::InvalidArgumentError("the .npy header is truncated");
    start = 12;
    length |= byte(10) << 16 | byte(11) << 24;
  }
  if (length > text.size() - start)
    return absl::InvalidArgumentError("the .npy header is truncated");
  TENON_ASSIGN_OR_RETURN(const Header header,
                         HeaderReader(text.substr(start, length), unnamed).Read());
  TENON_ASSIGN_OR_RETURN(const size_t size, onnx::CheckedByteSize(header.dtype, header.dims));
  const std::span<const std::byte> data = file.subspan(start + length);
  if (data.size() != size) {
    return absl::InvalidArgumentError(fmt::format(
        "the .npy file has {} bytes of elements, its shape needs {}", data.size(), size));
  }
  NamedTensor tensor;
  tensor.dtype = header.dtype;
  tensor.dims = header.dims;
  const bool as_is = !header.big_endian && !header.fortran_order && header.dtype != DType::kBool &&
                     !IsNarrow(header.dtype);
  tensor.blob =
      as_is && owner != nullptr ? Blob::Borrow(data, std::move(owner)) : Reorder(header, data);
  return tensor;
}

absl::StatusOr<NamedTensor> ReadNpy(const std::string& path, const Limits& limits, DType unnamed) {
  TENON_ASSIGN_OR_RETURN(const onnx::FileBytes file, onnx::MapFile(path, limits.stream_bytes));
  absl::StatusOr<NamedTensor> tensor = ParseNpy(file.bytes, file.owner, unnamed);
  if (tensor.ok()) return tensor;
  const std::string_view message(tensor.status().message().data(),
                                 tensor.status().message().size());
  return absl::Status(tensor.status().code(), fmt::format("{}: {}", path, message));
}

absl::Status WriteNpy(const std::string& path, const TensorData& given) {
  const TensorData tensor = WithNamedType(given);
  std::string header;
  for (const TypeName& type : kTypes) {
    if (type.dtype != tensor.dtype) continue;
    header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': (",
                         SizeOf(type.dtype) == 1 ? '|' : '<', type.name);
  }
  for (int64_t dim : tensor.dims) header += fmt::format("{}, ", dim);
  if (tensor.dims.size() > 1) header.resize(header.size() - 2);
  if (tensor.dims.size() == 1) header.resize(header.size() - 1);
  header += "), }";
  // Elements begin at a multiple of 64.
  const size_t unpadded = 10 + header.size() + 1;
  header.append((64 - unpadded % 64) % 64, ' ');
  header += '\n';
  const char prefix[4] = {1, 0, static_cast<char>(header.size() & 0xff),
                          static_cast<char>(header.size() >> 8)};
  std::string bytes(kMagic);
  bytes.append(prefix, sizeof(prefix)).append(header);
  bytes.append(reinterpret_cast<const char*>(tensor.blob->bytes().data()), tensor.blob->size());
  return WriteFile(path, bytes);
}

}  // namespace tenon
