// Ensembles of decision trees as operators of ai.onnx.ml.
#include <algorithm>
#include <optional>

#include "frontends/onnx/export/lowering.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/nn_ops.h"

namespace tenon::onnx {
namespace {

constexpr int64_t kColumns = 5;  // of `branches`: feature, test, side for NaN, yes, no

// The tables of the operation, which are constants.
struct Trees {
  // nullopt if one is not constant.
  static std::optional<Trees> Of(const nn::TreeEnsembleOp& op) {
    Trees trees;
    Attribute* const to[] = {&trees.branches, &trees.splits,  &trees.leaves,
                             &trees.targets,  &trees.weights, &trees.roots};
    const Value from[] = {op.branches(), op.splits(),  op.leaves(),
                          op.targets(),  op.weights(), op.roots()};
    for (size_t i = 0; i < std::size(to); ++i) {
      const Operation* constant = from[i].defining_op();
      if (constant == nullptr || constant->id() != core::ConstantOp::kId) return std::nullopt;
      *to[i] = constant->attr("value");
    }
    trees.num_branches = trees.splits.type().num_elements();
    trees.num_leaves = trees.leaves.type().num_elements() - 1;
    trees.num_roots = trees.roots.type().num_elements();
    return trees;
  }

  int64_t Column(int64_t branch, int64_t column) const {
    return branches.ElementAsInt(branch * kColumns + column);
  }
  int64_t Yes(int64_t branch) const { return Column(branch, 3); }
  int64_t No(int64_t branch) const { return Column(branch, 4); }
  bool HasBranch(int64_t node) const { return node >= 0 && node < num_branches; }
  bool HasNode(int64_t node) const { return node >= 0 && node < num_branches + num_leaves; }

  // The nodes of a tree: the root, then branches and leaves by number. nullopt if there is a wrong
  // one, or one that is reached on two ways, also from trees before: `seen` has a flag for each.
  std::optional<std::vector<int64_t>> Nodes(int64_t root, std::vector<bool>& seen) const;

