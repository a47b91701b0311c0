#include "pass/rewrite_pattern.h"

#include <algorithm>

#include "ir/base/check.h"

namespace tenon {
namespace {

// Behind all patterns of the same or a higher benefit.
void Insert(std::vector<const RewritePattern*>& patterns, const RewritePattern* pattern) {
  const auto at = std::upper_bound(
      patterns.begin(), patterns.end(), pattern,
      [](const RewritePattern* a, const RewritePattern* b) { return a->benefit() > b->benefit(); });
  patterns.insert(at, pattern);
}

class FunctionPattern : public RewritePattern {
 public:
  FunctionPattern(std::string name, std::string root, PatternSet::Function function, int benefit)
      : RewritePattern(std::move(name), std::move(root), benefit), function_(std::move(function)) {}
  absl::StatusOr<bool> Rewrite(Operation* op, Rewriter& rewriter) const override {
    return function_(op, rewriter);
  }

 private:
  PatternSet::Function function_;
};

}  // namespace

void PatternSet::Add(std::unique_ptr<const RewritePattern> pattern) {
  for (const auto& known : patterns_)
    TENON_CHECK_MSG(known->name() != pattern->name(), known->name());
  if (pattern->root().empty()) {
    Insert(for_all_, pattern.get());
    for (auto& [root, patterns] : by_root_) Insert(patterns, pattern.get());
  } else {
    const auto [at, added] = by_root_.try_emplace(HashOpName(pattern->root()), for_all_);
    Insert(at->second, pattern.get());
  }
  patterns_.push_back(std::move(pattern));
}

void PatternSet::Add(std::string name, std::string root, Function function, int benefit) {
  Add(std::make_unique<const FunctionPattern>(std::move(name), std::move(root), std::move(function),
                                              benefit));
}

std::span<const RewritePattern* const> PatternSet::PatternsFor(OpId id) const {
  const auto at = by_root_.find(id);
  return at == by_root_.end() ? for_all_ : at->second;
}

}  // namespace tenon
