#include <algorithm>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/base/inline_xxhash.h"
#include "ir/base/limits.h"
#include "ir/base/out_of_memory.h"
#include "ir/core/block.h"
#include "ir/core/constants/constant_bytes.h"
#include "ir/core/constants/deferred_blob.h"
#include "ir/core/context/context.h"
#include "ir/serialize/binary_module.h"
#include "ir/serialize/binary_program.h"
#include "ir/serialize/format.h"
#include "ir/serialize/table_writer.h"

namespace tenon {
namespace binary {
namespace {

// Ops as numbers: the section of a module.
class BodyWriter {
 public:
  // `tables` receives what the body refers to.
  explicit BodyWriter(TableWriter& tables) : tables_(tables) {}

  absl::Status Write(const Operation& module) {
    TENON_RETURN_IF_ERROR(Number(module, 0));
    body_.Varint(values_.size());
    return PutOp(module);
  }
  const std::string& bytes() const { return body_.bytes(); }
  bool has_names() const { return num_names_ > 0; }
  std::string Names() const {
    ByteWriter section;
    section.Varint(num_names_);
    section.Raw(names_.bytes());
    return section.bytes();
  }

 private:
  struct BlockNumber {
    uint32_t number;  // in its region
    const Region* region;
  };

  absl::Status Refuse(const Operation& op, const std::string& what) const {
    return EmitError(op.context(), op.location(), fmt::format("op '{}' {}", op.name(), what));
  }

  // Values have numbers in the order of the file: the results of an op, then what its regions
  // define; the arguments of a block, then what its ops define.
  absl::Status Number(const Operation& op, int64_t depth) {
    for (unsigned i = 0; i < op.num_results(); ++i)
      values_.emplace(op.result(i).impl(), static_cast<uint32_t>(values_.size()));
    if (op.num_regions() > 0 && depth == kMaxNesting)
      return Refuse(op, fmt::format("has regions nested deeper than {} levels", kMaxNesting));
    for (unsigned i = 0; i < op.num_regions(); ++i) {
      uint32_t number = 0;
      for (const Block& block : op.region(i)) {
        blocks_.emplace(&block, BlockNumber{number++, &op.region(i)});
        for (unsigned j = 0; j < block.num_arguments(); ++j)
          values_.emplace(block.argument(j).impl(), static_cast<uint32_t>(values_.size()));
        for (const Operation& inner : block) TENON_RETURN_IF_ERROR(Number(inner, depth + 1));
      }
    }
    return absl::OkStatus();
  }

  absl::Status PutOp(const Operation& op) {
    const Attribute discardable = op.discardable_attrs();
    body_.Varint(tables_.FormOf(op, static_cast<bool>(discardable)));
    body_.Varint(tables_.LocationOf(op.location()));
    for (unsigned i = 0; i < op.num_results(); ++i)
      body_.Varint(tables_.TypeOf(op.result(i).type()));
    TENON_RETURN_IF_ERROR(PutOperands(op));
    TENON_RETURN_IF_ERROR(PutSuccessors(op));
    for (const Attribute slot : op.slots()) body_.Varint(tables_.AttributeOf(slot));
    if (discardable) body_.Varint(tables_.AttributeOf(discardable));
    for (unsigned i = 0; i < op.num_results(); ++i) PutName(op.result(i), next_value_ + i);
    next_value_ += op.num_results();
    for (unsigned i = 0; i < op.num_regions(); ++i) TENON_RETURN_IF_ERROR(PutRegion(op.region(i)));
    return absl::OkStatus();
  }

  // The distance to the next value that is defined: small where a value is used soon.
  absl::Status PutOperands(const Operation& op) {
    for (unsigned i = 0; i < op.num_operands(); ++i) {
      const Value value = op.operand(i);
      if (!value) return Refuse(op, fmt::format("has no value for operand {}", i));
      const auto number = values_.find(value.impl());
      if (number == values_.end())
        return Refuse(op, fmt::format("uses a value from outside of the module (operand {})", i));
      body_.Signed(static_cast<int64_t>(next_value_) - static_cast<int64_t>(number->second));
    }
    return absl::OkStatus();
  }

