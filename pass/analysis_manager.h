// Analyses: what passes compute about an operation, kept until a pass changes what they are about.
#ifndef TENON_PASS_ANALYSIS_MANAGER_H_
#define TENON_PASS_ANALYSIS_MANAGER_H_

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/core/operation.h"
#include "pass/preserved_analyses.h"

namespace tenon {

// Computes analyses of an operation, and of operations inside of it, and keeps them. The pass
// manager makes one for each run and hands it to passes (PassContext::analyses). Copies share what
// is kept. One thread at a time uses a manager; managers of different functions are independent.
//
// An analysis is any class that can be made from (Operation*, AnalysisManager&), from an Operation*
// or from nothing. It must not change the IR. The first form may ask for other analyses and keep
// references to them: it is dropped together with them. If the class has a function
//   bool IsInvalidated(const PreservedAnalyses& preserved) const;
// then this says whether it is dropped. Otherwise it is, unless the pass preserves its type.
class AnalysisManager {
 public:
  // For analyses of `root` and of what is inside of it.
  explicit AnalysisManager(Operation* root);

  // Returns the analysis of `op`, which is made if there is none. The reference is valid until a
  // pass that does not preserve it has changed `op`, something around it or something inside of it.
  // Requires that `op` is the root or lies inside of it; ends the program otherwise.
  template <typename Analysis>
  Analysis& Get(Operation* op) {
    if (Analysis* known = Find<Analysis>(op)) return *known;
    building_.emplace_back();
    std::unique_ptr<Holder<Analysis>> made = std::make_unique<Holder<Analysis>>(op, *this);
    Analysis& analysis = made->analysis;
    Keep(op, TypeIdOf<Analysis>(), std::move(made));
    return analysis;
  }
  // Returns the analysis of `op` if there is one; null otherwise. Requires the same.
  template <typename Analysis>
  Analysis* Find(Operation* op) {
    AnyHolder* const found = FindRaw(op, TypeIdOf<Analysis>());
    return found == nullptr ? nullptr : &static_cast<Holder<Analysis>*>(found)->analysis;
  }

  // Drops what a change of `op` has made stale, except what `preserved` has: analyses of `op`, of
  // what is around it, and all of operations inside of it. The pass manager calls it after each
  // pass. A pass calls it before it asks again for an analysis that its own changes made stale.
  void Invalidate(Operation* op, const PreservedAnalyses& preserved = {});
  // The same for what is around `op` alone: what is about `op` itself is right.
  void InvalidateAround(Operation* op, const PreservedAnalyses& preserved);
  // Returns a manager for `op`, which may be asked for nothing outside of it. Requires what Get
  // requires.
  AnalysisManager Nested(Operation* op);

 private:
  struct Node;
  struct AnyHolder {
    virtual ~AnyHolder() = default;
    virtual bool IsStale(TypeId type, const PreservedAnalyses& preserved) const = 0;
    std::vector<TypeId> needs;  // other analyses that it may refer to
  };
  template <typename Analysis>
  struct Holder : AnyHolder {
    Holder(Operation* op, AnalysisManager& manager) : analysis(Make(op, manager)) {}
    static Analysis Make([[maybe_unused]] Operation* op,
                         [[maybe_unused]] AnalysisManager& manager) {
      if constexpr (std::is_constructible_v<Analysis, Operation*, AnalysisManager&>) {
        return Analysis(op, manager);
      } else if constexpr (std::is_constructible_v<Analysis, Operation*>) {
        return Analysis(op);
      } else {
        return Analysis();
      }
    }
    bool IsStale(TypeId type, const PreservedAnalyses& preserved) const override {
      if constexpr (requires {
                      { analysis.IsInvalidated(preserved) } -> std::convertible_to<bool>;
                    }) {
        return analysis.IsInvalidated(preserved);
      } else {
        return !preserved.Has(type);
      }
    }
    Analysis analysis;
  };

  AnyHolder* FindRaw(Operation* op, TypeId type);
  void Keep(Operation* op, TypeId type, std::unique_ptr<AnyHolder> made);
  // The ops from below the root to `op`, the outermost first.
  std::vector<Operation*> PathTo(Operation* op) const;

  std::shared_ptr<Node> root_;
  // For each analysis that is being made, the innermost last: the analyses that it has asked for.
  std::vector<std::vector<TypeId>> building_;
};

}  // namespace tenon

#endif  // TENON_PASS_ANALYSIS_MANAGER_H_
