// What few objects have, beside them. Internal to ir/core.
#ifndef TENON_IR_CORE_CONTEXT_SIDE_TABLE_H_
#define TENON_IR_CORE_CONTEXT_SIDE_TABLE_H_

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tenon {

// Maps addresses to values. Entries of neighbours lie together: programs are made, printed and
// destroyed in the order of their addresses, which a hash of each address would scatter over
// memory. Not thread-safe.
template <typename T>
class SideTable {
 public:
  // Objects of one page share a list.
  static uintptr_t PageOf(const void* key) { return reinterpret_cast<uintptr_t>(key) >> kPageBits; }

  // Null if there is no entry. Valid until the next change.
  T* Find(const void* key) {
    const auto page = pages_.find(PageOf(key));
    if (page == pages_.end()) return nullptr;
    const auto at = Place(page->second, key);
    return at != page->second.end() && at->first == key ? &at->second : nullptr;
  }
  // The entry of `key`, which is made if there is none.
  T& operator[](const void* key) {
    Page& page = pages_[PageOf(key)];
    auto at = Place(page, key);
    if (at == page.end() || at->first != key) at = page.emplace(at, key, T());
    return at->second;
  }
  void Erase(const void* key) {
    const auto page = pages_.find(PageOf(key));
    if (page == pages_.end()) return;
    const auto at = Place(page->second, key);
    if (at == page->second.end() || at->first != key) return;
    page->second.erase(at);
    if (page->second.empty()) pages_.erase(page);
  }

 private:
  static constexpr int kPageBits = 13;
  using Page = std::vector<std::pair<const void*, T>>;  // sorted by address
  static typename Page::iterator Place(Page& page, const void* key) {
    // Most often behind all others, or the last one.
    if (page.empty() || page.back().first < key) return page.end();
    return std::lower_bound(page.begin(), page.end(), key,
                            [](const auto& entry, const void* at) { return entry.first < at; });
  }

  absl::flat_hash_map<uintptr_t, Page> pages_;
};

}  // namespace tenon

#endif  // TENON_IR_CORE_CONTEXT_SIDE_TABLE_H_
