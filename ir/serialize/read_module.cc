#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/inline_xxhash.h"
#include "ir/core/block.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/verify/verifier.h"
#include "ir/serialize/binary_module.h"
#include "ir/serialize/binary_program.h"
#include "ir/serialize/table_reader.h"

namespace tenon {
namespace binary {
namespace {

class ModuleReader {
 public:
  ModuleReader(Context& context, std::string_view bytes, const ReadBinaryOptions& options)
      : failure_(context, options.file_name),
        bytes_(bytes),
        tables_(failure_, bytes, options.owner, options.mapped) {}

  ~ModuleReader() {
    // After an error anything may refer to anything.
    if (module_ == nullptr) return;
    for (unsigned i = 0; i < module_->num_regions(); ++i) module_->region(i).DropAllReferences();
  }

  absl::StatusOr<OwnedOp> Read() {
    failure_.AllowFor(bytes_.size());
    if (!ReadHeader() || !ReadSections() || !tables_.Read(sections_) || !ReadBody(Section::kBody) ||
        !ReadNames())
      return failure_.status();
    return std::move(module_);
  }

  // The module of the program, whose values have no names.
  absl::StatusOr<OwnedOp> ReadProgram() {
    failure_.AllowFor(bytes_.size());
    if (!ReadHeader() || !ReadSections() || !CheckHasProgram() || !tables_.Read(sections_) ||
        !ReadBody(Section::kProgram))
      return failure_.status();
    return std::move(module_);
  }

  absl::StatusOr<FoundProgram> FindProgram() {
    FoundProgram program;
    if (!ReadHeader() || !ReadSections()) return failure_.status();
    if (!has_program_) return program;
    program.found = true;
    if (!ReadUses(program)) return failure_.status();
    return program;
  }

 private:
  // An operand whose value is defined behind its op.
  struct Forward {
    Operation* op;
    uint32_t operand;
    uint64_t value;
  };

  bool ReadHeader();
  bool ReadSections();
  bool CheckHasProgram() {
    return has_program_ || failure_.Tell("the file holds a module without a program");
  }
  bool ReadUses(FoundProgram& program);
  bool ReadData(uint64_t number, FoundProgram::Data& data);
  bool ReadBody(Section section);
  bool ReadNames();
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

