// The tables of a binary module, read. Internal to ir/serialize.
#ifndef TENON_IR_SERIALIZE_TABLE_READER_H_
#define TENON_IR_SERIALIZE_TABLE_READER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "ir/base/element_order.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/operation.h"
#include "ir/serialize/byte_reader.h"
#include "ir/serialize/failure.h"
#include "ir/serialize/format.h"

namespace tenon::binary {

// How deep a type, attribute or location is, and of how many parts its text would be.
struct Extent {
  uint32_t depth = 1, parts = 1;
};

// An op of the file: its name there, and what the Context knows of it.
struct OpName {
  const OpInfo* info = nullptr;
  bool has_slots = false;                    // in the file
  std::vector<std::string_view> slot_names;  // in the file
  std::vector<int> slots;                    // of the Context, -1: none; if both have slots
  bool same = false;                         // both have the same slots
  unsigned file_slots() const { return has_slots ? static_cast<unsigned>(slot_names.size()) : 1; }
};

// What ops of one form have in common.
struct OpForm {
  uint32_t name = 0, operands = 0, results = 0, successors = 0, regions = 0;
  bool has_discardable = false;
  uint64_t least_bytes = 0;  // that such an op takes in the body
};

// Sections of a file by their kind.
using Sections = std::array<ByteReader, kKnownSections + 1>;

// What the body refers to by number. Attributes and locations have null and unknown at 0.
class TableReader {
 public:
  // `file` holds the bytes of large constants: those that `owner` keeps, if it is not null.
  TableReader(Failure& failure, std::string_view file, std::shared_ptr<const void> owner,
              bool mapped)
      : failure_(failure),
        context_(failure.context()),
        file_(file),
        owner_(std::move(owner)),
        mapped_(mapped) {}

  // Reads all tables. False if something is wrong, which `failure` then holds.
  bool Read(Sections& sections);
  // Reads the number of a string, and the string.
  bool String(ByteReader& in, std::string_view& text);

  std::vector<Type> types;
  std::vector<Extent> type_extents;
  std::vector<Attribute> attributes;
  std::vector<Extent> attribute_extents;
  std::vector<Location> locations;
  std::vector<Extent> location_extents;
  std::vector<OpName> names;
  std::vector<OpForm> forms;

 private:
  struct BlobPlace {
    uint64_t begin, size;
    std::shared_ptr<const Blob> blob;              // made when it is used first
    std::shared_ptr<const DeferredBlob> packed{};  // in place of bytes in the file
  };

  bool ReadStrings(ByteReader& in);
  bool ReadDims(ByteReader& in);
  bool ReadTypes(ByteReader& in);
  bool ReadBlobs(ByteReader& in);
  bool ReadPackedBlobs(ByteReader& in, const ByteReader& data);
  bool ReadOrder(ByteReader& in, ElementOrder& order);
  std::shared_ptr<const Blob> BlobAt(uint64_t begin, uint64_t size) const;
  bool ReadAttributes(ByteReader& in);
  bool ReadLocations(ByteReader& in);
  bool ReadOps(ByteReader& in);
  bool ReadOpName(ByteReader& in);
  bool ReadForm(ByteReader& in);
  static void MatchSlots(OpName& name);

  bool ReadType(ByteReader& in, Type& type, Extent& extent);
  bool ReadTensor(ByteReader& in, Type& type);
  bool ReadTypeList(ByteReader& in, std::vector<Type>& list, Extent& extent);
  bool ReadAttribute(ByteReader& in, Attribute& attribute, Extent& extent);
  bool ReadNumber(ByteReader& in, AttributeTag tag, Attribute& attribute);
  bool ReadNumbers(ByteReader& in, AttributeTag tag, Attribute& attribute);
  bool ReadArray(ByteReader& in, Attribute& attribute, Extent& extent);
  bool ReadDictionary(ByteReader& in, Attribute& attribute, Extent& extent);
  bool ReadElements(ByteReader& in, AttributeTag tag, Attribute& attribute);
  bool ReadLarge(ByteReader& in, Type type, uint64_t size, Attribute& attribute);
  bool ReadSymbol(ByteReader& in, Attribute& attribute);
  bool ReadOpaque(ByteReader& in, Attribute& attribute);
  bool ReadLocation(ByteReader& in, Location& location, Extent& extent);
  bool CheckLocation(std::span<const Location> parts);
  bool CheckElements(ByteReader& in, DType dtype, std::string_view bytes);

  bool Damaged(const ByteReader& in, std::string_view what) {
    return failure_.Damaged(in.position(), what);
  }
  // The next number, which must be one of `count`.
  bool Index(ByteReader& in, size_t count, uint64_t& index, const char* what);
  bool DimList(ByteReader& in, std::vector<DimExpr>& dims);
  bool DTypeOf(ByteReader& in, DType& dtype);
  bool Add(const Extent& part, Extent& whole);

  Failure& failure_;
  Context& context_;
  const std::string_view file_;
  const std::shared_ptr<const void> owner_;
  const bool mapped_;
  std::vector<std::string_view> strings_;
  std::vector<DimExpr> dims_;
  std::vector<BlobPlace> blobs_;
  // By string: to read one text twice would let few bytes cost much.
  absl::flat_hash_map<std::string_view, Type> opaque_types_;
  absl::flat_hash_map<std::string_view, Attribute> opaque_attributes_;
  absl::flat_hash_map<std::string_view, DimExpr> dim_texts_;
};

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_TABLE_READER_H_
