// Numbers of the binary module's format, version 1. docs/design/binary-module.md describes it.
// Files have these numbers for ever: add new ones, and change none.
#ifndef TENON_IR_SERIALIZE_FORMAT_H_
#define TENON_IR_SERIALIZE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "ir/base/dtype.h"

namespace tenon::binary {

// As the signature of PNG, it shows a transfer that changes line ends or drops the eighth bit.
inline constexpr std::string_view kMagic("\x89TNB\r\n\x1a\n", 8);
inline constexpr uint32_t kOldestVersion = 1, kVersion = 1;

// The header: magic, version (u32), number of sections (u32), size of the file (u64), size of the
// structure (u64), checksum (u64) of the structure behind it, and zeros. The table of sections
// follows: kind (u32), flags (u32), offset (u64), size (u64). Numbers are little-endian.
inline constexpr size_t kVersionAt = 8, kSectionCountAt = 12, kFileSizeAt = 16,
                        kStructureSizeAt = 24, kChecksumAt = 32, kCheckedFrom = 40,
                        kHeaderBytes = 64, kSectionBytes = 24, kBlobBytes = 16;
inline constexpr size_t kDataAlignment = 64;
inline constexpr uint32_t kMaxSections = 64;

// A flag of a section: a reader that does not know its kind skips it.
inline constexpr uint32_t kOptional = 1;

enum class Section : uint32_t {
  kStrings = 1,
  kDims = 2,
  kTypes = 3,
  kBlobs = 4,
  kAttributes = 5,
  kLocations = 6,
  kOps = 7,
  kBody = 8,
  kNames = 9,  // optional: names of values
  // Optional, all of the following or none: a program made of the module (binary_program.h).
  kProgram = 10,      // the lowered module, as kBody
  kProgramUse = 11,   // facts about the program, and who uses which data
  kProgramData = 12,  // the places of the data
  kBlobSums = 13,     // the XXH3-64 (u64) of the bytes of each entry of kBlobs
  // Only with a program, and not optional: entries of kBlobs that are in the file only as data of
  // the program. For each its number and the number of the data, then an ElementOrder.
  kPackedBlobs = 14,
};
inline constexpr uint32_t kRequiredSections = 8;  // those before kNames
inline constexpr uint32_t kKnownSections = 14;
// The offset of an entry of kBlobs that kPackedBlobs names.
inline constexpr uint64_t kPackedOffset = 0;
// An entry of kProgramData: offset, size and XXH3-64 of the data (u64 each).
inline constexpr size_t kDataBytes = 24;

enum class DimTag : uint8_t { kUnknown = 0, kConstant = 1, kText = 2 };

enum class TypeTag : uint8_t {
  kScalar = 1,
  kIndex = 2,
  kNone = 3,
  kTensor = 4,
  kUnranked = 5,
  kFunction = 6,
  kTuple = 7,
  kOpaque = 8,
};

enum class AttributeTag : uint8_t {
  kUnit = 1,
  kFalse = 2,
  kTrue = 3,
  kInteger = 4,
  kFloat = 5,
  kString = 6,
  kArray = 7,
  kInts = 8,
  kFloats = 9,
  kType = 10,
  kSymbol = 11,
  kDictionary = 12,
  kSplat = 13,
  kInlineElements = 14,
  kLargeElements = 15,
  kDims = 16,
  kOpaque = 17,
};

enum class LocationTag : uint8_t { kFile = 1, kName = 2, kFused = 3, kCallSite = 4 };

// Element types by their number in files.
inline constexpr DType kDTypes[] = {
    DType::kInvalid,    DType::kBool,   DType::kI8,         DType::kI16,       DType::kI32,
    DType::kI64,        DType::kU8,     DType::kU16,        DType::kU32,       DType::kU64,
    DType::kF16,        DType::kBF16,   DType::kF32,        DType::kF64,       DType::kF8E4M3FN,
    DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ, DType::kF8E8M0FNU, DType::kF4E2M1FN,
    DType::kI4,         DType::kI2,     DType::kU4,         DType::kU2};
inline constexpr size_t kNumFileDTypes = sizeof(kDTypes) / sizeof(kDTypes[0]);
static_assert(kNumFileDTypes == kNumDTypes, "a new element type needs a number in files");

// Flags of a name of an op: its attributes are slots with names, as of a registered op. Otherwise
// there is one slot, a dictionary of properties.
inline constexpr uint8_t kHasSlots = 1;

// Flags of a form of an op.
inline constexpr uint8_t kHasDiscardable = 1;

}  // namespace tenon::binary

#endif  // TENON_IR_SERIALIZE_FORMAT_H_
