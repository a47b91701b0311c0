// Finding hits of rules by their nodes and by what they made.
#ifndef TENON_PASS_REPORTS_HIT_INDEX_H_
#define TENON_PASS_REPORTS_HIT_INDEX_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace tenon {

struct RuleHit;

// An index of a list of hits that grows. Not thread-safe.
class HitIndex {
 public:
  // The position of no hit.
  static constexpr size_t kNone = static_cast<size_t>(-1);

  // Takes in the hits that were added to `hits` since the last call.
  void Update(const std::vector<RuleHit>& hits);
  // Returns the positions of the hits that matched `node`, in order.
  std::span<const size_t> At(std::string_view node) const;
  // The same from position `first` on.
  std::span<const size_t> At(std::string_view node, size_t first) const;

  // An op in a text, and who made it.
  struct Mention {
    size_t hit = kNone;  // the position of the hit; kNone if the text names no op that a hit made
    size_t end = 0;      // the end of the op in the text
  };
  // Returns the op in `text` that was made last. Ops are written as in RuleHit::made.
  Mention LastMade(std::string_view text) const;

  // Hits and words that were looked at so far.
  int64_t steps() const { return steps_; }

 private:
  size_t known_ = 0;  // hits
  absl::flat_hash_map<std::string, std::vector<size_t>> at_;
  absl::flat_hash_map<std::string, size_t> made_;  // the last hit that made it
  absl::flat_hash_set<std::string> ops_;           // names of ops that were made
  size_t longest_ = 0;                             // text in made_
  mutable int64_t steps_ = 0;
};

}  // namespace tenon

#endif  // TENON_PASS_REPORTS_HIT_INDEX_H_
