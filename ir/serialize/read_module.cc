#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "ir/base/inline_xxhash.h"
#include "ir/core/constants/keep_blobs.h"
#include "ir/core/verify/verifier.h"
#include "ir/serialize/binary_module.h"
#include "ir/serialize/binary_program.h"
#include "ir/serialize/body_reader.h"
#include "ir/serialize/table_reader.h"

namespace tenon {
namespace binary {
namespace {

class ModuleReader {
 public:
  ModuleReader(Context& context, std::string_view bytes, const ReadBinaryOptions& options)
      : failure_(context, options.file_name),
        bytes_(bytes),
        tables_(failure_, bytes, options.owner, options.mapped),
        body_(failure_, tables_) {}

  absl::StatusOr<OwnedOp> Read() {
    failure_.AllowFor(bytes_.size());
    if (!ReadHeader() || !ReadSections() || !tables_.Read(sections_) ||
        !body_.Read(SectionOf(Section::kBody)) || !body_.ReadNames(SectionOf(Section::kNames)))
      return failure_.status();
    return body_.Take();
  }

  // The module of the program, whose values have no names.
  absl::StatusOr<OwnedOp> ReadProgram() {
    failure_.AllowFor(bytes_.size());
    if (!ReadHeader() || !ReadSections() || !CheckHasProgram() || !tables_.Read(sections_) ||
        !body_.Read(SectionOf(Section::kProgram)))
      return failure_.status();
    return body_.Take();
  }

  absl::StatusOr<FoundProgram> FindProgram() {
    FoundProgram program;
    if (!ReadHeader() || !ReadSections()) return failure_.status();
    if (!has_program_) return program;
    program.found = true;
    if (!ReadUses(program) || !ReadSums(program)) return failure_.status();
    return program;
  }

 private:
  const ByteReader& SectionOf(Section kind) const { return sections_[static_cast<size_t>(kind)]; }
  bool ReadHeader();
  bool ReadSections();
  bool CheckHasProgram() {
    return has_program_ || failure_.Tell("the file holds a module without a program");
  }
  bool ReadUses(FoundProgram& program);
  bool ReadData(uint64_t number, FoundProgram::Data& data);
  bool ReadSums(FoundProgram& program);
  bool BytesAt(const char* entry, uint64_t position, std::string_view& found);
  bool Damaged(std::string_view what) { return failure_.Damaged(in_.position(), what); }

  Failure failure_;
  const std::string_view bytes_;
  TableReader tables_;
  Sections sections_;
  bool has_program_ = false;
  ByteReader in_;  // the section that is read
  BodyReader body_;
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
  for (const Section kind : {Section::kProgramUse, Section::kProgramData, Section::kBlobSums}) {
    if (found[static_cast<size_t>(kind)] != has_program_)
      return failure_.Damaged(kHeaderBytes, "some sections of a program, and not all of them");
  }
  if (found[static_cast<size_t>(Section::kPackedBlobs)] && !has_program_)
    return failure_.Damaged(kHeaderBytes, "packed constants without the program that packs them");
  return true;
}

bool ModuleReader::ReadUses(FoundProgram& program) {
  in_ = SectionOf(Section::kProgramUse);
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

// The large constants with their checksums, one for each.
bool ModuleReader::ReadSums(FoundProgram& program) {
  ByteReader sums = SectionOf(Section::kBlobSums);
  ByteReader blobs = SectionOf(Section::kBlobs);
  if (sums.left() / sizeof(uint64_t) != blobs.left() / kBlobBytes ||
      sums.left() % sizeof(uint64_t) != 0)
    return failure_.Damaged(sums.position(), "not one checksum for each constant");
  while (!sums.AtEnd()) {
    const uint64_t at = blobs.position();
    const std::string_view entry = blobs.Raw(kBlobBytes), sum = sums.Raw(sizeof(uint64_t));
    if (LoadU64(entry.data()) == kPackedOffset) continue;  // the data has a checksum of its own
    FoundProgram::Checked& constant = program.constants.emplace_back();
    if (!BytesAt(entry.data(), at, constant.bytes)) return false;
    constant.checksum = LoadU64(sum.data());
  }
  return true;
}

// Reads offset and size, which stand at `position`, and checks that the file has these bytes.
bool ModuleReader::BytesAt(const char* entry, uint64_t position, std::string_view& found) {
  const uint64_t begin = LoadU64(entry), size = LoadU64(entry + 8);
  if (begin % kDataAlignment != 0 || begin > bytes_.size() || size > bytes_.size() - begin)
    return failure_.Damaged(position, "data of the program that is not in the file");
  found = bytes_.substr(begin, size);
  return true;
}

bool ModuleReader::ReadData(uint64_t number, FoundProgram::Data& data) {
  ByteReader table = SectionOf(Section::kProgramData);
  if (number >= table.left() / kDataBytes)
    return Damaged("there is no data of the program of this number");
  table.Raw(number * kDataBytes);
  const uint64_t at = table.position();
  const std::string_view entry = table.Raw(kDataBytes);
  if (!BytesAt(entry.data(), at, data.bytes)) return false;
  data.checksum = LoadU64(entry.data() + 16);
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
