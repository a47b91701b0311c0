#include "ir/serialize/table_writer.h"

#include <algorithm>

#include "fmt/format.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/serialize/format.h"

namespace tenon::binary {
namespace {

uint8_t FileDType(DType dtype) {
  return static_cast<uint8_t>(std::find(std::begin(kDTypes), std::end(kDTypes), dtype) - kDTypes);
}

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

uint32_t EntryTable::Add(const ByteWriter& entry) {
  const auto [at, added] = index_.try_emplace(entry.bytes(), static_cast<uint32_t>(index_.size()));
  if (added) bytes_.Raw(entry.bytes());
  return at->second;
}

std::string EntryTable::Section() const {
  ByteWriter section;
  section.Varint(index_.size());
  section.Raw(bytes_.bytes());
  return section.bytes();
}

uint32_t TableWriter::StringOf(std::string_view text) {
  const auto [at, added] = string_index_.try_emplace(absl::string_view(text.data(), text.size()),
                                                     static_cast<uint32_t>(strings_.size()));
  if (added) strings_.emplace_back(text);
  return at->second;
}

std::string TableWriter::Strings() const {
  ByteWriter section;
  section.Varint(strings_.size());
  for (const std::string& text : strings_) section.Varint(text.size());
  for (const std::string& text : strings_) section.Raw(text);
  return section.bytes();
}

uint32_t TableWriter::DimOf(DimExpr dim) {
  ByteWriter entry;
  if (dim.is_unknown()) {
    entry.Put(DimTag::kUnknown);
  } else if (dim.is_constant()) {
    entry.Put(DimTag::kConstant);
    entry.Signed(dim.constant());
  } else {
    entry.Put(DimTag::kText);
    entry.Varint(StringOf(dim.text()));
  }
  return dims_.Add(entry);
}

void TableWriter::PutDims(ByteWriter& entry, std::span<const DimExpr> dims) {
  entry.Varint(dims.size());
  for (const DimExpr dim : dims) entry.Varint(DimOf(dim));
}

uint32_t TableWriter::TypeOf(Type type) {
  if (const auto known = known_types_.find(type.storage()); known != known_types_.end())
    return known->second;
  ByteWriter entry;
  switch (type.kind()) {
    case Type::Kind::kScalar:
      entry.Put(TypeTag::kScalar);
      entry.Byte(FileDType(type.dtype()));
      break;
    case Type::Kind::kIndex:
      entry.Put(TypeTag::kIndex);
      break;
    case Type::Kind::kNone:
      entry.Put(TypeTag::kNone);
      break;
    case Type::Kind::kTensor:
      entry.Put(TypeTag::kTensor);
      entry.Byte(FileDType(type.dtype()));
      PutDims(entry, type.dims());
      break;
    case Type::Kind::kUnranked:
      entry.Put(TypeTag::kUnranked);
      entry.Byte(FileDType(type.dtype()));
      break;
    case Type::Kind::kFunction:
      entry.Put(TypeTag::kFunction);
      for (const std::span<const Type> list : {type.inputs(), type.results()}) {
        entry.Varint(list.size());
        for (const Type part : list) entry.Varint(TypeOf(part));
      }
      break;
    case Type::Kind::kTuple:
      entry.Put(TypeTag::kTuple);
      entry.Varint(type.inputs().size());
      for (const Type part : type.inputs()) entry.Varint(TypeOf(part));
      break;
    case Type::Kind::kOpaque:
      entry.Put(TypeTag::kOpaque);
      entry.Varint(StringOf(type.opaque_text()));
      break;
  }
  const uint32_t number = types_.Add(entry);
  known_types_.emplace(type.storage(), number);
  return number;
}

namespace {

std::string KeyOfBlob(Attribute large) {
  return fmt::format("{}:{}", StoredBytes(large), ContentHash(large));
}

}  // namespace

size_t TableWriter::FindLarge(Attribute constant) const {
  const auto at = blob_index_.find(KeyOfBlob(constant));
  return at == blob_index_.end() ? large_.size() : at->second;
}

uint32_t TableWriter::BlobOf(Attribute large) {
  const auto [at, added] =
      blob_index_.try_emplace(KeyOfBlob(large), static_cast<uint32_t>(large_.size()));
  if (added) large_.push_back(large);
  return at->second;
}

void TableWriter::PutElements(ByteWriter& entry, Attribute attribute) {
  const auto put = [&](AttributeTag tag) {
    entry.Put(tag);
    entry.Varint(TypeOf(attribute.type()));
  };
  if (const std::span<const std::byte> one = RepeatedElement(attribute); !one.empty()) {
    put(AttributeTag::kSplat);
    entry.Raw(AsText(one));
  } else if (IsLargeElements(attribute)) {
    put(AttributeTag::kLargeElements);
    entry.Varint(BlobOf(attribute));
  } else {
    put(attribute.is_splat() ? AttributeTag::kSplat : AttributeTag::kInlineElements);
    entry.Raw(AsText(attribute.raw_bytes()));
  }
}

uint32_t TableWriter::AttributeOf(Attribute attribute) {
  if (!attribute) return 0;
  if (const auto known = known_attributes_.find(attribute.storage());
      known != known_attributes_.end())
    return known->second;
  ByteWriter entry;
  switch (attribute.kind()) {
    case Attribute::Kind::kUnit:
      entry.Put(AttributeTag::kUnit);
      break;
    case Attribute::Kind::kBool:
      entry.Put(attribute.bool_value() ? AttributeTag::kTrue : AttributeTag::kFalse);
      break;
    case Attribute::Kind::kInteger:
      entry.Put(AttributeTag::kInteger);
      entry.Varint(TypeOf(attribute.type()));
      entry.Signed(attribute.int_value());
      break;
    case Attribute::Kind::kFloat:
      entry.Put(AttributeTag::kFloat);
      entry.Byte(FileDType(attribute.type().dtype()));
      entry.Double(attribute.float_value());
      break;
    case Attribute::Kind::kString:
      entry.Put(AttributeTag::kString);
      entry.Varint(StringOf(attribute.str()));
      break;
    case Attribute::Kind::kArray:
      entry.Put(AttributeTag::kArray);
      entry.Varint(attribute.elements().size());
      for (const Attribute element : attribute.elements()) entry.Varint(AttributeOf(element));
      break;
    case Attribute::Kind::kDenseArray: {
      const DType dtype = attribute.type().dtype();
      entry.Put(IsFloat(dtype) ? AttributeTag::kFloats : AttributeTag::kInts);
      entry.Byte(FileDType(dtype));
      if (IsFloat(dtype)) {
        entry.Varint(attribute.floats().size());
        for (const double value : attribute.floats()) entry.Double(value);
      } else {
        entry.Varint(attribute.ints().size());
        for (const int64_t value : attribute.ints()) entry.Signed(value);
      }
      break;
    }
    case Attribute::Kind::kType:
      entry.Put(AttributeTag::kType);
      entry.Varint(TypeOf(attribute.type()));
      break;
    case Attribute::Kind::kSymbolRef:
      entry.Put(AttributeTag::kSymbol);
      entry.Varint(StringOf(attribute.str()));
      break;
    case Attribute::Kind::kDictionary:
      entry.Put(AttributeTag::kDictionary);
      entry.Varint(attribute.entries().size());
      for (const NamedAttribute& named : attribute.entries()) {
        entry.Varint(StringOf(named.name.str()));
        entry.Varint(AttributeOf(named.value));
      }
      break;
    case Attribute::Kind::kElements:
      PutElements(entry, attribute);
      break;
    case Attribute::Kind::kDims:
      entry.Put(AttributeTag::kDims);
      PutDims(entry, attribute.dims());
      break;
    case Attribute::Kind::kOpaque:
      entry.Put(AttributeTag::kOpaque);
      entry.Varint(StringOf(attribute.str()));
      break;
  }
  const uint32_t number = attributes_.Add(entry) + 1;
  known_attributes_.emplace(attribute.storage(), number);
  return number;
}

uint32_t TableWriter::LocationOf(Location location) {
  if (location.is_unknown()) return 0;
  if (const auto known = known_locations_.find(location.id()); known != known_locations_.end())
    return known->second;
  const LocationData& data = Resolve(context_, location);
  ByteWriter entry;
  switch (data.kind) {
    case Location::Kind::kUnknown:
      return 0;
    case Location::Kind::kFileLineCol:
      entry.Put(LocationTag::kFile);
      entry.Varint(StringOf(data.text));
      entry.Varint(data.line);
      entry.Varint(data.col);
      break;
    case Location::Kind::kName:
      entry.Put(LocationTag::kName);
      entry.Varint(StringOf(data.text));
      entry.Varint(data.parts.empty() ? 0 : LocationOf(data.parts[0]));
      break;
    case Location::Kind::kFused:
      entry.Put(LocationTag::kFused);
      entry.Varint(data.parts.size());
      for (const Location part : data.parts) entry.Varint(LocationOf(part));
      break;
    case Location::Kind::kCallSite:
      entry.Put(LocationTag::kCallSite);
      for (const Location part : data.parts) entry.Varint(LocationOf(part));
      break;
  }
  const uint32_t number = locations_.Add(entry) + 1;
  known_locations_.emplace(location.id(), number);
  return number;
}

uint32_t TableWriter::OpNameOf(const OpInfo& info) {
  if (const auto known = known_ops_.find(&info); known != known_ops_.end()) return known->second;
  ByteWriter entry;
  entry.Varint(StringOf(info.name()));
  entry.Byte(info.is_registered() ? kHasSlots : 0);
  if (info.is_registered()) {
    entry.Varint(static_cast<uint64_t>(info.num_slots()));
    for (int i = 0; i < info.num_slots(); ++i) entry.Varint(StringOf(info.slot_name(i).str()));
  }
  const uint32_t number = op_names_.Add(entry);
  known_ops_.emplace(&info, number);
  return number;
}

uint32_t TableWriter::FormOf(const Operation& op, bool has_discardable) {
  ByteWriter entry;
  entry.Varint(OpNameOf(op.info()));
  entry.Byte(has_discardable ? kHasDiscardable : 0);
  entry.Varint(op.num_operands());
  entry.Varint(op.num_results());
  entry.Varint(op.num_successors());
  entry.Varint(op.num_regions());
  return forms_.Add(entry);
}

}  // namespace tenon::binary
