// TreeEnsemble and its older forms: the trees as tables of nn.tree_ensemble.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "frontends/onnx/ops/ml/forest.h"
#include "frontends/onnx/ops/ml/scores.h"
#include "ir/dialect/nn_ops.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx::ml {
namespace {

// Are nodes part of a tree?
std::vector<bool> Reached(const Forest& forest) {
  std::vector<bool> reached(forest.nodes.size());
  std::vector<int64_t> open = forest.roots;
  while (!open.empty()) {
    const auto at = static_cast<size_t>(open.back());
    open.pop_back();
    if (reached[at]) continue;
    reached[at] = true;
    const Forest::Node& node = forest.nodes[at];
    if (!node.is_leaf) open.insert(open.end(), {node.branch.yes, node.branch.no});
  }
  return reached;
}

// Returns [rows, targets]: the sums, or what the forest's aggregate says, of the weights of the
// leaves that each row reaches.
Value Scores(Formula& f, Node& node, const Forest& forest, Value x) {
  // Branches come first in the tables, leaves behind them.
  const std::vector<bool> reached = Reached(forest);
  std::vector<int64_t> places(forest.nodes.size());
  int64_t count = 0;
  for (const bool is_leaf : {false, true}) {
    for (size_t i = 0; i < places.size(); ++i) {
      if (reached[i] && forest.nodes[i].is_leaf == is_leaf) places[i] = count++;
    }
  }
  const auto place = [&](int64_t i) { return places[static_cast<size_t>(i)]; };
  std::vector<int64_t> branches, leaves = {0}, targets, roots;
  std::vector<double> splits, weights;
  for (size_t i = 0; i < places.size(); ++i) {
    if (!reached[i]) continue;
    const Forest::Node& each = forest.nodes[i];
    if (each.is_leaf) {
      for (const Forest::Weight& weight : each.weights) {
        targets.push_back(weight.target);
        weights.push_back(weight.value);
      }
      leaves.push_back(static_cast<int64_t>(weights.size()));
      continue;
    }
    const Forest::Branch& branch = each.branch;
    branches.insert(branches.end(),
                    {branch.feature, static_cast<int64_t>(branch.mode),
                     branch.missing_is_true ? 1 : 0, place(branch.yes), place(branch.no)});
    splits.push_back(branch.split);
  }
  for (const int64_t root : forest.roots) roots.push_back(place(root));

  const DType dtype = x.type().dtype();
  const auto numbers = [&](const std::vector<double>& values) {
    const auto count = static_cast<int64_t>(values.size());
    return Table(f, node, dtype, std::span(&count, 1), values);
  };
  const auto ints = [&](const std::vector<int64_t>& values) {
    const auto count = static_cast<int64_t>(values.size());
    return Table(f, node, std::span(&count, 1), values);
  };
  constexpr const char* kAggregates[] = {"sum", "average", "min", "max"};
  const int64_t dims[] = {static_cast<int64_t>(splits.size()), 5};
  return f.Make<nn::TreeEnsembleOp>(
      x, Table(f, node, dims, branches), numbers(splits), ints(leaves), ints(targets),
      numbers(weights), ints(roots),
      nn::TreeEnsembleOp::Attrs{.num_targets = forest.targets,
                                .aggregate = kAggregates[static_cast<size_t>(forest.aggregate)]});
}

absl::Status CheckForest(const Node& node, const Forest& forest, Value x) {
  if (const DimExpr columns = x.type().dim(1);
      columns.is_constant() && columns.constant() < forest.features) {
    return node.Error(fmt::format("{} compares feature {}, but its input is {}", node.op_type(),
                                  forest.features - 1, node.input(0).type().text()));
  }
  const auto leaves = std::count_if(forest.nodes.begin(), forest.nodes.end(),
                                    [](const Forest::Node& each) { return each.is_leaf; });
  if (forest.targets < 1 || leaves == 0) {
    return node.Error(fmt::format("{} has {} targets and {} leaves (expected 1 or more of each)",
                                  node.op_type(), forest.targets, leaves));
  }
  return absl::OkStatus();
}

// The scores of a forest plus the base values, of which there are none, one or one a target.
absl::StatusOr<Value> BasedScores(Formula& f, Node& node, const Forest& forest, Value x,
                                  std::span<const double> base) {
  TENON_RETURN_IF_ERROR(CheckForest(node, forest, x));
  Value scores = Scores(f, node, forest, x);
  if (!base.empty()) {
    const auto count = static_cast<int64_t>(base.size());
    if (count != 1 && count != forest.targets) {
      return node.Error(fmt::format("base_values of {} has {} elements, expected 1 or {}",
                                    node.op_type(), count, forest.targets));
    }
    scores = f.Add(scores, Table(f, node, x.type().dtype(), std::span(&count, 1), base));
  }
  if (!f.ok()) return f.status();
  return scores;
}

absl::StatusOr<std::vector<double>> BaseValues(const Node& node) {
  TENON_ASSIGN_OR_RETURN(const auto base, Numbers(node, "base_values"));
  return base ? *base : std::vector<double>();
}

// What a classifier of two labels gives whose leaves have weights of one class only. A score of the
// first class stands for both. Beside one of the second class, that of the first is 0.
absl::Status ReturnBinary(Formula& f, Node& node, const Labels& labels, PostTransform transform,
                          Value s, bool of_second, bool all_positive) {
  TENON_RETURN_IF_ERROR(ReturnLabels(f, node, labels, IsAbove(f, s, all_positive ? 0.5 : 0.0)));
  if (!of_second) return f.Return(ScoresOfTwo(f, transform, s, all_positive), 1);
  const Value zeros = f.Expand(f.Scalar(DType::kF32, 0), {s.type().dim(0), f.One()});
  const Value parts[] = {zeros, s};
  const Value both = f.Make<ten::ConcatOp>(parts, ten::ConcatOp::Attrs{.axis = 1});
  return f.Return(Transformed(f, transform, both), 1);
}

}  // namespace

