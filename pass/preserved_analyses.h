// Which analyses are still right after a pass.
#ifndef TENON_PASS_PRESERVED_ANALYSES_H_
#define TENON_PASS_PRESERVED_ANALYSES_H_

#include <algorithm>
#include <vector>

namespace tenon {

// The identity of a type, which needs no RTTI: the address of an object that each type has. Two
// shared libraries that hide their symbols may give one type two identities.
using TypeId = const void*;
// What TypeIdOf points at.
template <typename T>
struct TypeTag {
  inline static char tag = 0;  // never read
};
// Returns the identity of T.
template <typename T>
TypeId TypeIdOf() {
  return &TypeTag<T>::tag;
}

// A set of types of analyses (analysis_manager.h). It is empty at first.
class PreservedAnalyses {
 public:
  // All analyses, also those of operations inside. A pass that erases an operation with regions
  // must not say this.
  static PreservedAnalyses All() {
    PreservedAnalyses all;
    all.all_ = true;
    return all;
  }
  // The analyses that are named: PreservedAnalyses::Of<DominanceInfo>().
  template <typename... Analyses>
  static PreservedAnalyses Of() {
    PreservedAnalyses some;
    (some.some_.push_back(TypeIdOf<Analyses>()), ...);
    return some;
  }
  // True for All().
  bool all() const { return all_; }
  // True if the analysis is in the set.
  bool Has(TypeId analysis) const {
    return all_ || std::find(some_.begin(), some_.end(), analysis) != some_.end();
  }
  // The same of a class.
  template <typename Analysis>
  bool Has() const {
    return Has(TypeIdOf<Analysis>());
  }
  // Keeps what `other` has too.
  void Intersect(const PreservedAnalyses& other) {
    if (other.all_) return;
    if (all_) {
      *this = other;
      return;
    }
    std::erase_if(some_, [&](TypeId analysis) { return !other.Has(analysis); });
  }

 private:
  bool all_ = false;
  std::vector<TypeId> some_;
};

}  // namespace tenon

#endif  // TENON_PASS_PRESERVED_ANALYSES_H_
