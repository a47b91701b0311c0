// Where the result of a match is put, and what has to move there with it.
#ifndef TENON_DRR_PLACEMENT_H_
#define TENON_DRR_PLACEMENT_H_

#include <string>
#include <vector>

#include "drr/matcher.h"

namespace tenon::drr {

// Of one successful match, which must stay as it is.
class Placement {
 public:
  explicit Placement(const Matcher& match) : match_(match), rule_(match.rule()) {}

  // Says why there is no place; empty if there is one.
  std::string Find();
  // New operations are inserted before this one.
  Operation* before() const { return before_; }

  // Makes an existing value one that the result may be or read: it must stay, and be computed
  // before the place or be able to move there. Says why it cannot be that.
  std::string Provide(Value value);
  // What computes such values too late, each after what it needs.
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

#endif  // TENON_DRR_PLACEMENT_H_