  absl::Status PutSuccessors(const Operation& op) {
    for (unsigned i = 0; i < op.num_successors(); ++i) {
      const auto block = blocks_.find(op.successor(i));
      if (block == blocks_.end() || block->second.region != op.parent_region())
        return Refuse(op, fmt::format("has no block of its region as successor {}", i));
      body_.Varint(block->second.number);
    }
    return absl::OkStatus();
  }

  absl::Status PutRegion(const Region& region) {
    body_.Varint(static_cast<uint64_t>(std::distance(region.begin(), region.end())));
    for (const Block& block : region) {
      body_.Varint(block.num_arguments());
      for (unsigned i = 0; i < block.num_arguments(); ++i) {
        body_.Varint(tables_.TypeOf(block.argument(i).type()));
        body_.Varint(tables_.LocationOf(block.argument(i).location()));
      }
      for (unsigned i = 0; i < block.num_arguments(); ++i)
        PutName(block.argument(i), next_value_ + i);
      next_value_ += block.num_arguments();
      body_.Varint(static_cast<uint64_t>(std::distance(block.begin(), block.end())));
      for (const Operation& op : block) TENON_RETURN_IF_ERROR(PutOp(op));
    }
    return absl::OkStatus();
  }

  void PutName(Value value, uint64_t number) {
    if (!value.has_name()) return;
    ++num_names_;
    names_.Varint(number - last_named_);
    names_.Varint(tables_.StringOf(value.name()));
    last_named_ = number;
  }

  TableWriter& tables_;
  ByteWriter body_;
  absl::flat_hash_map<const ValueImpl*, uint32_t> values_;
  absl::flat_hash_map<const Block*, BlockNumber> blocks_;
  uint64_t next_value_ = 0;
  ByteWriter names_;
  uint64_t num_names_ = 0, last_named_ = 0;
};

uint64_t Aligned(uint64_t at) {
  return (at + kDataAlignment - 1) / kDataAlignment * kDataAlignment;
}

class ModuleWriter {
 public:
  // `program` may be null.
  ModuleWriter(const Operation& module, const BinaryProgram* program)
      : module_(module),
        program_(program),
        tables_(module.context()),
        body_(tables_),
        lowered_(tables_) {}

  absl::Status Write(TextSink sink) {
    TENON_RETURN_IF_ERROR(body_.Write(module_));
    // Behind the module: its numbers are those of a file without a program.
    if (program_ != nullptr) {
      TENON_RETURN_IF_ERROR(lowered_.Write(*program_->module));
      NoteUses();
      NotePacked();
    }
    if (program_ != nullptr) TENON_RETURN_IF_ERROR(SumConstants());
    const std::string structure = Structure();
    TENON_RETURN_IF_ERROR(sink(structure));
    uint64_t at = structure.size();
    TENON_RETURN_IF_ERROR(PutConstants(at, sink));
    for (const std::span<const std::byte> bytes : data_) {
      TENON_RETURN_IF_ERROR(PutPadding(at, sink));
      TENON_RETURN_IF_ERROR(PutBytes(bytes, at, sink));
    }
    return absl::OkStatus();
  }

 private:
  struct NewSection {
    Section kind;
    std::string bytes;
    bool optional = false;
  };

  // The checksum of each large constant.
  absl::Status SumConstants() {
    for (const Attribute constant : tables_.large()) {
      XXH3_state_t sum;
      XXH3_64bits_reset(&sum);
      TENON_RETURN_IF_ERROR(ForEachPiece(constant, [&](std::span<const std::byte> piece) {
        XXH3_64bits_update(&sum, piece.data(), piece.size());
        return absl::OkStatus();
      }));
      sums_.U64(XXH3_64bits_digest(&sum));
    }
    return absl::OkStatus();
  }

