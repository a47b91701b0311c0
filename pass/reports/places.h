// Places of a program, found by what they consist of instead of by comparing each with each.
#ifndef TENON_PASS_REPORTS_PLACES_H_
#define TENON_PASS_REPORTS_PLACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

namespace tenon {

// Numbered places, each of which consists of keys: operations, or names of nodes. Not thread-safe.
template <typename Key>
class Places {
 public:
  // Of a key that more places have, the first ones are found. This bounds the cost of a key that
  // all places share.
  static constexpr size_t kMostOfAKey = 16;

  // Adds the place `number`. Places are added in order of their numbers.
  void Add(size_t number, const std::vector<Key>& keys) {
    for (const Key& key : keys) {
      std::vector<size_t>& places = places_[key];
      ++steps_;
      if (places.size() < kMostOfAKey && (places.empty() || places.back() != number))
        places.push_back(number);
    }
  }

  // Returns the places that share keys with these, by number, and how many keys they share. `keys`
  // has no repeats.
  std::map<size_t, size_t> Sharing(const std::vector<Key>& keys) const {
    std::map<size_t, size_t> sharing;
    for (const Key& key : keys) {
      ++steps_;
      const auto places = places_.find(key);
      if (places == places_.end()) continue;
      steps_ += static_cast<int64_t>(places->second.size());
      for (const size_t number : places->second) ++sharing[number];
    }
    return sharing;
  }

  // Keys and places that were looked at so far.
  int64_t steps() const { return steps_; }

 private:
  absl::flat_hash_map<Key, std::vector<size_t>> places_;  // looked up, never iterated
  mutable int64_t steps_ = 0;
};

}  // namespace tenon

#endif  // TENON_PASS_REPORTS_PLACES_H_
