// A set of storages, each of other contents. Internal to ir/core.
#ifndef TENON_IR_CORE_CONTEXT_INTERN_TABLE_H_
#define TENON_IR_CORE_CONTEXT_INTERN_TABLE_H_

#include <algorithm>
#include <array>
#include <mutex>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "ir/core/context/storage_pool.h"

namespace tenon {

// Interns storages by their contents. Addresses are stable. Thread-safe; contents are shared out so
// that threads seldom wait for each other.
//
// `Storage` has members `size_t hash`, `bool mark` and `size_t bytes() const`, its whole size. A
// `Storage::Key` has `size_t Hash() const`, `bool Matches(const Storage&) const`, and `payload`:
// bytes that are copied to behind the storage.
template <typename Storage>
class InternTable {
 public:
  InternTable() = default;
  InternTable(const InternTable&) = delete;
  InternTable& operator=(const InternTable&) = delete;
  ~InternTable() {
    for (Shard& shard : shards_) {
      for (Storage* storage : shard.unique) shard.End(storage);
      // The pool takes back what needs no more than that.
      if (std::is_trivially_destructible_v<Storage> && !shard.pool.has_unpooled()) continue;
      for (Storage* storage : shard.table) shard.End(storage);
    }
  }

  // `make` fills a new storage, behind which the payload lies. It must not use the table.
  template <typename Make>
  const Storage* GetOrCreate(const typename Storage::Key& key, Make&& make) {
    const Probe probe{key, key.Hash()};
    Shard& shard = shards_[probe.hash >> kHashShift];
    const std::lock_guard<std::mutex> lock(shard.mutex);
    const auto it = shard.table.find(probe, probe.hash);
    if (it != shard.table.end()) return *it;
    auto* const storage = new (shard.pool.Allocate(sizeof(Storage) + key.payload.size())) Storage();
    std::copy_n(key.payload.data(), key.payload.size(), reinterpret_cast<char*>(storage + 1));
    storage->hash = probe.hash;
    make(*storage);
    shard.table.insert(storage);
    return storage;
  }
  // A storage that equal contents do not share, of a class derived from Storage.
  template <typename Derived, typename Make>
  const Derived* CreateUnique(Make&& make) {
    Shard& shard = shards_[0];
    const std::lock_guard<std::mutex> lock(shard.mutex);
    auto* const storage = new (shard.pool.Allocate(sizeof(Derived))) Derived();
    make(*storage);
    shard.unique.push_back(storage);
    return storage;
  }

  // Destroys the storages without a mark and takes the marks of the others away. Calls
  // `before(storage)` for those that go. Requires that no other thread uses the table.
  template <typename Before>
  size_t Sweep(Before&& before) {
    size_t count = 0;
    for (Shard& shard : shards_) {
      const auto goes = [&](const Storage& storage) {
        if (storage.mark) {
          storage.mark = false;
          return false;
        }
        before(storage);
        ++count;
        return true;
      };
      shard.Sweep(goes);
    }
    return count;
  }
  // Bytes that the storages take, and their index.
  size_t reserved_bytes() {
    size_t total = 0;
    for (Shard& shard : shards_) {
      const std::lock_guard<std::mutex> lock(shard.mutex);
      total += shard.pool.reserved_bytes() + shard.table.capacity() * (sizeof(void*) + 1);
    }
    return total;
  }

 private:
  struct Probe {
    const typename Storage::Key& key;
    size_t hash;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Storage* storage) const { return storage->hash; }
    size_t operator()(const Probe& probe) const { return probe.hash; }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const Storage* a, const Storage* b) const { return a == b; }
    bool operator()(const Storage* a, const Probe& b) const {
      return a->hash == b.hash && b.key.Matches(*a);
    }
    bool operator()(const Probe& a, const Storage* b) const { return (*this)(b, a); }
  };
  struct alignas(64) Shard {
    // Destroys the storages for which `goes` is true.
    template <typename Goes>
    void Sweep(Goes&& goes) {
      std::vector<StoragePool::Freed> freed;
      const auto destroy = [&](Storage* storage) {
        freed.emplace_back(reinterpret_cast<std::byte*>(storage), storage->bytes());
        Storage::Destroy(storage);
      };
      // A set of its own, as sets that lose elements keep their memory.
      absl::flat_hash_set<Storage*, Hash, Equal> kept;
      for (Storage* storage : table) {
        if (goes(*storage)) {
          destroy(storage);
        } else {
          kept.insert(storage);
        }
      }
      table = std::move(kept);
      std::erase_if(unique, [&](Storage* storage) {
        const bool gone = goes(*storage);
        if (gone) destroy(storage);
        return gone;
      });
      pool.Free(std::move(freed));
    }
    // Destroys a storage whose pool ends too.
    void End(Storage* storage) {
      const size_t bytes = storage->bytes();
      Storage::Destroy(storage);
      pool.FreeUnpooled(storage, bytes);
    }
    std::mutex mutex;
    absl::flat_hash_set<Storage*, Hash, Equal> table;
    std::vector<Storage*> unique;
    StoragePool pool;
  };
  // The uppermost bits of the hash, as the tables use the lowest ones.
  static constexpr size_t kShardBits = 4, kHashShift = sizeof(size_t) * 8 - kShardBits;
  std::array<Shard, size_t{1} << kShardBits> shards_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_INTERN_TABLE_H_
