#include "tests/serialize/binary_file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ir/base/inline_xxhash.h"
#include "ir/core/text/parser.h"
#include "ir/core/text/printer.h"
#include "ir/serialize/binary_module.h"
#include "ir/serialize/format.h"

namespace tenon::test {

std::string Written(const Operation& module) {
  std::string bytes;
  const absl::Status status = WriteBinaryModule(module, [&](std::string_view piece) {
    bytes += piece;
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return bytes;
}

std::string FullText(const Operation& module) {
  return Print(module, {.generic = true, .locations = true, .elide_resources = false});
}

OwnedOp Parsed(Context& context, std::string_view text) {
  context.set_allow_unregistered_dialects(true);
  ParseOptions options;
  options.verify = false;
  options.locate_by_text = false;
  absl::StatusOr<OwnedOp> module = ParseModule(context, text, options);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : OwnedOp();
}

absl::StatusOr<OwnedOp> ReadBack(Context& context, std::string_view bytes) {
  ReadBinaryOptions options;
  options.file_name = "m.tnb";
  options.verify = false;
  return ReadBinaryModule(context, bytes, options);
}

uint64_t NumberAt(const std::string& bytes, size_t at, int size) {
  uint64_t value = 0;
  std::memcpy(&value, &bytes[at], static_cast<size_t>(size));
  return value;
}

void SetNumberAt(std::string& bytes, size_t at, int size, uint64_t value) {
  std::memcpy(&bytes[at], &value, static_cast<size_t>(size));
}

void Seal(std::string& bytes) {
  SetNumberAt(bytes, binary::kFileSizeAt, 8, bytes.size());
  const uint64_t structure = NumberAt(bytes, binary::kStructureSizeAt, 8);
  SetNumberAt(bytes, binary::kChecksumAt, 8,
              XXH3_64bits(bytes.data() + binary::kCheckedFrom, structure - binary::kCheckedFrom));
}

}  // namespace tenon::test
