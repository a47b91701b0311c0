#include "ir/core/context/op_pool.h"

#include <cstring>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace tenon {
namespace {

using Blocks = std::vector<std::pair<void*, size_t>>;

// Blocks of many sizes, small, large and beyond what is pooled, each filled with its own byte.
Blocks AllocateMany(OpPool& pool, int count) {
  Blocks blocks;
  for (int i = 0; i < count; ++i) {
    size_t bytes = 48 + 8 * static_cast<size_t>(i * 37 % 200);
    void* memory = pool.Allocate(bytes);
    std::memset(memory, i & 0xff, bytes);
    blocks.emplace_back(memory, bytes);
  }
  return blocks;
}

bool KeepTheirBytes(const Blocks& blocks) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(blocks[i].first);
    for (size_t j = 0; j < blocks[i].second; ++j) {
      if (bytes[j] != (i & 0xff)) return false;
    }
  }
  return true;
}

void FreeAll(OpPool& pool, const Blocks& blocks) {
  for (auto [memory, bytes] : blocks) pool.Free(memory, bytes);
}

TEST(OpPoolTest, BlocksDoNotOverlap) {
  OpPool pool;
  Blocks blocks = AllocateMany(pool, 5000);
  EXPECT_TRUE(KeepTheirBytes(blocks));
  size_t total = 0;
  for (auto [memory, bytes] : blocks) total += bytes;
  EXPECT_EQ(pool.bytes_in_use(), total);
  FreeAll(pool, blocks);
  EXPECT_EQ(pool.bytes_in_use(), 0u);
  // What has been freed is handed out again, once.
  blocks = AllocateMany(pool, 5000);
  EXPECT_TRUE(KeepTheirBytes(blocks));
  FreeAll(pool, blocks);
}

TEST(OpPoolTest, ThreadsShareAPool) {
  OpPool pool;
  std::vector<Blocks> blocks(4);
  std::vector<std::thread> threads;
  for (Blocks& own : blocks) {
    threads.emplace_back([&pool, &own] {
      for (int round = 0; round < 3; ++round) FreeAll(pool, AllocateMany(pool, 1000));
      own = AllocateMany(pool, 1000);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Blocks& own : blocks) EXPECT_TRUE(KeepTheirBytes(own));
  EXPECT_GT(pool.bytes_in_use(), 0u);
  // Freed by another thread than the one that allocated.
  for (const Blocks& own : blocks) FreeAll(pool, own);
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

TEST(OpPoolTest, OneThreadUsesManyPools) {
  for (int round = 0; round < 3; ++round) {
    OpPool a, b;
    Blocks of_a, of_b;
    for (int i = 0; i < 300; ++i) {
      of_a.emplace_back(a.Allocate(112), 112);
      of_b.emplace_back(b.Allocate(64), 64);
    }
    EXPECT_EQ(a.bytes_in_use(), 300u * 112);
    EXPECT_EQ(b.bytes_in_use(), 300u * 64);
    FreeAll(a, of_a);
    EXPECT_EQ(a.bytes_in_use(), 0u);
    EXPECT_EQ(b.bytes_in_use(), 300u * 64);
    FreeAll(b, of_b);
  }
}

TEST(OpPoolTest, ThreadsComeAndGo) {
  OpPool pool;
  Blocks blocks = AllocateMany(pool, 100);
  for (int i = 0; i < 20; ++i) {
    std::thread([&] {
      FreeAll(pool, blocks);
      blocks = AllocateMany(pool, 100);
    }).join();
  }
  EXPECT_TRUE(KeepTheirBytes(blocks));
  FreeAll(pool, blocks);
  EXPECT_EQ(pool.bytes_in_use(), 0u);
}

}  // namespace
}  // namespace tenon