  // The facts, and for each use of data its number.
  void NoteUses() {
    absl::flat_hash_map<std::pair<const std::byte*, size_t>, uint64_t> known;
    uses_.Varint(program_->facts.size());
    for (const std::string& fact : program_->facts) PutText(fact);
    uses_.Varint(program_->data.size());
    for (const BinaryProgram::Data& use : program_->data) {
      const auto [number, is_new] =
          known.try_emplace({use.bytes.data(), use.bytes.size()}, data_.size());
      data_numbers_.push_back(number->second);
      if (is_new) data_.push_back(use.bytes);
      uses_.Varint(use.user);
      PutText(use.name);
      uses_.Varint(number->second);
    }
  }

  // The constants that are unpacked from data.
  void NotePacked() {
    is_packed_.resize(tables_.large().size());
    uint64_t count = 0;
    ByteWriter entries;
    for (const BinaryProgram::Packed& packed : program_->packed) {
      const size_t number = tables_.FindLarge(packed.constant);
      if (number == is_packed_.size() || is_packed_[number]) continue;
      is_packed_[number] = true;
      ++count;
      entries.Varint(number);
      entries.Varint(data_numbers_[packed.data]);
      entries.Varint(packed.order.element_bytes);
      entries.Varint(packed.order.parts.size());
      for (const ElementOrder::Part& part : packed.order.parts) {
        entries.Signed(part.plain);
        entries.Signed(part.packed);
        entries.Varint(part.loops.size());
        for (const ElementOrder::Loop& loop : part.loops) {
          entries.Signed(loop.count);
          entries.Signed(loop.plain);
          entries.Signed(loop.packed);
        }
      }
    }
    if (count == 0) return;
    packed_.Varint(count);
    packed_.Raw(entries.bytes());
  }

  bool IsPacked(size_t large) const { return large < is_packed_.size() && is_packed_[large]; }

  void PutText(std::string_view text) {
    uses_.Varint(text.size());
    uses_.Raw(text);
  }

  // Header, table of sections and sections. The places of large constants and of the program's data
  // follow from its size.
  std::string Structure() {
    const std::vector<Attribute>& large = tables_.large();
    std::vector<NewSection> sections = {
        {Section::kStrings, tables_.Strings()},
        {Section::kDims, tables_.Dims()},
        {Section::kTypes, tables_.Types()},
        {Section::kBlobs, std::string(large.size() * kBlobBytes, '\0')},
        {Section::kAttributes, tables_.Attributes()},
        {Section::kLocations, tables_.Locations()},
        {Section::kOps, tables_.Ops()},
        {Section::kBody, body_.bytes()},
    };
    if (body_.has_names()) sections.push_back({Section::kNames, body_.Names(), true});
    if (program_ != nullptr) {
      sections.push_back({Section::kProgram, lowered_.bytes(), true});
      sections.push_back({Section::kProgramUse, uses_.bytes(), true});
      sections.push_back(
          {Section::kProgramData, std::string(data_.size() * kDataBytes, '\0'), true});
      sections.push_back({Section::kBlobSums, sums_.bytes(), true});
      if (packed_.size() > 0) sections.push_back({Section::kPackedBlobs, packed_.bytes()});
    }
    uint64_t size = kHeaderBytes + std::size(sections) * kSectionBytes;
    for (const NewSection& section : sections) size += section.bytes.size();
    uint64_t end = size;
    const auto place = [&end](ByteWriter& table, uint64_t bytes) {
      const uint64_t begin = Aligned(end);
      table.U64(begin);
      table.U64(bytes);
      end = begin + bytes;
    };
    ByteWriter blobs, data;
    for (size_t i = 0; i < large.size(); ++i) {
      if (!IsPacked(i)) {
        place(blobs, StoredBytes(large[i]));
        continue;
      }
      blobs.U64(kPackedOffset);
      blobs.U64(StoredBytes(large[i]));
    }
    for (const std::span<const std::byte> bytes : data_) {
      place(data, bytes.size());
      data.U64(XXH3_64bits(bytes.data(), bytes.size()));
    }
    ByteWriter checked;
    checked.Raw(std::string(kHeaderBytes - kCheckedFrom, '\0'));
    uint64_t at = kHeaderBytes + std::size(sections) * kSectionBytes;
    for (NewSection& section : sections) {
      if (section.kind == Section::kBlobs) section.bytes = blobs.bytes();
      if (section.kind == Section::kProgramData) section.bytes = data.bytes();
      checked.U32(static_cast<uint32_t>(section.kind));
      checked.U32(section.optional ? kOptional : 0);
      checked.U64(at);
      checked.U64(section.bytes.size());
      at += section.bytes.size();
    }
    for (const NewSection& section : sections) checked.Raw(section.bytes);
    ByteWriter structure;
    structure.Raw(kMagic);
    structure.U32(kVersion);
    structure.U32(static_cast<uint32_t>(std::size(sections)));
    structure.U64(end);
    structure.U64(size);
    structure.U64(XXH3_64bits(checked.bytes().data(), checked.size()));
    structure.Raw(checked.bytes());
    return structure.bytes();
  }

