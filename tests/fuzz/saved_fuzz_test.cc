// One saved program, with every byte of its structure changed and cut behind every byte.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "ir/core/context/context.h"
#include "ir/serialize/binary_program.h"
#include "ir/serialize/format.h"
#include "tests/fuzz/fuzz_target.h"

namespace tenon::fuzz {
namespace {

size_t StructureOf(const std::string& bytes) {
  uint64_t structure = 0;
  std::memcpy(&structure, bytes.data() + binary::kStructureSizeAt, sizeof(structure));
  return static_cast<size_t>(structure);
}

TEST(SavedFuzzTest, NoChangedByteOfTheStructureIsAccepted) {
  const std::string seed = SavedSeeds()[0];
  Context context;
  context.diagnostics().SetHandler([](const Diagnostic&) {});
  const absl::StatusOr<FoundProgram> found = FindBinaryProgram(context, seed);
  ASSERT_TRUE(found.ok()) << found.status();
  ASSERT_FALSE(found->data.empty()) << "no packed weights";
  for (size_t at = 0; at < StructureOf(seed); ++at) {
    std::string changed = seed;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    EXPECT_FALSE(FindBinaryProgram(context, changed).ok()) << at;
  }
  for (size_t size = 0; size < seed.size(); ++size)
    EXPECT_FALSE(FindBinaryProgram(context, std::string_view(seed).substr(0, size)).ok()) << size;
}

TEST(SavedFuzzTest, ForgedBytesOfTheStructureNeverCrash) {
  const std::string seed = SavedSeeds()[0];
  int accepted_count = 0, refused = 0;
  for (size_t at = binary::kHeaderBytes; at < StructureOf(seed); ++at) {
    std::string changed = seed;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 8));
    bool accepted = false;
    ASSERT_EQ(CheckSaved(changed, &accepted), "") << at;
    (accepted ? accepted_count : refused) += 1;
  }
  EXPECT_GT(accepted_count, 0);  // such as a byte of a name
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace tenon::fuzz