absl::Status ImportMlTreeEnsembleRegressor(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const int64_t targets, node.Int("n_targets", 1));
  TENON_ASSIGN_OR_RETURN(const Forest forest, ReadOldForest(node, false, targets));
  TENON_ASSIGN_OR_RETURN(const Value x, Rows(f, node));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> base, BaseValues(node));
  TENON_ASSIGN_OR_RETURN(const Value scores, BasedScores(f, node, forest, x, base));
  return f.Return(Transformed(f, transform, f.Cast(scores, DType::kF32)));
}

absl::Status ImportMlTreeEnsembleClassifier(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(node, "classlabels_int64s"));
  TENON_ASSIGN_OR_RETURN(Forest forest, ReadOldForest(node, true, labels.count));
  TENON_ASSIGN_OR_RETURN(const Value x, Rows(f, node));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> base, BaseValues(node));
  std::set<int64_t> classes;
  bool all_positive = true;
  for (const Forest::Node& each : forest.nodes) {
    for (const Forest::Weight& weight : each.weights) {
      classes.insert(weight.target);
      all_positive &= weight.value >= 0;
    }
  }
  const bool binary = labels.count == 2 && classes.size() == 1;
  const bool of_second = binary && *classes.begin() == 1;
  // ONNX leaves open what base values say of two labels, unless the only score has one.
  if (labels.count == 2 && base.size() > (binary && !of_second ? 1u : 0u)) {
    return node.Unsupported(fmt::format("{} of two labels with base_values", node.op_type()),
                            "weights of the first label alone and one base value");
  }
  if (binary && !of_second && transform == PostTransform::kProbit) {
    return node.Unsupported(fmt::format("{} of one score with PROBIT", node.op_type()),
                            "weights of both labels");
  }
  if (binary) {
    forest.targets = 1;
    for (Forest::Node& each : forest.nodes) {
      for (Forest::Weight& weight : each.weights) weight.target = 0;
    }
  }
  TENON_ASSIGN_OR_RETURN(Value scores, BasedScores(f, node, forest, x, base));
  scores = f.Cast(scores, DType::kF32);
  if (binary) {
    return ReturnBinary(f, node, labels, transform, scores, of_second, all_positive);
  }
  TENON_RETURN_IF_ERROR(ReturnLabels(f, node, labels, Largest(f, scores)));
  return f.Return(Transformed(f, transform, scores), 1);
}

absl::Status ImportMlTreeEnsemble(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  // The numbers of PostTransform are those of the attribute.
  TENON_ASSIGN_OR_RETURN(const int64_t transform, node.Int("post_transform", 0));
  if (transform < 0 || transform > static_cast<int64_t>(PostTransform::kProbit)) {
    return node.Error(
        fmt::format("TreeEnsemble has the post_transform {} (expected 0 to 4)", transform));
  }
  TENON_ASSIGN_OR_RETURN(const Forest forest, ReadForest(node));
  TENON_ASSIGN_OR_RETURN(const Value x, Rows(f, node));
  TENON_ASSIGN_OR_RETURN(const Value scores, BasedScores(f, node, forest, x, {}));
  return f.Return(Transformed(f, static_cast<PostTransform>(transform), scores));
}

}  // namespace tenon::onnx::ml
