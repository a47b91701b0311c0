#include "ir/core/context/storage_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace tenon {
namespace {

// Each object keeps a byte of its own while others come and go.
TEST(StoragePoolTest, ObjectsDoNotOverlap) {
  StoragePool pool;
  std::mt19937 random(7);
  struct Object {
    std::byte* at;
    size_t bytes;
    std::byte fill;
  };
  std::vector<Object> objects;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 400; ++i) {
      const size_t bytes = 1 + random() % (i % 50 == 0 ? 4000 : 120);
      Object object{static_cast<std::byte*>(pool.Allocate(bytes)), bytes,
                    static_cast<std::byte>(random())};
      EXPECT_EQ(reinterpret_cast<uintptr_t>(object.at) % 8, 0u);
      std::memset(object.at, static_cast<int>(object.fill), bytes);
      objects.push_back(object);
    }
    std::shuffle(objects.begin(), objects.end(), random);
    std::vector<StoragePool::Freed> freed;
    for (size_t keep = objects.size() / (round % 3 + 2); objects.size() > keep;) {
      const Object& object = objects.back();
      EXPECT_EQ(std::count(object.at, object.at + object.bytes, object.fill),
                static_cast<std::ptrdiff_t>(object.bytes));
      freed.emplace_back(object.at, object.bytes);
      objects.pop_back();
    }
    pool.Free(std::move(freed));
  }
  std::vector<StoragePool::Freed> rest;
  for (const Object& object : objects) rest.emplace_back(object.at, object.bytes);
  pool.Free(std::move(rest));
  EXPECT_EQ(pool.reserved_bytes(), 0u);
  EXPECT_FALSE(pool.has_unpooled());
}

}  // namespace
}  // namespace tenon