  Attribute branches, splits, leaves, targets, weights, roots;
  int64_t num_branches = 0, num_leaves = 0, num_roots = 0;
};

std::optional<std::vector<int64_t>> Trees::Nodes(int64_t root, std::vector<bool>& seen) const {
  std::vector<int64_t> nodes, open = {root};
  while (!open.empty()) {
    const int64_t node = open.back();
    open.pop_back();
    if (!HasNode(node) || seen[static_cast<size_t>(node)]) return std::nullopt;
    seen[static_cast<size_t>(node)] = true;
    nodes.push_back(node);
    if (HasBranch(node)) open.insert(open.end(), {Yes(node), No(node)});
  }
  std::sort(nodes.begin() + 1, nodes.end());
  return nodes;
}

std::string Upper(std::string_view text) {
  std::string upper(text);
  for (char& c : upper) c = static_cast<char>(c - 'a' + 'A');
  return upper;
}

// TreeEnsembleRegressor of version 3, whose nodes belong to one tree each. False if a node does
// not, or if numbers are not f32.
bool AsRegressor(Lowering& l, const nn::TreeEnsembleOp& op, const Trees& trees) {
  if (op.x().type().dtype() != DType::kF32) return false;
  constexpr const char* kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                    "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};
  std::vector<int64_t> tree_ids, node_ids, features, yes, no, missing;
  std::vector<int64_t> weight_trees, weight_nodes, weight_targets;
  std::vector<float> splits, weights;
  std::vector<Attribute> modes;
  std::vector<bool> seen(static_cast<size_t>(trees.num_branches + trees.num_leaves));
  for (int64_t tree = 0; tree < trees.num_roots; ++tree) {
    const auto nodes = trees.Nodes(trees.roots.ElementAsInt(tree), seen);
    if (!nodes) return false;
    for (const int64_t node : *nodes) {
      const bool is_branch = trees.HasBranch(node);
      const int64_t test = is_branch ? trees.Column(node, 1) : 0;
      if (test < 0 || test >= static_cast<int64_t>(std::size(kModes))) return false;
      tree_ids.push_back(tree);
      node_ids.push_back(node);
      modes.push_back(l.Str(is_branch ? kModes[test] : "LEAF"));
      features.push_back(is_branch ? trees.Column(node, 0) : 0);
      splits.push_back(is_branch ? static_cast<float>(trees.splits.ElementAsDouble(node)) : 0);
      missing.push_back(is_branch ? trees.Column(node, 2) : 0);
      yes.push_back(is_branch ? trees.Yes(node) : 0);
      no.push_back(is_branch ? trees.No(node) : 0);
      if (is_branch) continue;
      const int64_t leaf = node - trees.num_branches;
      for (int64_t i = trees.leaves.ElementAsInt(leaf); i < trees.leaves.ElementAsInt(leaf + 1);
           ++i) {
        if (i < 0 || i >= trees.weights.type().num_elements()) return false;
        weight_trees.push_back(tree);
        weight_nodes.push_back(node);
        weight_targets.push_back(trees.targets.ElementAsInt(i));
        weights.push_back(static_cast<float>(trees.weights.ElementAsDouble(i)));
      }
    }
  }
  l.Done(l.Node("ai.onnx.ml.TreeEnsembleRegressor", {op.x()},
                {{"aggregate_function", l.Str(Upper(op.aggregate()))},
                 {"n_targets", l.Int(op.num_targets())},
                 {"nodes_treeids", l.IntList(tree_ids)},
                 {"nodes_nodeids", l.IntList(node_ids)},
                 {"nodes_modes", Attribute::Array(l.context(), modes)},
                 {"nodes_featureids", l.IntList(features)},
                 {"nodes_values", Attribute::F32s(l.context(), splits)},
                 {"nodes_missing_value_tracks_true", l.IntList(missing)},
                 {"nodes_truenodeids", l.IntList(yes)},
                 {"nodes_falsenodeids", l.IntList(no)},
                 {"target_treeids", l.IntList(weight_trees)},
                 {"target_nodeids", l.IntList(weight_nodes)},
                 {"target_ids", l.IntList(weight_targets)},
                 {"target_weights", Attribute::F32s(l.context(), weights)}}));
  return true;
}

// TreeEnsemble of version 5, whose leaves have one weight each. False if one has not, or if a tree
// is a leaf.
bool AsEnsemble(Lowering& l, const nn::TreeEnsembleOp& op, const Trees& trees) {
  for (int64_t i = 0; i <= trees.num_leaves; ++i) {
    if (trees.leaves.ElementAsInt(i) != i) return false;
  }
  if (trees.weights.type().num_elements() != trees.num_leaves) return false;
  std::vector<int64_t> features, missing, sides[2], are_leaves[2], roots, targets;
  std::vector<uint8_t> modes;
  // Of ONNX: <=, <, >=, >, == and !=, as here; then membership.
  for (int64_t i = 0; i < trees.num_branches; ++i) {
    features.push_back(trees.Column(i, 0));
    modes.push_back(static_cast<uint8_t>(trees.Column(i, 1)));
    missing.push_back(trees.Column(i, 2));
    for (const int64_t which : {0, 1}) {
      const int64_t side = which == 0 ? trees.Yes(i) : trees.No(i);
      if (!trees.HasNode(side)) return false;
      are_leaves[which].push_back(trees.HasBranch(side) ? 0 : 1);
      sides[which].push_back(trees.HasBranch(side) ? side : side - trees.num_branches);
    }
  }
  for (int64_t i = 0; i < trees.num_roots; ++i) {
    roots.push_back(trees.roots.ElementAsInt(i));
    if (!trees.HasBranch(roots.back())) return false;
  }
  for (int64_t i = 0; i < trees.num_leaves; ++i) targets.push_back(trees.targets.ElementAsInt(i));
  constexpr const char* kAggregates[] = {"average", "sum", "min", "max"};
  const auto aggregate = std::find(std::begin(kAggregates), std::end(kAggregates), op.aggregate()) -
                         std::begin(kAggregates);
  const Type type = Type::Tensor(l.context(), DType::kU8, std::span(&trees.num_branches, 1));
  l.Done(l.Node(
      "ai.onnx.ml.TreeEnsemble", {op.x()},
      {{"aggregate_function", l.Int(aggregate)},
       {"n_targets", l.Int(op.num_targets())},
       {"nodes_featureids", l.IntList(features)},
       {"nodes_modes", Attribute::Elements(l.context(), type, std::as_bytes(std::span(modes)))},
       {"nodes_splits", trees.splits},
       {"nodes_missing_value_tracks_true", l.IntList(missing)},
       {"nodes_truenodeids", l.IntList(sides[0])},
       {"nodes_trueleafs", l.IntList(are_leaves[0])},
       {"nodes_falsenodeids", l.IntList(sides[1])},
       {"nodes_falseleafs", l.IntList(are_leaves[1])},
       {"tree_roots", l.IntList(roots)},
       {"leaf_targetids", l.IntList(targets)},
       {"leaf_weights", trees.weights}}));
  return true;
}

}  // namespace

bool LowerTrees(Lowering& l) {
  if (l.op().id() != nn::TreeEnsembleOp::kId) return false;
  const nn::TreeEnsembleOp op(&l.op());
  const std::optional<Trees> trees = Trees::Of(op);
  if (!trees) {
    l.Fail("its trees are no constants");
  } else if (!AsRegressor(l, op, *trees) && !AsEnsemble(l, op, *trees)) {
    l.Fail(
        "a node of its trees is shared or of another type than f32, and a leaf has not one weight "
        "(expected one or the other)");
  }
  return true;
}

}  // namespace tenon::onnx
