// Reads the body of a binary module: its operations. Internal to ir/serialize.
#ifndef TENON_IR_SERIALIZE_BODY_READER_H_
#define TENON_IR_SERIALIZE_BODY_READER_H_

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/block.h"
#include "ir/core/operation.h"
#include "ir/serialize/byte_reader.h"
#include "ir/serialize/failure.h"
#include "ir/serialize/table_reader.h"

namespace tenon::binary {

// Reads one module with tables that have been read. All functions return false behind an error,
// which is in the Failure.
class BodyReader {
 public:
  BodyReader(Failure& failure, TableReader& tables) : failure_(failure), tables_(tables) {}
  BodyReader(const BodyReader&) = delete;
  BodyReader& operator=(const BodyReader&) = delete;
  ~BodyReader() {
    // After an error anything may refer to anything.
    if (module_ == nullptr) return;
    for (unsigned i = 0; i < module_->num_regions(); ++i) module_->region(i).DropAllReferences();
  }

  // Reads a section of operations (format.h).
  bool Read(const ByteReader& body);
  // The numbers of values with names, each as the distance to the one before it. An empty section
  // has none.
  bool ReadNames(const ByteReader& names);
  // The module that was read.
  OwnedOp Take() { return std::move(module_); }

 private:
  // An operand whose value is defined behind its op.
  struct Forward {
    Operation* op;
    uint32_t operand;
    uint64_t value;
  };

  bool ReadOp(Block* into, int64_t depth);
  bool ReadOperands(const OpForm& form);
  bool ReadTypesOf(const OpForm& form);
  bool ReadSuccessors(const OpForm& form, Block* into);
  bool ReadSlots(const OpForm& form, Location location);
  bool ReadOtherSlots(const OpName& name, Location location);
  bool MoveToSlots(const OpName& name);
  bool ReadRegion(Region& region, int64_t depth);
  bool ReadBlock(Block& block, int64_t depth);
  bool Define(Value value);
  bool AttributeAt(Attribute& attribute);
  bool Damaged(std::string_view what) { return failure_.Damaged(in_.position(), what); }

  Failure& failure_;
  TableReader& tables_;
  ByteReader in_;  // the section that is read
  OwnedOp module_;
  std::vector<Value> values_;
  uint64_t next_value_ = 0;
  std::vector<Forward> forward_;
  std::vector<Block*> region_blocks_;  // of the region being read, for successors
  // Of the op being read.
  Attribute discardable_;
  std::vector<Type> types_;
  std::vector<Value> operands_;
  std::vector<std::pair<uint32_t, uint64_t>> forward_operands_;
  std::vector<Attribute> slots_;
  std::vector<Block*> successors_;
};

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_BODY_READER_H_
