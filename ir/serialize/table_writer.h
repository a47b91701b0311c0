// The tables of a binary module: what its ops refer to by number. Internal to ir/serialize.
#ifndef TENON_IR_SERIALIZE_TABLE_WRITER_H_
#define TENON_IR_SERIALIZE_TABLE_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "ir/core/operation.h"
#include "ir/serialize/byte_writer.h"

namespace tenon::binary {

// Entries in the order in which they came first; equal ones are one.
class EntryTable {
 public:
  uint32_t Add(const ByteWriter& entry);
  // The number of entries, and the entries.
  std::string Section() const;

 private:
  absl::flat_hash_map<std::string, uint32_t> index_;
  ByteWriter bytes_;
};

// Numbers things as a module refers to them. Types, strings and forms count from 0. Attributes and
// locations count from 1; 0 is none.
class TableWriter {
 public:
  explicit TableWriter(const Context& context) : context_(context) {}

  uint32_t StringOf(std::string_view text);
  uint32_t TypeOf(Type type);
  uint32_t AttributeOf(Attribute attribute);
  uint32_t LocationOf(Location location);
  // What ops of one form have in common: name, counts, and whether they have other attributes.
  uint32_t FormOf(const Operation& op, bool has_discardable);

  std::string Strings() const;
  std::string Dims() const { return dims_.Section(); }
  std::string Types() const { return types_.Section(); }
  std::string Attributes() const { return attributes_.Section(); }
  std::string Locations() const { return locations_.Section(); }
  std::string Ops() const { return op_names_.Section() + forms_.Section(); }
  // The large constants, one for each of different bytes.
  const std::vector<Attribute>& large() const { return large_; }
  // The position in large() of a constant with the bytes of `constant`; large().size() if none has.
  size_t FindLarge(Attribute constant) const;

 private:
  uint32_t DimOf(DimExpr dim);
  void PutDims(ByteWriter& entry, std::span<const DimExpr> dims);
  void PutElements(ByteWriter& entry, Attribute attribute);
  uint32_t BlobOf(Attribute large);
  uint32_t OpNameOf(const OpInfo& info);

  const Context& context_;
  absl::flat_hash_map<std::string, uint32_t> string_index_;
  std::vector<std::string> strings_;
  EntryTable dims_, types_, attributes_, locations_, op_names_, forms_;
  std::vector<Attribute> large_;
  // By handle, so that an entry is made once.
  absl::flat_hash_map<const void*, uint32_t> known_types_, known_attributes_, known_ops_;
  absl::flat_hash_map<uint32_t, uint32_t> known_locations_;
  absl::flat_hash_map<std::string, uint32_t> blob_index_;  // by size and hash
};

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_TABLE_WRITER_H_
