#include <vector>

#include "ir/base/float_text.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/text/asm_text.h"

namespace tenon {
namespace {

// MLIR prints more elements than this as a hexadecimal string.
constexpr int64_t kMaxListedElements = 100;
constexpr char kHexDigits[] = "0123456789ABCDEF";

void AppendTypedInt(std::string& out, DType dtype, int64_t value) {
  if (dtype == DType::kBool) {
    out += value != 0 ? "true" : "false";
  } else if (dtype == DType::kU64) {
    out += std::to_string(static_cast<uint64_t>(value));
  } else {
    AppendInt(out, value);
  }
}

void AppendElement(std::string& out, DType dtype, const std::byte* at) {
  if (HoldsFloats(dtype)) {
    AppendFloat(out, dtype, LoadAsDouble(dtype, at));
  } else {
    AppendTypedInt(out, dtype, LoadAsInt(dtype, at));
  }
}

// Elements of axis `axis` and below, starting at byte `at`, which moves past them.
void AppendNested(std::string& out, Type type, int64_t axis, const std::byte*& at) {
  if (axis == type.rank()) {
    AppendElement(out, type.dtype(), at);
    at += SizeOf(type.dtype());
    return;
  }
  out += '[';
  for (int64_t i = 0; i < type.dim(axis).constant(); ++i) {
    if (i > 0) out += ", ";
    AppendNested(out, type, axis + 1, at);
  }
  out += ']';
}

// MLIR packs booleans eight to a byte, lowest bit first.
std::vector<std::byte> PackBits(std::span<const std::byte> bools) {
  std::vector<std::byte> bits((bools.size() + 7) / 8);
  for (size_t i = 0; i < bools.size(); ++i) {
    if (bools[i] != std::byte{0}) bits[i / 8] |= std::byte{1} << (i % 8);
  }
  return bits;
}

// MLIR has no bits above those of an integer, which in memory are copies of its sign.
std::vector<std::byte> WithoutSigns(DType dtype, std::span<const std::byte> elements) {
  std::vector<std::byte> bytes(elements.begin(), elements.end());
  const auto mask = static_cast<std::byte>((1u << BitsOf(dtype)) - 1);
  for (std::byte& b : bytes) b &= mask;
  return bytes;
}

void AppendHex(std::string& out, std::span<const std::byte> bytes) {
  out += "\"0x";
  for (std::byte b : bytes) {
    out += kHexDigits[static_cast<unsigned>(b) >> 4];
    out += kHexDigits[static_cast<unsigned>(b) & 15];
  }
  out += '"';
}

void AppendElements(std::string& out, Attribute attr) {
  Type type = attr.type();
  if (const std::span<const std::byte> element = RepeatedElement(attr); !element.empty()) {
    out += "dense<";
    AppendElement(out, type.dtype(), element.data());
  } else if (IsLargeElements(attr)) {
    out += "dense_resource<";
    out += ResourceKey(attr);
  } else {
    out += "dense<";
    std::span<const std::byte> bytes = attr.raw_bytes();
    const std::byte* at = bytes.data();
    if (type.num_elements() == 0) {
      // Nothing between the brackets.
    } else if (attr.is_splat()) {
      AppendElement(out, type.dtype(), at);
    } else if (type.num_elements() > kMaxListedElements) {
      if (type.dtype() == DType::kBool) {
        AppendHex(out, PackBits(bytes));
      } else if (IsNarrowInt(type.dtype())) {
        AppendHex(out, WithoutSigns(type.dtype(), bytes));
      } else {
        AppendHex(out, bytes);
      }
    } else {
      AppendNested(out, type, 0, at);
    }
  }
  out += "> : ";
  AppendType(out, type);
}

void AppendDenseArray(std::string& out, Attribute attr) {
  DType dtype = attr.type().dtype();
  out += "array<";
  out += Name(dtype);
  bool first = true;
  auto separate = [&] {
    out += first ? ": " : ", ";
    first = false;
  };
  if (IsFloat(dtype)) {
    for (double value : attr.floats()) {
      separate();
      AppendFloat(out, dtype, value);
    }
  } else {
    for (int64_t value : attr.ints()) {
      separate();
      AppendTypedInt(out, dtype, value);
    }
  }
  out += '>';
}

void AppendDims(std::string& out, std::span<const DimExpr> dims) {
  out += "#core.dims<";
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    if (dims[i].is_constant()) {
      AppendInt(out, dims[i].constant());
    } else {
      AppendQuoted(out, dims[i].text());
    }
  }
  out += '>';
}

}  // namespace

std::string ResourceKey(Attribute large) { return "blob_" + ContentHash(large); }

void AppendNamed(std::string& out, std::string_view name, Attribute value) {
  AppendName(out, name);
  if (!value || value.kind() == Attribute::Kind::kUnit) return;
  out += " = ";
  AppendAttribute(out, value);
}

void AppendEntries(std::string& out, std::span<const NamedAttribute> entries) {
  out += '{';
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out += ", ";
    AppendNamed(out, entries[i].name.str(), entries[i].value);
  }
  out += '}';
}

void AppendAttribute(std::string& out, Attribute attr, bool in_array) {
  if (!attr) {
    out += "<<NULL ATTRIBUTE>>";
    return;
  }
  switch (attr.kind()) {
    case Attribute::Kind::kUnit:
      out += "unit";
      return;
    case Attribute::Kind::kBool:
      out += attr.bool_value() ? "true" : "false";
      return;
    case Attribute::Kind::kInteger: {
      Type type = attr.type();
      AppendTypedInt(out, type.dtype(), attr.int_value());
      if (type.dtype() == DType::kBool || (in_array && type.dtype() == DType::kI64)) return;
      out += " : ";
      AppendType(out, type);
      return;
    }
    case Attribute::Kind::kFloat: {
      bool bits = AppendFloat(out, attr.type().dtype(), attr.float_value());
      if (in_array && attr.type().dtype() == DType::kF64 && !bits) return;
      out += " : ";
      AppendType(out, attr.type());
      return;
    }
    case Attribute::Kind::kString:
      AppendQuoted(out, attr.str());
      return;
    case Attribute::Kind::kArray: {
      out += '[';
      bool first = true;
      for (Attribute element : attr.elements()) {
        if (!first) out += ", ";
        first = false;
        AppendAttribute(out, element, /*in_array=*/true);
      }
      out += ']';
      return;
    }
    case Attribute::Kind::kDenseArray:
      AppendDenseArray(out, attr);
      return;
    case Attribute::Kind::kType:
      AppendType(out, attr.type());
      return;
    case Attribute::Kind::kSymbolRef:
      AppendSymbol(out, attr.str());
      return;
    case Attribute::Kind::kDictionary:
      AppendEntries(out, attr.entries());
      return;
    case Attribute::Kind::kElements:
      AppendElements(out, attr);
      return;
    case Attribute::Kind::kDims:
      AppendDims(out, attr.dims());
      return;
    case Attribute::Kind::kOpaque:
      out += attr.str();
      return;
  }
}

std::string Attribute::text() const {
  std::string out;
  AppendAttribute(out, *this);
  return out;
}

}  // namespace tenon
