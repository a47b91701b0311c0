// The locations of a Context. Internal to ir/core.
#ifndef TENON_IR_CORE_CONTEXT_LOCATION_TABLE_H_
#define TENON_IR_CORE_CONTEXT_LOCATION_TABLE_H_

#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/node_hash_set.h"
#include "ir/core/location.h"

namespace tenon {

// Locations by number. Reading needs no lock. Numbers of freed locations are given out again.
class LocationTable {
 public:
  // Locations that the text of one writes out, and their levels.
  struct Extent {
    uint32_t size = 1, depth = 1;
  };
  LocationTable();
  ~LocationTable();
  LocationTable(const LocationTable&) = delete;
  LocationTable& operator=(const LocationTable&) = delete;

  // Each returns the number of a location, and 0 if the table is full. Equal locations are one,
  // with the exception of positions that are not `shared`. Text and parts are copied. The extent of
  // what is inside must fit (location_extent.h). Thread-safe.
  uint32_t AddPosition(std::string_view file, uint32_t line, uint32_t col, bool shared);
  uint32_t AddName(std::string_view name, Location child);  // no child: unknown
  uint32_t AddFused(std::span<const Location> parts);
  uint32_t AddCallSite(Location callee, Location caller);
  // What `location` consists of, without a lock. Valid until it is freed.
  const LocationData& Get(Location location) const { return At(location.id()); }
  // Of a location with these ones inside. Thread-safe.
  Extent ExtentOf(std::span<const Location> inside) const;
  // True at the first call after locations were refused.
  bool TakeOverflow() {
    return overflow_.load(std::memory_order_relaxed) &&
           !told_.exchange(true, std::memory_order_relaxed);
  }

  // Marks a location and its parts.
  void Mark(Location location, std::vector<bool>& marks) const;
  uint32_t size() const { return size_; }  // Numbers below this one may be in use.
  // Frees the locations without a mark. Returns their number. Requires that no other thread uses
  // the table.
  size_t Sweep(const std::vector<bool>& marks);
  size_t reserved_bytes() const;
  // At most `limit` locations from now on. For tests.
  void set_limit(uint32_t limit) { limit_ = limit; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(uint32_t id) const { return (*this)(table->At(id)); }
    size_t operator()(const LocationData& entry) const;
    const LocationTable* table;
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(uint32_t a, uint32_t b) const { return a == b; }
    bool operator()(uint32_t a, const LocationData& b) const { return Same(table->At(a), b); }
    const LocationTable* table;
  };

  static constexpr uint32_t kChunkBits = 12, kChunkMask = (1u << kChunkBits) - 1;
  static constexpr uint32_t kGroupBits = 10, kGroupMask = (1u << kGroupBits) - 1;
  using Chunk = std::array<LocationData, size_t{1} << kChunkBits>;
  using Group = std::array<std::atomic<Chunk*>, size_t{1} << kGroupBits>;

  const LocationData& At(uint32_t id) const {
    const Group* group = groups_[id >> (kChunkBits + kGroupBits)].load(std::memory_order_acquire);
    return (*(*group)[(id >> kChunkBits) & kGroupMask].load(
        std::memory_order_acquire))[id & kChunkMask];
  }
  static bool Same(const LocationData& a, const LocationData& b);
  // These require the mutex.
  std::atomic<Chunk*>& ChunkOf(uint32_t id);  // its group is made if there is none
  uint32_t Add(const LocationData& data);
  uint32_t AddShared(LocationData data);
  std::string_view Text(std::string_view text);
  Extent Inside(std::span<const Location> inside) const;

  mutable std::mutex mutex_;
  uint32_t size_ = 0;
  uint32_t limit_ = std::numeric_limits<uint32_t>::max();
  std::atomic<bool> overflow_ = false;  // a location was refused
  std::atomic<bool> told_ = false;      // TakeOverflow was true
  std::vector<uint32_t> free_;          // numbers below size_ in chunks that exist
  std::vector<uint32_t> free_chunks_;   // numbers of chunks that are not there
  std::array<std::atomic<Group*>, size_t{1} << (32 - kChunkBits - kGroupBits)> groups_ = {};
  absl::flat_hash_set<uint32_t, Hash, Equal> shared_;
  absl::flat_hash_map<uint32_t, Extent> extents_;  // of those with parts
  absl::node_hash_set<std::string> texts_;
  std::string_view last_text_;  // most positions are of one file
  // The position added last: consecutive ops at one position share it.
  LocationData last_;
  uint32_t last_id_ = 0;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_LOCATION_TABLE_H_