  Failure failure_;
  const std::string_view bytes_;
  TableReader tables_;
  Sections sections_;
  bool has_program_ = false;
  ByteReader in_;  // the body
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

bool ModuleReader::ReadHeader() {
  if (!bytes_.starts_with(kMagic)) return failure_.Tell("no binary module: it begins otherwise");
  if (bytes_.size() < kHeaderBytes) return failure_.Tell("the file ends within its header");
  const uint32_t version = LoadU32(bytes_.data() + kVersionAt);
  if (version < kOldestVersion || version > kVersion) {
    return failure_.Tell(
        fmt::format("the file has version {} of the binary format, and this build reads versions "
                    "{} to {} (expected a file of this build, or a newer Tenon)",
                    version, kOldestVersion, kVersion));
  }
  const uint64_t size = LoadU64(bytes_.data() + kFileSizeAt);
  if (size != bytes_.size()) {
    return failure_.Tell(fmt::format("the file has {} bytes, and its header says {}{}",
                                     bytes_.size(), size,
                                     size > bytes_.size() ? ": it is cut off" : ""));
  }
  const uint64_t structure = LoadU64(bytes_.data() + kStructureSizeAt);
  if (structure < kHeaderBytes || structure > size)
    return failure_.Damaged(kStructureSizeAt, "a structure that is not in the file");
  const std::string_view checked = bytes_.substr(0, structure).substr(kCheckedFrom);
  if (XXH3_64bits(checked.data(), checked.size()) != LoadU64(bytes_.data() + kChecksumAt))
    return failure_.Tell("the file is damaged: its checksum is another");
  return true;
}

bool ModuleReader::ReadSections() {
  const std::string_view structure = bytes_.substr(0, LoadU64(bytes_.data() + kStructureSizeAt));
  const uint32_t count = LoadU32(bytes_.data() + kSectionCountAt);
  if (count > kMaxSections || structure.size() < kHeaderBytes + count * kSectionBytes)
    return failure_.Damaged(kSectionCountAt, "a table of sections that is cut off");
  std::array<bool, kKnownSections + 1> found{};
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = kHeaderBytes + i * kSectionBytes;
    const char* const entry = structure.data() + at;
    const uint32_t kind = LoadU32(entry), flags = LoadU32(entry + 4);
    const uint64_t offset = LoadU64(entry + 8), size = LoadU64(entry + 16);
    if (offset > structure.size() || size > structure.size() - offset)
      return failure_.Damaged(at, "a section that is not in the structure");
    if (kind == 0 || kind > kKnownSections) {
      if ((flags & kOptional) != 0) continue;
      return failure_.Damaged(at, fmt::format("a section of the unknown kind {}", kind));
    }
    if (std::exchange(found[kind], true))
      return failure_.Damaged(at, fmt::format("two sections of the kind {}", kind));
    sections_[kind] = ByteReader(structure.substr(offset, size), offset);
  }
  for (uint32_t kind = 1; kind <= kRequiredSections; ++kind) {
    if (!found[kind])
      return failure_.Damaged(kHeaderBytes, fmt::format("no section of the kind {}", kind));
  }
  has_program_ = found[static_cast<size_t>(Section::kProgram)];
  for (const Section kind : {Section::kProgramUse, Section::kProgramData}) {
    if (found[static_cast<size_t>(kind)] != has_program_)
      return failure_.Damaged(kHeaderBytes, "some sections of a program, and not all of them");
  }
  return true;
}

bool ModuleReader::ReadUses(FoundProgram& program) {
  in_ = sections_[static_cast<size_t>(Section::kProgramUse)];
  program.facts.resize(in_.Count());
  for (std::string_view& fact : program.facts) fact = in_.Raw(in_.Varint());
  program.data.resize(in_.Count(3));
  for (FoundProgram::Data& data : program.data) {
    data.user = in_.Varint();
    data.name = in_.Raw(in_.Varint());
    const uint64_t number = in_.Varint();
    if (!in_.ok()) return Damaged("the uses of the program's data are cut off");
    if (!ReadData(number, data)) return false;
  }
  return (in_.ok() && in_.AtEnd()) || Damaged("facts of a program do not fill their section");
}

bool ModuleReader::ReadData(uint64_t number, FoundProgram::Data& data) {
  ByteReader table = sections_[static_cast<size_t>(Section::kProgramData)];
  if (number >= table.left() / kDataBytes)
    return Damaged("there is no data of the program of this number");
  table.Raw(number * kDataBytes);
  const uint64_t at = table.position();
  const std::string_view entry = table.Raw(kDataBytes);
  const uint64_t begin = LoadU64(entry.data()), size = LoadU64(entry.data() + 8);
  if (begin % kDataAlignment != 0 || begin > bytes_.size() || size > bytes_.size() - begin)
    return failure_.Damaged(at, "data of the program that is not in the file");
  data.bytes = bytes_.substr(begin, size);
  data.checksum = LoadU64(entry.data() + 16);
  return true;
}

bool ModuleReader::ReadBody(Section section) {
  in_ = sections_[static_cast<size_t>(section)];
  values_.resize(in_.Count());
  if (!in_.ok()) return Damaged("more values than bytes");
  if (!ReadOp(nullptr, 0)) return false;
  if (!in_.AtEnd()) return Damaged("bytes behind the program");
  if (next_value_ != values_.size()) return Damaged("fewer values than the program says");
  for (const Forward& use : forward_) use.op->set_operand(use.operand, values_[use.value]);
  return true;
}

// The numbers of values with names, each as the distance to the one before it.
bool ModuleReader::ReadNames() {
  in_ = sections_[static_cast<size_t>(Section::kNames)];
  if (in_.AtEnd()) return true;  // a file without the section
  uint64_t number = 0;
  const uint64_t count = in_.Count(2);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t distance = in_.Varint();
    if (number >= values_.size() || distance >= values_.size() - number)
      return Damaged("a name of a value that is not there");
    number += distance;
    std::string_view name;
    if (!tables_.String(in_, name)) return false;
    values_[number].set_name(name);
  }
  return (in_.ok() && in_.AtEnd()) || Damaged("the names do not fill their section");
}

bool ModuleReader::Define(Value value) {
  if (next_value_ == values_.size()) return Damaged("more values than the program says");
  values_[next_value_++] = value;
  return true;
}

bool ModuleReader::AttributeAt(Attribute& attribute) {
  const uint64_t index = in_.Varint();
  if (index >= tables_.attributes.size()) return Damaged("there is no attribute of this number");
  attribute = tables_.attributes[index];
  return index == 0 || failure_.Spend(tables_.attribute_extents[index].parts);
}

bool ModuleReader::ReadTypesOf(const OpForm& form) {
  types_.resize(form.results);
  for (Type& type : types_) {
    const uint64_t index = in_.Varint();
    if (index >= tables_.types.size()) return Damaged("there is no type of this number");
    type = tables_.types[index];
    if (!failure_.Spend(tables_.type_extents[index].parts)) return false;
  }
  return true;
}

bool ModuleReader::ReadOperands(const OpForm& form) {
  operands_.resize(form.operands);
  forward_operands_.clear();
  for (uint32_t i = 0; i < form.operands; ++i) {
    const auto number = next_value_ - static_cast<uint64_t>(in_.Signed());
    if (number >= values_.size()) return Damaged("there is no value of this number");
    operands_[i] = values_[number];  // null if it is not defined yet
    if (number >= next_value_) [[unlikely]]
      forward_operands_.emplace_back(i, number);
  }
  return true;
}

bool ModuleReader::ReadSuccessors(const OpForm& form, Block* into) {
  successors_.clear();
  if (form.successors == 0) return true;
  for (uint32_t i = 0; i < form.successors; ++i) {
    const uint64_t number = in_.Varint();
    if (into == nullptr || number >= region_blocks_.size())
      return Damaged("there is no block of this number");
    successors_.push_back(region_blocks_[number]);
  }
  return true;
}

bool ModuleReader::ReadSlots(const OpForm& form, Location location) {
  const OpName& name = tables_.names[form.name];
  if (!name.same) {
    if (!ReadOtherSlots(name, location)) return false;
  } else {
    slots_.resize(name.file_slots());
    for (Attribute& slot : slots_) {
      if (!AttributeAt(slot)) return false;
    }
    if (!name.has_slots && slots_[0] && slots_[0].kind() != Attribute::Kind::kDictionary)
      return Damaged("properties that are no dictionary");
  }
  discardable_ = Attribute();
  if (!form.has_discardable) return true;
  if (!AttributeAt(discardable_)) return false;
  if (!discardable_ || discardable_.kind() != Attribute::Kind::kDictionary)
    return Damaged("attributes that are no dictionary");
  return !name.info->is_registered() || MoveToSlots(name);
}

// Attributes by name: the file and the Context know different ones, or only one of them knows any.
bool ModuleReader::ReadOtherSlots(const OpName& name, Location location) {
  const OpInfo& info = *name.info;
  std::vector<NamedAttribute> entries;
  for (unsigned i = 0; i < name.file_slots(); ++i) {
    Attribute value;
    if (!AttributeAt(value)) return false;
    if (!value) continue;
    if (name.has_slots) {
      entries.push_back({failure_.context().Intern(name.slot_names[i]), value});
    } else if (value.kind() == Attribute::Kind::kDictionary) {
      entries.assign(value.entries().begin(), value.entries().end());
    } else {
      return Damaged("properties that are no dictionary");
    }
  }
  if (!info.is_registered()) {
    slots_ = {entries.empty() ? Attribute() : Attribute::Dictionary(failure_.context(), entries)};
    return true;
  }
  slots_.assign(static_cast<size_t>(info.num_slots()), Attribute());
  for (const NamedAttribute& entry : entries) {
    const int slot = info.FindSlot(entry.name);
    if (slot < 0) {
      return failure_.TellAt(location, fmt::format("op '{}' has no attribute '{}', which the file "
                                                   "gives it",
                                                   info.name(), entry.name.str()));
    }
    slots_[static_cast<size_t>(slot)] = entry.value;
  }
  return true;
}

// An attribute that belongs to the definition by now.
bool ModuleReader::MoveToSlots(const OpName& name) {
  std::vector<NamedAttribute> kept;
  for (const NamedAttribute& entry : discardable_.entries()) {
    const int slot = name.info->FindSlot(entry.name);
    if (slot < 0) {
      kept.push_back(entry);
    } else if (slots_[static_cast<size_t>(slot)]) {
      return Damaged("an attribute that is given twice");
    } else {
      slots_[static_cast<size_t>(slot)] = entry.value;
    }
  }
  if (kept.size() == discardable_.entries().size()) return true;
  discardable_ = Attribute::Dictionary(failure_.context(), kept);
  return true;
}

bool ModuleReader::ReadOp(Block* into, int64_t depth) {
  const uint64_t number = in_.Varint();
  if (number >= tables_.forms.size()) return Damaged("there is no form of an op of this number");
  const OpForm& form = tables_.forms[number];
  if (form.least_bytes > in_.left()) return Damaged("an op is cut off");
  const uint64_t at = in_.Varint();
  if (at >= tables_.locations.size()) return Damaged("there is no location of this number");
  const Location location = tables_.locations[at];
  if (!failure_.Spend(tables_.location_extents[at].parts)) return false;
  if (!ReadTypesOf(form) || !ReadOperands(form) || !ReadSuccessors(form, into) ||
      !ReadSlots(form, location))
    return false;
  if (!in_.ok()) return Damaged("an op is cut off");
  const OpInfo& info = *tables_.names[form.name].info;
  Operation* const op =
      Operation::Create(info, location, types_, operands_, slots_, successors_, form.regions);
  if (into != nullptr) {
    into->Append(op);
  } else {
    module_.reset(op);
    if (op->name() != "builtin.module" || form.operands + form.successors > 0)
      return Damaged("a program that is no module");
  }
  if (discardable_) op->SetDiscardableAttrs(discardable_);
  for (const auto& [operand, value] : forward_operands_) forward_.push_back({op, operand, value});
  for (unsigned i = 0; i < form.results; ++i) {
    if (!Define(op->result(i))) return false;
  }
  for (unsigned i = 0; i < form.regions; ++i) {
    if (!ReadRegion(op->region(i), depth + 1)) return false;
  }
  return true;
}

bool ModuleReader::ReadRegion(Region& region, int64_t depth) {
  if (!failure_.CheckDepth(depth)) return false;
  std::vector<Block*> blocks(in_.Count(2));
  if (!in_.ok()) return Damaged("a region is cut off");
  for (Block*& block : blocks) block = region.AddBlock();
  std::vector<Block*> outer = std::exchange(region_blocks_, blocks);
  for (Block* const block : blocks) {
    if (!ReadBlock(*block, depth)) return false;
  }
  region_blocks_ = std::move(outer);
  return true;
}

bool ModuleReader::ReadBlock(Block& block, int64_t depth) {
  const uint64_t arguments = in_.Count(2);
  for (uint64_t i = 0; i < arguments; ++i) {
    const uint64_t type = in_.Varint(), at = in_.Varint();
    if (type >= tables_.types.size() || at >= tables_.locations.size())
      return Damaged("there is no type or location of this number");
    if (!failure_.Spend(tables_.type_extents[type].parts) ||
        !Define(block.AddArgument(tables_.types[type], tables_.locations[at])))
      return false;
  }
  const uint64_t ops = in_.Count(2);
  if (!in_.ok()) return Damaged("a block is cut off");
  for (uint64_t i = 0; i < ops; ++i) {
    if (!ReadOp(&block, depth)) return false;
  }
  return true;
}

}  // namespace
}  // namespace binary

