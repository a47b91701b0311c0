#include "frontends/onnx/ops/ml/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"

namespace tenon::onnx::ml {
namespace {

using Mode = Forest::Mode;
using Ids = std::vector<int64_t>;

constexpr std::string_view kModes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE",
                                       "BRANCH_GT",  "BRANCH_EQ", "BRANCH_NEQ"};

absl::Status CheckSize(const Node& node, std::string_view name, size_t found, size_t expected) {
  if (found == expected) return absl::OkStatus();
  return node.Error(
      fmt::format("{} of {} has {} elements, expected {}", name, node.op_type(), found, expected));
}

// The integers of an attribute that has as many elements as expected.
absl::StatusOr<Ids> ReadIds(const Node& node, std::string_view name, size_t expected) {
  TENON_ASSIGN_OR_RETURN(auto ids, node.Ints(name));
  if (!ids) ids.emplace();
  TENON_RETURN_IF_ERROR(CheckSize(node, name, ids->size(), expected));
  return *std::move(ids);
}

// The flags of nodes; all false if the attribute is absent.
absl::StatusOr<std::vector<bool>> ReadMissing(const Node& node, size_t nodes) {
  constexpr std::string_view kName = "nodes_missing_value_tracks_true";
  TENON_ASSIGN_OR_RETURN(const auto flags, node.Ints(kName));
  std::vector<bool> missing(nodes, false);
  if (!flags || flags->empty()) return missing;
  TENON_RETURN_IF_ERROR(CheckSize(node, kName, flags->size(), nodes));
  for (size_t i = 0; i < nodes; ++i) missing[i] = (*flags)[i] != 0;
  return missing;
}

absl::StatusOr<Forest::Aggregate> ReadAggregate(const Node& node) {
  TENON_ASSIGN_OR_RETURN(const std::string name, node.Str("aggregate_function", "SUM"));
  if (name == "SUM") return Forest::Aggregate::kSum;
  if (name == "AVERAGE") return Forest::Aggregate::kAverage;
  if (name == "MIN") return Forest::Aggregate::kMin;
  if (name == "MAX") return Forest::Aggregate::kMax;
  return node.Error(
      fmt::format("{} has the aggregate_function {} (expected SUM, AVERAGE, MIN or "
                  "MAX)",
                  node.op_type(), name));
}

// Fills features. An error for a cycle.
absl::Status Measure(const Node& node, Forest& forest) {
  constexpr int64_t kUnknown = -1, kOpen = -2;
  std::vector<int64_t> depth(forest.nodes.size(), kUnknown);
  for (const int64_t root : forest.roots) {
    std::vector<int64_t> path = {root};
    while (!path.empty()) {
      const auto at = static_cast<size_t>(path.back());
      const Forest::Node& current = forest.nodes[at];
      if (current.is_leaf) depth[at] = 0;
      if (depth[at] >= 0) {
        path.pop_back();
        continue;
      }
      const int64_t sides[] = {current.branch.yes, current.branch.no};
      const size_t before = path.size();
      for (const int64_t side : sides) {
        if (depth[side] == kUnknown) path.push_back(side);
        if (depth[side] == kOpen) {
          return node.Error(
              fmt::format("node {} of a tree of {} is below itself", side, node.op_type()));
        }
      }
      depth[at] = kOpen;
      if (path.size() > before) continue;
      depth[at] = 1 + std::max(depth[sides[0]], depth[sides[1]]);
      path.pop_back();
    }
  }
  for (const Forest::Node& each : forest.nodes) {
    if (each.is_leaf) continue;
    if (each.branch.feature < 0) {
      return node.Error(fmt::format("a tree of {} compares feature {} (expected 0 or more)",
                                    node.op_type(), each.branch.feature));
    }
    forest.features = std::max(forest.features, each.branch.feature + 1);
  }
  return absl::OkStatus();
}

absl::Status AddWeight(const Node& node, Forest& forest, int64_t at, int64_t target, double value) {
  if (target < 0 || target >= forest.targets) {
    return node.Error(fmt::format("a leaf of {} has the target {} (expected 0 to {})",
                                  node.op_type(), target, forest.targets - 1));
  }
  forest.nodes[static_cast<size_t>(at)].weights.push_back({target, value});
  return absl::OkStatus();
}

// Reads the attributes of TreeEnsemble. Branches and leaves have numbers of their own there.
class NewTrees {
 public:
  explicit NewTrees(const Node& node) : node_(node) {}
  absl::StatusOr<Forest> Read();

