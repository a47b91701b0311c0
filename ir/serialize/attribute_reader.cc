// The attributes of a binary module, and the large constants behind them.
#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "ir/base/narrow_number.h"
#include "ir/core/constants/large_elements.h"
#include "ir/core/constants/unpacked_blob.h"
#include "ir/core/text/parser.h"
#include "ir/serialize/table_reader.h"

namespace tenon::binary {
namespace {

// Whether an integer is one of `dtype`.
bool Fits(DType dtype, int64_t value) {
  const int bits = BitsOf(dtype);
  if (bits == 64) return true;
  const int64_t end = int64_t{1} << (HoldsSigned(dtype) ? bits - 1 : bits);
  return value < end && value >= (HoldsSigned(dtype) ? -end : 0);
}

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

bool TableReader::ReadBlobs(ByteReader& in) {
  if (in.left() % kBlobBytes != 0) return Damaged(in, "places of constants are cut off");
  while (!in.AtEnd()) {
    const std::string_view entry = in.Raw(kBlobBytes);
    const uint64_t begin = LoadU64(entry.data()), size = LoadU64(entry.data() + 8);
    if (begin % kDataAlignment != 0 || begin > file_.size() || size > file_.size() - begin)
      return Damaged(in, "a constant lies outside of the file");
    blobs_.push_back({begin, size, nullptr});
  }
  return true;
}

std::shared_ptr<const Blob> TableReader::BlobAt(uint64_t begin, uint64_t size) const {
  const std::span<const std::byte> bytes = AsBytes(file_.substr(begin, size));
  return owner_ == nullptr ? Blob::Copy(bytes)
         : mapped_         ? Blob::OfFile(bytes, owner_)
                           : Blob::Borrow(bytes, owner_);
}

bool TableReader::ReadOrder(ByteReader& in, ElementOrder& order) {
  order.element_bytes = in.Varint();
  order.parts.resize(in.Count(3));
  for (ElementOrder::Part& part : order.parts) {
    part.plain = in.Signed();
    part.packed = in.Signed();
    part.loops.resize(in.Count(3));
    for (ElementOrder::Loop& loop : part.loops) {
      loop.count = in.Signed();
      loop.plain = in.Signed();
      loop.packed = in.Signed();
    }
  }
  return in.ok() || Damaged(in, "the order of a packed constant is cut off");
}

// Constants that are data of the program in another order. `data`: its places.
bool TableReader::ReadPackedBlobs(ByteReader& in, const ByteReader& data) {
  absl::flat_hash_map<uint64_t, std::shared_ptr<const Blob>> sources;  // by number of data
  const uint64_t count = in.left() == 0 ? 0 : in.Count(4);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t blob = 0, number = 0;
    if (!Index(in, blobs_.size(), blob, "constant") ||
        !Index(in, data.left() / kDataBytes, number, "number of packed data"))
      return false;
    ByteReader table = data;
    table.Raw(number * kDataBytes);
    const std::string_view entry = table.Raw(kDataBytes);
    const uint64_t begin = LoadU64(entry.data()), size = LoadU64(entry.data() + 8);
    if (begin > file_.size() || size > file_.size() - begin)
      return Damaged(in, "a packed constant lies outside of the file");
    ElementOrder order;
    if (!ReadOrder(in, order)) return false;
    BlobPlace& place = blobs_[blob];
    if (place.packed != nullptr || place.begin != kPackedOffset || !Fits(order, place.size, size))
      return Damaged(in, "an order that does not give the packed constant");
    std::shared_ptr<const Blob>& source = sources[number];
    if (source == nullptr) source = BlobAt(begin, size);
    place.packed = UnpackedBlob(std::move(order), source, place.size);
  }
  if (!in.AtEnd()) return Damaged(in, "the packed constants do not fill their section");
  for (const BlobPlace& place : blobs_) {
    if (place.begin == kPackedOffset && place.packed == nullptr)
      return Damaged(in, "a constant of which the file has no bytes");
  }
  return true;
}

bool TableReader::ReadAttributes(ByteReader& in) {
  const uint64_t count = in.Count();
  attributes.reserve(count + 1);
  attribute_extents.reserve(count + 1);
  attributes.push_back(Attribute());
  attribute_extents.push_back({});
  for (uint64_t i = 0; i < count; ++i) {
    Attribute attribute;
    Extent extent;
    if (!ReadAttribute(in, attribute, extent)) return false;
    attributes.push_back(attribute);
    attribute_extents.push_back(extent);
  }
  return (in.ok() && in.AtEnd()) || Damaged(in, "the attributes do not fill their section");
}

bool TableReader::ReadAttribute(ByteReader& in, Attribute& attribute, Extent& extent) {
  const auto tag = static_cast<AttributeTag>(in.Byte());
  switch (tag) {
    case AttributeTag::kUnit:
      attribute = Attribute::Unit(context_);
      return true;
    case AttributeTag::kFalse:
    case AttributeTag::kTrue:
      attribute = Attribute::Bool(context_, tag == AttributeTag::kTrue);
      return true;
    case AttributeTag::kInteger:
    case AttributeTag::kFloat:
      return ReadNumber(in, tag, attribute);
    case AttributeTag::kString: {
      std::string_view text;
      if (!String(in, text)) return false;
      attribute = Attribute::Str(context_, text);
      return true;
    }
    case AttributeTag::kArray:
      return ReadArray(in, attribute, extent);
    case AttributeTag::kInts:
    case AttributeTag::kFloats:
      return ReadNumbers(in, tag, attribute);
    case AttributeTag::kType: {
      uint64_t index = 0;
      if (!Index(in, types.size(), index, "type") || !Add(type_extents[index], extent))
        return false;
      attribute = Attribute::TypeAttr(context_, types[index]);
      return true;
    }
    case AttributeTag::kSymbol:
      return ReadSymbol(in, attribute);
    case AttributeTag::kDictionary:
      return ReadDictionary(in, attribute, extent);
    case AttributeTag::kSplat:
    case AttributeTag::kInlineElements:
    case AttributeTag::kLargeElements:
      return ReadElements(in, tag, attribute);
    case AttributeTag::kDims: {
      std::vector<DimExpr> dims;
      if (!DimList(in, dims)) return false;
      attribute = Attribute::Dims(context_, dims);
      return true;
    }
    case AttributeTag::kOpaque:
      return ReadOpaque(in, attribute);
  }
  return Damaged(in, "an attribute of an unknown kind");
}

bool TableReader::ReadNumber(ByteReader& in, AttributeTag tag, Attribute& attribute) {
  if (tag == AttributeTag::kFloat) {
    DType dtype = DType::kInvalid;
    if (!DTypeOf(in, dtype)) return false;
    const double value = in.Double();
    if (!in.ok() || !IsFloat(dtype)) return Damaged(in, "a number of a type that is no float");
    attribute = Attribute::Float(context_, value, dtype);
    return true;
  }
  uint64_t index = 0;
  if (!Index(in, types.size(), index, "type")) return false;
  const Type type = types[index];
  const int64_t value = in.Signed();
  const bool scalar = type.kind() == Type::Kind::kScalar && IsInt(type.dtype());
  if (!in.ok() || (type.kind() != Type::Kind::kIndex && !scalar))
    return Damaged(in, "a number of a type that is no integer");
  if (scalar && !Fits(type.dtype(), value))
    return Damaged(in, fmt::format("{} does not fit type {}", value, type.text()));
  attribute = Attribute::Int(context_, value, type);
  return true;
}

bool TableReader::ReadNumbers(ByteReader& in, AttributeTag tag, Attribute& attribute) {
  DType dtype = DType::kInvalid;
  if (!DTypeOf(in, dtype)) return false;
  if (tag == AttributeTag::kFloats) {
    if (!IsFloat(dtype)) return Damaged(in, "an array of numbers of a type that is no float");
    std::vector<double> values(in.Count(sizeof(double)));
    for (double& value : values) value = in.Double();
    attribute = Attribute::Floats(context_, dtype, values);
  } else {
    if (!IsInt(dtype) && dtype != DType::kBool)
      return Damaged(in, "an array of numbers of a type that is no integer");
    std::vector<int64_t> values(in.Count());
    for (int64_t& value : values) {
      value = in.Signed();
      if (!Fits(dtype, value))
        return Damaged(in, fmt::format("{} does not fit type {}", value, Name(dtype)));
    }
    attribute = Attribute::Ints(context_, dtype, values);
  }
  return in.ok() || Damaged(in, "an array of numbers is cut off");
}

bool TableReader::ReadArray(ByteReader& in, Attribute& attribute, Extent& extent) {
  std::vector<Attribute> elements(in.Count());
  for (Attribute& element : elements) {
    uint64_t index = 0;
    if (!Index(in, attributes.size(), index, "attribute")) return false;
    if (index == 0) return Damaged(in, "an array with nothing for an element");
    if (!Add(attribute_extents[index], extent)) return false;
    element = attributes[index];
  }
  attribute = Attribute::Array(context_, elements);
  return in.ok() || Damaged(in, "an array is cut off");
}

bool TableReader::ReadDictionary(ByteReader& in, Attribute& attribute, Extent& extent) {
  std::vector<NamedAttribute> entries(in.Count(2));
  std::string_view before;
  for (NamedAttribute& entry : entries) {
    std::string_view name;
    uint64_t index = 0;
    if (!String(in, name) || !Index(in, attributes.size(), index, "attribute")) return false;
    if (name <= before) return Damaged(in, "a dictionary whose names are not sorted");
    if (index == 0) return Damaged(in, "a dictionary with nothing for a value");
    if (!Add(attribute_extents[index], extent)) return false;
    entry = {context_.Intern(name), attributes[index]};
    before = name;
  }
  attribute = Attribute::Dictionary(context_, entries);
  return in.ok() || Damaged(in, "a dictionary is cut off");
}

bool TableReader::ReadElements(ByteReader& in, AttributeTag tag, Attribute& attribute) {
  uint64_t index = 0;
  if (!Index(in, types.size(), index, "type")) return false;
  const Type type = types[index];
  if (!type.is_tensor() || !type.is_static() || type.num_elements() < 0)
    return Damaged(in, "elements of a type that is no static tensor");
  const DType dtype = type.dtype();
  uint64_t size = 0;
  if (__builtin_mul_overflow(static_cast<uint64_t>(type.num_elements()), uint64_t{SizeOf(dtype)},
                             &size)) {
    return Damaged(in, "elements that need more bytes than 64 bits can count");
  }
  if (tag == AttributeTag::kLargeElements) return ReadLarge(in, type, size, attribute);
  if (tag == AttributeTag::kInlineElements && size > Attribute::kInlineBytes)
    return Damaged(in, "a large constant that does not lie by itself");
  if (tag == AttributeTag::kSplat && size == 0) return Damaged(in, "a repeated element of none");
  const std::string_view bytes = in.Raw(tag == AttributeTag::kSplat ? SizeOf(dtype) : size);
  if (!in.ok()) return Damaged(in, "elements are cut off");
  if (!CheckElements(in, dtype, bytes)) return false;
  attribute = tag == AttributeTag::kSplat ? Attribute::Splat(context_, type, AsBytes(bytes))
                                          : Attribute::Elements(context_, type, AsBytes(bytes));
  return true;
}

bool TableReader::ReadLarge(ByteReader& in, Type type, uint64_t size, Attribute& attribute) {
  uint64_t index = 0;
  if (!Index(in, blobs_.size(), index, "constant")) return false;
  BlobPlace& place = blobs_[index];
  if (place.size != size || size <= Attribute::kInlineBytes) {
    return Damaged(in, fmt::format("{} bytes for a constant of {}, which needs {}", place.size,
                                   type.text(), size));
  }
  if (place.packed != nullptr) {
    if (BitsOf(type.dtype()) < 8)
      return Damaged(in, fmt::format("a packed constant of {}", Name(type.dtype())));
    attribute = DeferredElements(context_, type, place.packed);
    return true;
  }
  if (!CheckElements(in, type.dtype(), file_.substr(place.begin, place.size))) return false;
  if (place.blob == nullptr) place.blob = BlobAt(place.begin, place.size);
  attribute = LargeElements(context_, type, place.blob);
  return true;
}

// All bytes are elements, except of types that leave bits of a byte unused.
bool TableReader::CheckElements(ByteReader& in, DType dtype, std::string_view bytes) {
  if (BitsOf(dtype) >= 8) return true;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    const bool fits = dtype == DType::kBool ? byte <= 1 : NarrowElement(dtype, byte) == byte;
    if (!fits) return Damaged(in, fmt::format("a byte {} for an element of {}", byte, Name(dtype)));
  }
  return true;
}

bool TableReader::ReadSymbol(ByteReader& in, Attribute& attribute) {
  constexpr std::string_view kJoint = "::@";
  std::string_view path;
  if (!String(in, path)) return false;
  for (std::string_view rest = path;;) {
    const size_t end = rest.find(kJoint);
    if (end == 0 || rest.empty()) return Damaged(in, "a symbol without a name");
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + kJoint.size());
  }
  attribute = Attribute::SymbolRef(context_, path);
  return true;
}

bool TableReader::ReadOpaque(ByteReader& in, Attribute& attribute) {
  std::string_view text;
  if (!String(in, text)) return false;
  Attribute& known = opaque_attributes_[text];
  if (!known) {
    const absl::StatusOr<Attribute> parsed = ParseAttribute(context_, text);
    if (!parsed.ok()) return failure_.Keep(parsed.status());
    if (parsed->kind() != Attribute::Kind::kOpaque)
      return Damaged(in, "the text of another attribute than a dialect's");
    known = *parsed;
  }
  attribute = known;
  return true;
}

}  // namespace tenon::binary