  static absl::Status PutPadding(uint64_t& at, TextSink sink) {
    const std::string padding(Aligned(at) - at, '\0');
    at += padding.size();
    return padding.empty() ? absl::OkStatus() : sink(padding);
  }

  static absl::Status PutBytes(std::span<const std::byte> bytes, uint64_t& at, TextSink sink) {
    // Large writes get large pages of the system's cache, which are mapped faster.
    constexpr size_t kPiece = size_t{64} << 20;
    std::string_view left(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    at += left.size();
    while (!left.empty()) {
      TENON_RETURN_IF_ERROR(sink(left.substr(0, kPiece)));
      left.remove_prefix(std::min(left.size(), kPiece));
    }
    return absl::OkStatus();
  }

  absl::Status PutConstants(uint64_t& at, TextSink sink) {
    for (size_t i = 0; i < tables_.large().size(); ++i) {
      if (IsPacked(i)) continue;
      TENON_RETURN_IF_ERROR(PutPadding(at, sink));
      TENON_RETURN_IF_ERROR(ForEachPiece(tables_.large()[i], [&](std::span<const std::byte> piece) {
        return PutBytes(piece, at, sink);
      }));
    }
    return absl::OkStatus();
  }

  const Operation& module_;
  const BinaryProgram* const program_;
  TableWriter tables_;
  BodyWriter body_, lowered_;
  ByteWriter uses_, sums_, packed_;
  std::vector<std::span<const std::byte>> data_;
  std::vector<uint64_t> data_numbers_;  // in data_, by BinaryProgram::data
  std::vector<bool> is_packed_;         // by the number of a large constant
};

}  // namespace
}  // namespace binary

bool LooksLikeBinaryModule(std::string_view bytes) { return bytes.starts_with(binary::kMagic); }

namespace {

absl::Status CheckIsModule(const Operation& module) {
  if (module.name() == "builtin.module") return absl::OkStatus();
  return EmitError(
      module.context(), module.location(),
      fmt::format("op '{}' is no builtin.module, which a binary file holds", module.name()));
}

}  // namespace

absl::Status WriteBinaryModule(const Operation& module, TextSink sink) {
  TENON_RETURN_IF_ERROR(CheckIsModule(module));
  return WithoutBadAlloc("writing a binary module",
                         [&] { return binary::ModuleWriter(module, nullptr).Write(sink); });
}

absl::Status WriteBinaryProgram(const Operation& module, const BinaryProgram& program,
                                TextSink sink) {
  TENON_RETURN_IF_ERROR(CheckIsModule(module));
  TENON_RETURN_IF_ERROR(CheckIsModule(*program.module));
  return WithoutBadAlloc("writing a program",
                         [&] { return binary::ModuleWriter(module, &program).Write(sink); });
}

}  // namespace tenon
