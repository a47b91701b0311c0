#include "ir/core/context/location_table.h"

#include <algorithm>
#include <utility>

#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"

namespace tenon {

using Kind = Location::Kind;

LocationTable::LocationTable() : shared_(0, Hash{this}, Equal{this}) {
  Add(LocationData());  // the unknown location
}

LocationTable::~LocationTable() {
  for (std::atomic<Group*>& slot : groups_) {
    Group* const group = slot.load();
    if (group == nullptr) continue;
    for (std::atomic<Chunk*>& chunk_slot : *group) {
      Chunk* const chunk = chunk_slot.load();
      if (chunk == nullptr) continue;
      for (const LocationData& data : *chunk) delete[] data.parts.data();
      delete chunk;
    }
    delete group;
  }
}

size_t LocationTable::Hash::operator()(const LocationData& data) const {
  size_t hash = absl::HashOf(data.kind, data.text.data(), data.line, data.col);
  for (const Location part : data.parts) hash = absl::HashOf(hash, part.id());
  return hash;
}

bool LocationTable::Same(const LocationData& a, const LocationData& b) {
  return a.kind == b.kind && a.text.data() == b.text.data() && a.line == b.line && a.col == b.col &&
         std::ranges::equal(a.parts, b.parts);
}

LocationTable::Extent LocationTable::Inside(std::span<const Location> inside) const {
  Extent whole;
  for (const Location part : inside) {
    const auto found = extents_.find(part.id());
    const Extent extent = found == extents_.end() ? Extent() : found->second;
    whole.size += extent.size;
    whole.depth = std::max(whole.depth, extent.depth + 1);
  }
  return whole;
}

LocationTable::Extent LocationTable::ExtentOf(std::span<const Location> inside) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return Inside(inside);
}

// The text that equal ones share.
std::string_view LocationTable::Text(std::string_view text) {
  if (text.empty()) return {};
  if (last_text_ == text) return last_text_;
  const absl::string_view key(text.data(), text.size());
  auto it = texts_.find(key);
  if (it == texts_.end()) it = texts_.emplace(key).first;
  return last_text_ = *it;
}

std::atomic<LocationTable::Chunk*>& LocationTable::ChunkOf(uint32_t id) {
  std::atomic<Group*>& slot = groups_[id >> (kChunkBits + kGroupBits)];
  Group* group = slot.load(std::memory_order_relaxed);
  if (group == nullptr) {
    group = new Group{};
    slot.store(group, std::memory_order_release);
  }
  return (*group)[(id >> kChunkBits) & kGroupMask];
}

uint32_t LocationTable::Add(const LocationData& data) {
  if (free_.empty() && !free_chunks_.empty()) {
    const uint32_t first = free_chunks_.back() << kChunkBits;
    free_chunks_.pop_back();
    ChunkOf(first).store(new Chunk, std::memory_order_release);
    for (uint32_t i = kChunkMask + 1; i > 0; --i) free_.push_back(first + i - 1);
  }
  uint32_t id = size_;
  if (!free_.empty()) {
    id = free_.back();
    free_.pop_back();
  } else if (size_ >= limit_) {
    overflow_.store(true, std::memory_order_relaxed);
    return 0;
  } else {
    ++size_;
  }
  std::atomic<Chunk*>& slot = ChunkOf(id);
  Chunk* chunk = slot.load(std::memory_order_relaxed);
  if (chunk == nullptr) slot.store(chunk = new Chunk, std::memory_order_release);
  (*chunk)[id & kChunkMask] = data;
  return id;
}

uint32_t LocationTable::AddShared(LocationData data) {
  const auto found = shared_.find(data);
  if (found != shared_.end()) return *found;
  const std::span<const Location> parts = std::exchange(data.parts, {});
  if (!parts.empty()) {
    auto* const copy = new Location[parts.size()];
    std::ranges::copy(parts, copy);
    data.parts = {copy, parts.size()};
  }
  const uint32_t id = Add(data);
  if (id == 0) {
    delete[] data.parts.data();
    return id;
  }
  shared_.insert(id);
  if (!parts.empty()) extents_.emplace(id, Inside(parts));
  return id;
}

