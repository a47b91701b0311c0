// The position of a match's result, and the operations that must move there.
#ifndef TENON_DRR_REWRITE_PLACEMENT_H_
#define TENON_DRR_REWRITE_PLACEMENT_H_

#include <string>
#include <vector>

#include "drr/match/matcher.h"

namespace tenon::drr {

// Works on one successful match, which must not change meanwhile.
class Placement {
 public:
  explicit Placement(const Matcher& match) : match_(match), rule_(match.rule()) {}

  // Finds a position. Returns the reason if there is none; empty otherwise.
  std::string Find();
  // New operations are inserted before this one.
  Operation* before() const { return before_; }

  // Makes an existing value usable in the result: it must stay and be computed before the position,
  // or be able to move there. Returns the reason if it cannot be.
  std::string Provide(Value value);
  // Operations that must move before the position, each after those it needs.
  const std::vector<Operation*>& moved() const { return moved_; }

 private:
  bool IsReplaced(Value value) const;
  std::vector<Operation*> Staying() const;
  bool MakeAvailable(Value value, size_t depth = 0);

  const Matcher& match_;
  const CompiledRule& rule_;
  Operation* before_ = nullptr;
  std::vector<Operation*> moved_;
};

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_PLACEMENT_H_
