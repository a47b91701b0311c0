// The operands of nn.tree_ensemble, and what must hold of their values.
#ifndef TENON_KERNELS_CALLS_TREE_CALL_H_
#define TENON_KERNELS_CALLS_TREE_CALL_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/checked_index.h"
#include "kernels/kernel.h"

namespace tenon::kernels {

// The tables of an ensemble. Nodes are the branches, followed by the leaves.
struct TreeCall {
  enum Operand : uint8_t { kX, kBranches, kSplits, kLeaves, kTargets, kWeights, kRoots };
  enum Test : uint8_t { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual };

  // A row of `branches`.
  struct Branch {
    int64_t feature, test, nan_is_yes, yes, no;
  };

  explicit TreeCall(std::span<const TensorView> operands)
      : inputs(operands),
        branches(operands[kBranches].as<Branch>()),
        leaves(operands[kLeaves].as<int64_t>()),
        targets(operands[kTargets].as<int64_t>()),
        roots(operands[kRoots].as<int64_t>()),
        num_branches(operands[kBranches].shape[0]),
        num_leaves(operands[kLeaves].numel() - 1),
        num_weights(operands[kWeights].numel()),
        num_roots(operands[kRoots].numel()) {}

  // Returns an error for tables that do not fit one another, and for branches that compare other
  // features than the first `features`. Sets `order` to the branches, each before what is below it.
  KernelStatus Check(int64_t features, int64_t num_targets, std::vector<int64_t>& order) const;

  std::span<const TensorView> inputs;
  const Branch* branches;
  const int64_t *leaves, *targets, *roots;
  int64_t num_branches, num_leaves, num_weights, num_roots;

 private:
  KernelStatus CheckNumbers(int64_t features, int64_t num_targets) const;
};

inline KernelStatus TreeCall::CheckNumbers(int64_t features, int64_t num_targets) const {
  KernelStatus status;
  const auto check = [&](const char* what, int64_t i, int64_t value, int64_t count) {
    if (value >= 0 && value < count) return true;
    status = KernelStatus::Invalid(std::string(what) + " " + std::to_string(i) + " is " +
                                   std::to_string(value) + ExpectedRange<int64_t>(0, count - 1));
    return false;
  };
  const int64_t nodes = num_branches + num_leaves;
  for (int64_t i = 0; i < num_branches; ++i) {
    const Branch& b = branches[i];
    if (!check("the feature of branch", i, b.feature, features) ||
        !check("the test of branch", i, b.test, kNotEqual + 1) ||
        !check("the side for NaN of branch", i, b.nan_is_yes, 2) ||
        !check("yes of branch", i, b.yes, nodes) || !check("no of branch", i, b.no, nodes)) {
      return status;
    }
  }
  for (int64_t i = 0; i <= num_leaves; ++i) {
    if (!check("the first weight of leaf", i, leaves[i], num_weights + 1)) return status;
    if (i > 0 && leaves[i] < leaves[i - 1]) {
      return KernelStatus::Invalid("leaf " + std::to_string(i - 1) + " has weights " +
                                   std::to_string(leaves[i - 1]) + " to " +
                                   std::to_string(leaves[i]) + " (expected 0 or more)");
    }
  }
  for (int64_t i = 0; i < num_weights; ++i) {
    if (!check("the target of weight", i, targets[i], num_targets)) return status;
  }
  for (int64_t i = 0; i < num_roots; ++i) {
    if (!check("root", i, roots[i], nodes)) return status;
  }
  return KernelStatus::Ok();
}

inline KernelStatus TreeCall::Check(int64_t features, int64_t num_targets,
                                    std::vector<int64_t>& order) const {
  if (num_leaves < 0 || inputs[kBranches].shape[1] != 5 ||
      inputs[kSplits].numel() != num_branches || inputs[kTargets].numel() != num_weights) {
    return KernelStatus::Invalid(
        "the tables of the trees do not fit (expected a split and five numbers for each branch, a "
        "target for each weight, and an element of leaves behind the last leaf)");
  }
  if (KernelStatus status = CheckNumbers(features, num_targets); !status.ok()) return status;
  std::vector<int64_t> above(static_cast<size_t>(num_branches));
  const auto for_sides = [&](int64_t i, auto&& f) {
    for (const int64_t side : {branches[i].yes, branches[i].no}) {
      if (side < num_branches) f(side);
    }
  };
  for (int64_t i = 0; i < num_branches; ++i) {
    for_sides(i, [&](int64_t side) { ++above[static_cast<size_t>(side)]; });
  }
  order.clear();
  for (int64_t i = 0; i < num_branches; ++i) {
    if (above[static_cast<size_t>(i)] == 0) order.push_back(i);
  }
  for (size_t next = 0; next < order.size(); ++next) {
    for_sides(order[next], [&](int64_t side) {
      if (--above[static_cast<size_t>(side)] == 0) order.push_back(side);
    });
  }
  if (static_cast<int64_t>(order.size()) == num_branches) return KernelStatus::Ok();
  return KernelStatus::Invalid("a branch of a tree is below itself (expected none)");
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_TREE_CALL_H_