absl::StatusOr<OwnedOp> ReadBinaryModule(Context& context, std::string_view bytes,
                                         const ReadBinaryOptions& options) {
  const KeepUnusedBlobs keep(context);
  absl::StatusOr<OwnedOp> module = binary::ModuleReader(context, bytes, options).Read();
  if (!module.ok() || !options.verify) return module;
  if (absl::Status status = Verify(module->get()); !status.ok()) return status;
  return module;
}

absl::StatusOr<FoundProgram> FindBinaryProgram(Context& context, std::string_view bytes,
                                               const ReadBinaryOptions& options) {
  return binary::ModuleReader(context, bytes, options).FindProgram();
}

absl::StatusOr<OwnedOp> ReadBinaryProgram(Context& context, std::string_view bytes,
                                          const ReadBinaryOptions& options) {
  const KeepUnusedBlobs keep(context);
  absl::StatusOr<OwnedOp> module = binary::ModuleReader(context, bytes, options).ReadProgram();
  if (!module.ok() || !options.verify) return module;
  if (absl::Status status = Verify(module->get()); !status.ok()) return status;
  return module;
}

bool LooksLikeBinaryProgram(std::string_view bytes) {
  using namespace binary;  // NOLINT(google-build-using-namespace): numbers of the format
  if (!LooksLikeBinaryModule(bytes) || bytes.size() < kHeaderBytes) return false;
  const uint32_t count = std::min(LoadU32(bytes.data() + kSectionCountAt), kMaxSections);
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = kHeaderBytes + i * kSectionBytes;
    if (bytes.size() - at < kSectionBytes) return false;
    if (LoadU32(bytes.data() + at) == static_cast<uint32_t>(Section::kProgram)) return true;
  }
  return false;
}

}  // namespace tenon