 private:
  absl::Status ReadLists();
  // The node of the forest for side `id`, which is a leaf or a branch.
  absl::StatusOr<int64_t> Side(int64_t id, int64_t is_leaf) const;
  // Makes a node of branch i, or a chain of them where it tests membership in a set.
  absl::Status AddBranch(size_t i);

  const Node& node_;
  Forest forest_;
  Ids feature_, yes_, no_, yes_is_leaf_, no_is_leaf_, roots_;
  std::vector<double> modes_, splits_, members_;
  std::vector<bool> missing_;
  size_t next_member_ = 0;
  int64_t leaves_ = 0;
};

absl::Status NewTrees::ReadLists() {
  TENON_ASSIGN_OR_RETURN(auto modes, TensorNumbers(node_, "nodes_modes"));
  TENON_ASSIGN_OR_RETURN(auto splits, TensorNumbers(node_, "nodes_splits"));
  if (!modes || !splits) return node_.Error("TreeEnsemble has no nodes_modes or no nodes_splits");
  modes_ = *std::move(modes);
  splits_ = *std::move(splits);
  const size_t count = modes_.size();
  TENON_RETURN_IF_ERROR(CheckSize(node_, "nodes_splits", splits_.size(), count));
  TENON_ASSIGN_OR_RETURN(feature_, ReadIds(node_, "nodes_featureids", count));
  TENON_ASSIGN_OR_RETURN(yes_, ReadIds(node_, "nodes_truenodeids", count));
  TENON_ASSIGN_OR_RETURN(no_, ReadIds(node_, "nodes_falsenodeids", count));
  TENON_ASSIGN_OR_RETURN(yes_is_leaf_, ReadIds(node_, "nodes_trueleafs", count));
  TENON_ASSIGN_OR_RETURN(no_is_leaf_, ReadIds(node_, "nodes_falseleafs", count));
  TENON_ASSIGN_OR_RETURN(missing_, ReadMissing(node_, count));
  TENON_ASSIGN_OR_RETURN(auto members, TensorNumbers(node_, "membership_values"));
  if (members) members_ = *std::move(members);
  TENON_ASSIGN_OR_RETURN(auto roots, node_.Ints("tree_roots"));
  if (!roots || roots->empty()) return node_.Error("TreeEnsemble has no tree_roots");
  roots_ = *std::move(roots);
  return absl::OkStatus();
}

// Branches are nodes 0 to branches - 1, leaves follow, then the links of chains.
absl::StatusOr<int64_t> NewTrees::Side(int64_t id, int64_t is_leaf) const {
  const auto branches = static_cast<int64_t>(modes_.size());
  const int64_t count = is_leaf != 0 ? leaves_ : branches;
  if (id < 0 || id >= count) {
    return node_.Error(fmt::format("a branch of TreeEnsemble leads to {} {} (expected 0 to {})",
                                   is_leaf != 0 ? "leaf" : "node", id, count - 1));
  }
  return is_leaf != 0 ? branches + id : id;
}

absl::Status NewTrees::AddBranch(size_t i) {
  constexpr int kMember = 6;
  const double mode = modes_[i];
  if (!(mode >= 0 && mode <= kMember)) {
    return node_.Error(
        fmt::format("a branch of TreeEnsemble has the mode {} (expected 0 to 6)", mode));
  }
  Forest::Branch branch;
  branch.feature = feature_[i];
  branch.split = splits_[i];
  branch.missing_is_true = missing_[i];
  TENON_ASSIGN_OR_RETURN(branch.yes, Side(yes_[i], yes_is_leaf_[i]));
  TENON_ASSIGN_OR_RETURN(branch.no, Side(no_[i], no_is_leaf_[i]));
  if (static_cast<int>(mode) != kMember) {
    branch.mode = static_cast<Mode>(static_cast<int>(mode));
    forest_.nodes[i].branch = branch;
    return absl::OkStatus();
  }
  // A NaN ends each set of members. A branch for each member leads on to that of the next one.
  std::vector<double> set;
  while (next_member_ < members_.size() && !std::isnan(members_[next_member_])) {
    set.push_back(members_[next_member_++]);
  }
  ++next_member_;
  branch.mode = Mode::kEqual;
  const int64_t otherwise = branch.no;
  size_t at = i;
  for (size_t k = 0; k < std::max<size_t>(set.size(), 1); ++k) {
    // An empty set has no members: nothing equals NaN.
    branch.split = set.empty() ? std::nan("") : set[k];
    branch.no = k + 1 < set.size() ? static_cast<int64_t>(forest_.nodes.size()) : otherwise;
    forest_.nodes[at].branch = branch;
    if (k + 1 < set.size()) {
      at = forest_.nodes.size();
      forest_.nodes.emplace_back();
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Forest> NewTrees::Read() {
  TENON_RETURN_IF_ERROR(ReadLists());
  TENON_ASSIGN_OR_RETURN(forest_.targets, node_.Int("n_targets", 1));
  TENON_ASSIGN_OR_RETURN(const int64_t aggregate, node_.Int("aggregate_function", 1));
  using Aggregate = Forest::Aggregate;
  constexpr Aggregate kOrder[] = {Aggregate::kAverage, Aggregate::kSum, Aggregate::kMin,
                                  Aggregate::kMax};
  if (aggregate < 0 || aggregate > 3) {
    return node_.Error(
        fmt::format("TreeEnsemble has the aggregate_function {} (expected 0 to 3)", aggregate));
  }
  forest_.aggregate = kOrder[aggregate];
  TENON_ASSIGN_OR_RETURN(const auto weights, TensorNumbers(node_, "leaf_weights"));
  TENON_ASSIGN_OR_RETURN(const auto targets, node_.Ints("leaf_targetids"));
  if (!weights || !targets || weights->empty()) return node_.Error("TreeEnsemble has no leaves");
  TENON_RETURN_IF_ERROR(CheckSize(node_, "leaf_targetids", targets->size(), weights->size()));
  const size_t branches = modes_.size();
  leaves_ = static_cast<int64_t>(weights->size());
  forest_.nodes.resize(branches + weights->size());
  for (size_t i = 0; i < weights->size(); ++i) {
    forest_.nodes[branches + i].is_leaf = true;
    TENON_RETURN_IF_ERROR(AddWeight(node_, forest_, static_cast<int64_t>(branches + i),
                                    (*targets)[i], (*weights)[i]));
  }
  for (size_t i = 0; i < branches; ++i) TENON_RETURN_IF_ERROR(AddBranch(i));
  for (const int64_t root : roots_) {
    TENON_ASSIGN_OR_RETURN(const int64_t at, Side(root, 0));
    forest_.roots.push_back(at);
  }
  TENON_RETURN_IF_ERROR(Measure(node_, forest_));
  return std::move(forest_);
}

}  // namespace

absl::StatusOr<Forest> ReadForest(const Node& node) {
  node.MarkRead("nodes_hitrates");
  return NewTrees(node).Read();
}

absl::StatusOr<Forest> ReadOldForest(const Node& node, bool classifier, int64_t targets) {
  for (const char* name : {"nodes_hitrates", "nodes_hitrates_as_tensor"}) node.MarkRead(name);
  Forest forest;
  forest.targets = targets;
  if (!classifier) {
    TENON_ASSIGN_OR_RETURN(forest.aggregate, ReadAggregate(node));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<std::string> modes, Strings(node, "nodes_modes"));
  const size_t count = modes.size();
  if (count == 0) return node.Error(fmt::format("{} has no nodes", node.op_type()));
  TENON_ASSIGN_OR_RETURN(const Ids trees, ReadIds(node, "nodes_treeids", count));
  TENON_ASSIGN_OR_RETURN(const Ids ids, ReadIds(node, "nodes_nodeids", count));
  TENON_ASSIGN_OR_RETURN(const Ids features, ReadIds(node, "nodes_featureids", count));
  TENON_ASSIGN_OR_RETURN(const Ids yes, ReadIds(node, "nodes_truenodeids", count));
  TENON_ASSIGN_OR_RETURN(const Ids no, ReadIds(node, "nodes_falsenodeids", count));
  TENON_ASSIGN_OR_RETURN(const std::vector<bool> missing, ReadMissing(node, count));
  TENON_ASSIGN_OR_RETURN(const auto splits, Numbers(node, "nodes_values"));
  TENON_RETURN_IF_ERROR(CheckSize(node, "nodes_values", splits ? splits->size() : 0, count));

  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  std::set<int64_t> seen;
  for (size_t i = 0; i < count; ++i) {
    if (!places.emplace(std::pair(trees[i], ids[i]), static_cast<int64_t>(i)).second) {
      return node.Error(
          fmt::format("{} has node {} of tree {} twice", node.op_type(), ids[i], trees[i]));
    }
    // A tree begins at the first of its nodes.
    if (seen.insert(trees[i]).second) forest.roots.push_back(static_cast<int64_t>(i));
  }
  const auto place = [&](int64_t tree, int64_t id) -> absl::StatusOr<int64_t> {
    const auto it = places.find({tree, id});
    if (it != places.end()) return it->second;
    return node.Error(fmt::format("{} has no node {} of tree {}", node.op_type(), id, tree));
  };
  forest.nodes.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Forest::Node& made = forest.nodes[i];
    if (modes[i] == "LEAF") {
      made.is_leaf = true;
      continue;
    }
    const auto* mode = std::find(std::begin(kModes), std::end(kModes), modes[i]);
    if (mode == std::end(kModes)) {
      return node.Error(fmt::format("a node of {} has the mode {} (expected LEAF, BRANCH_LEQ, …)",
                                    node.op_type(), modes[i]));
    }
    made.branch = {
        features[i], (*splits)[i], static_cast<Mode>(mode - std::begin(kModes)), missing[i], 0, 0};
    TENON_ASSIGN_OR_RETURN(made.branch.yes, place(trees[i], yes[i]));
    TENON_ASSIGN_OR_RETURN(made.branch.no, place(trees[i], no[i]));
  }

  const std::string part = classifier ? "class" : "target";
  TENON_ASSIGN_OR_RETURN(const auto weights, Numbers(node, part + "_weights"));
  const size_t leaves = weights ? weights->size() : 0;
  TENON_ASSIGN_OR_RETURN(const Ids of_tree, ReadIds(node, part + "_treeids", leaves));
  TENON_ASSIGN_OR_RETURN(const Ids of_node, ReadIds(node, part + "_nodeids", leaves));
  TENON_ASSIGN_OR_RETURN(const Ids target, ReadIds(node, part + "_ids", leaves));
  for (size_t i = 0; i < leaves; ++i) {
    TENON_ASSIGN_OR_RETURN(const int64_t at, place(of_tree[i], of_node[i]));
    TENON_RETURN_IF_ERROR(AddWeight(node, forest, at, target[i], (*weights)[i]));
  }
  TENON_RETURN_IF_ERROR(Measure(node, forest));
  return forest;
}

}  // namespace tenon::onnx::ml
