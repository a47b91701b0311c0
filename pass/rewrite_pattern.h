// Rewrite patterns in C++, for what a rule cannot say. Rules and patterns run in one driver
// (drr/rewrite/driver.h).
#ifndef TENON_PASS_REWRITE_PATTERN_H_
#define TENON_PASS_REWRITE_PATTERN_H_

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "ir/core/rewrite/rewriter.h"

namespace tenon {

class ConversionPattern;

// Looks at one op, and rewrites it or leaves it. A pattern is constant and thread-safe: it keeps no
// state from one op to the next.
class RewritePattern {
 public:
  // `name` is for messages, counts and steps, and unique in a set. `root` is the full name of the
  // ops that the pattern is called for, such as "acme.scale"; empty for all ops. Of the patterns
  // and rules that fit an op, those of a higher benefit are tried first; rules have 0 by default.
  RewritePattern(std::string name, std::string root, int benefit = 0)
      : name_(std::move(name)), root_(std::move(root)), benefit_(benefit) {}
  virtual ~RewritePattern() = default;
  RewritePattern(const RewritePattern&) = delete;
  RewritePattern& operator=(const RewritePattern&) = delete;

  // Returns true if it has changed the IR, and false if it has not: look first, change afterwards.
  // All changes go through `rewriter`, whose insertion point is before `op`. The driver takes an
  // answer that does not fit the changes as an error. So is a status; it must have been emitted
  // (EmitError does both).
  virtual absl::StatusOr<bool> Rewrite(Operation* op, Rewriter& rewriter) const = 0;

  // This pattern as one of a dialect conversion (pass/conversion); null for all others.
  virtual const ConversionPattern* AsConversionPattern() const { return nullptr; }

  const std::string& name() const { return name_; }  // for messages, counts and steps
  const std::string& root() const { return root_; }  // a name of ops; empty for all
  int benefit() const { return benefit_; }           // higher is tried first

 private:
  std::string name_, root_;
  int benefit_;
};

// A pattern for the ops of the generated class `Op`.
template <typename Op>
class OpRewritePattern : public RewritePattern {
 public:
  // `name` and `benefit` as for RewritePattern.
  explicit OpRewritePattern(std::string name, int benefit = 0)
      : RewritePattern(std::move(name), std::string(Op::kName), benefit) {}
  // RewritePattern::Rewrite.
  virtual absl::StatusOr<bool> RewriteOp(Op op, Rewriter& rewriter) const = 0;

 private:
  absl::StatusOr<bool> Rewrite(Operation* op, Rewriter& rewriter) const final {
    return RewriteOp(Op(op), rewriter);
  }
};

// The patterns of one run, ordered. Const functions are thread-safe.
class PatternSet {
 public:
  // The body of a pattern without a class of its own.
  using Function = std::function<absl::StatusOr<bool>(Operation* op, Rewriter& rewriter)>;

  // Adds a pattern. Ends the program for a name that the set has.
  void Add(std::unique_ptr<const RewritePattern> pattern);
  // Adds a pattern of the class `Pattern`, made of `args`.
  template <typename Pattern, typename... Args>
  void Add(Args&&... args) {
    Add(std::make_unique<const Pattern>(std::forward<Args>(args)...));
  }
  // Adds a pattern that calls `function`.
  void Add(std::string name, std::string root, Function function, int benefit = 0);

  bool empty() const { return patterns_.empty(); }  // true without patterns
  // All patterns, in the order in which they were added.
  std::span<const std::unique_ptr<const RewritePattern>> patterns() const { return patterns_; }
  // The patterns for ops with this id: those of a higher benefit first, then in the order in which
  // they were added. Valid until a pattern is added.
  std::span<const RewritePattern* const> PatternsFor(OpId id) const;

 private:
  std::vector<std::unique_ptr<const RewritePattern>> patterns_;
  std::vector<const RewritePattern*> for_all_;
  absl::flat_hash_map<OpId, std::vector<const RewritePattern*>> by_root_;  // with those for all
};

}  // namespace tenon

#endif  // TENON_PASS_REWRITE_PATTERN_H_
