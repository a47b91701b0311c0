// Memory on huge pages.
#include "executor/memory/lasting_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tenon {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

bool IsMapped(void* page) { return msync(page, 1, MS_ASYNC) == 0 || errno != ENOMEM; }

TEST(LastingMemory, IsAlignedAndWritableToTheEnd) {
  for (size_t bytes : {size_t{0}, size_t{1}, 2 * kMiB - 1, 2 * kMiB, 5 * kMiB + 3}) {
    absl::StatusOr<std::shared_ptr<std::byte>> memory = AllocateLasting(bytes);
    ASSERT_TRUE(memory.ok()) << memory.status();
    ASSERT_NE(*memory, nullptr);
    const auto address = reinterpret_cast<uintptr_t>(memory->get());
    EXPECT_EQ(address % 64, 0u) << bytes;
    if (bytes >= 2 * kMiB) {
      EXPECT_EQ(address % (2 * kMiB), 0u) << bytes;
    }
    std::memset(memory->get(), 0x5a, bytes);
    if (bytes > 0) {
      EXPECT_EQ(memory->get()[bytes - 1], std::byte{0x5a});
    }
  }
}

TEST(LastingMemory, GivesBackWhatItMapped) {
  absl::StatusOr<std::shared_ptr<std::byte>> memory = AllocateLasting(5 * kMiB + 3);
  ASSERT_TRUE(memory.ok());
  std::byte* first = memory->get();
  std::byte* last = first + 5 * kMiB;
  EXPECT_TRUE(IsMapped(first));
  EXPECT_TRUE(IsMapped(last));
  memory->reset();
  EXPECT_FALSE(IsMapped(first));
  EXPECT_FALSE(IsMapped(last));
}

TEST(LastingMemory, RefusesWhatNoMachineHas) {
  EXPECT_TRUE(absl::IsResourceExhausted(AllocateLasting(SIZE_MAX / 4 / 4096 * 4096).status()));
}

}  // namespace
}  // namespace tenon