uint32_t LocationTable::AddPosition(std::string_view file, uint32_t line, uint32_t col,
                                    bool shared) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const LocationData data{Kind::kFileLineCol, Text(file), line, col, {}};
  if (last_id_ != 0 && Same(last_, data)) return last_id_;
  last_ = data;
  return last_id_ = shared ? AddShared(data) : Add(data);
}

uint32_t LocationTable::AddName(std::string_view name, Location child) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::span<const Location> parts(&child, child.is_unknown() ? 0 : 1);
  return AddShared({Kind::kName, Text(name), 0, 0, parts});
}

uint32_t LocationTable::AddFused(std::span<const Location> parts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return AddShared({Kind::kFused, {}, 0, 0, parts});
}

uint32_t LocationTable::AddCallSite(Location callee, Location caller) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Location both[] = {callee, caller};
  return AddShared({Kind::kCallSite, {}, 0, 0, both});
}

void LocationTable::Mark(Location location, std::vector<bool>& marks) const {
  if (marks[location.id()]) return;
  marks[location.id()] = true;
  // As deep as the text of a location, which is bounded.
  for (const Location part : At(location.id()).parts) Mark(part, marks);
}

size_t LocationTable::Sweep(const std::vector<bool>& marks) {
  const std::lock_guard<std::mutex> lock(mutex_);
  last_id_ = 0;
  last_text_ = {};
  overflow_ = told_ = false;
  absl::flat_hash_set<uint32_t, Hash, Equal> kept(0, Hash{this}, Equal{this});
  for (const uint32_t id : shared_) {
    if (marks[id]) kept.insert(id);
  }
  shared_ = std::move(kept);
  const std::vector<uint32_t> free_before = std::move(free_);
  const size_t missing = free_chunks_.size() << kChunkBits;
  free_.clear();
  free_chunks_.clear();
  absl::flat_hash_set<const char*> texts;
  size_t unused = 0;
  for (uint64_t at = 0; at < size_; at += kChunkMask + 1) {
    const auto first = static_cast<uint32_t>(at);
    std::atomic<Chunk*>& slot = ChunkOf(first);
    Chunk* const chunk = slot.load(std::memory_order_relaxed);
    const uint32_t count = std::min(size_ - first, kChunkMask + 1);
    if (chunk == nullptr) {
      free_chunks_.push_back(first >> kChunkBits);
      unused += count;
      continue;
    }
    const size_t free_here = free_.size();
    for (uint32_t i = 0; i < count; ++i) {
      // The unknown location stays.
      if (first + i == 0) continue;
      LocationData& data = (*chunk)[i];
      if (marks[first + i]) {
        if (!data.text.empty()) texts.insert(data.text.data());
        continue;
      }
      if (!data.parts.empty()) extents_.erase(first + i);
      delete[] data.parts.data();
      data = LocationData();
      free_.push_back(first + i);
    }
    unused += free_.size() - free_here;
    if (free_.size() - free_here <= kChunkMask) continue;
    free_.resize(free_here);
    slot.store(nullptr, std::memory_order_relaxed);
    delete chunk;
    free_chunks_.push_back(first >> kChunkBits);
  }
  // The smallest numbers are given out first.
  std::reverse(free_.begin(), free_.end());
  std::reverse(free_chunks_.begin(), free_chunks_.end());
  for (auto it = texts_.begin(); it != texts_.end();) {
    if (texts.contains(it->data())) {
      ++it;
    } else {
      texts_.erase(it++);
    }
  }
  return unused - free_before.size() - missing;
}

size_t LocationTable::reserved_bytes() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  size_t chunks = 0;
  for (uint64_t first = 0; first < size_; first += kChunkMask + 1) ++chunks;
  size_t total = (chunks - free_chunks_.size()) * sizeof(Chunk);
  for (const std::string& text : texts_) total += sizeof(text) + text.capacity();
  return total + shared_.capacity() * (sizeof(uint32_t) + 1) +
         extents_.capacity() * (sizeof(uint32_t) + sizeof(Extent) + 1);
}

}  // namespace tenon
