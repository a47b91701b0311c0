// TreeEnsemble and its older forms. All rows walk down all trees at once: a step gathers feature,
// split and sides of the nodes that rows have reached, so the model is ordinary tensor operations.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "frontends/onnx/ops/ml/forest.h"
#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx::ml {
namespace {

using Mode = Forest::Mode;
using Aggregate = Forest::Aggregate;

// The longest path that is read. A step of it is a handful of operations.
constexpr int64_t kMaxDepth = 4096;

class Walk {
 public:
  Walk(Formula& f, Node& node, const Forest& forest, Value x)
      : f_(f), node_(node), forest_(forest), x_(x), dtype_(x.type().dtype()) {}

  // Returns [rows, targets]: the sums, or what the forest's aggregate says, of the weights of the
  // leaves that each row reaches.
  Value Scores();

 private:
  // A constant of one element a node.
  template <typename Get>
  Value OfNodes(Get get);
  template <typename Get>
  Value NumbersOfNodes(Get get);
  Value Gather(Value table, Value index);
  Value Compare(Mode mode, Value a, Value b);
  // Returns whether each row takes the true side of the nodes it has reached.
  Value TakesTrue(Value reached);
  Value Reduce(Value weights);

  Formula& f_;
  Node& node_;
  const Forest& forest_;
  const Value x_;
  const DType dtype_;
  std::set<Mode> modes_;
  bool tracks_missing_ = false;
  Value feature_, split_, mode_, missing_;  // of each node
};

template <typename Get>
Value Walk::OfNodes(Get get) {
  std::vector<int64_t> values;
  for (const Forest::Node& each : forest_.nodes) values.push_back(get(each));
  const auto count = static_cast<int64_t>(values.size());
  return Table(f_, node_, std::span(&count, 1), values);
}

template <typename Get>
Value Walk::NumbersOfNodes(Get get) {
  std::vector<double> values;
  for (const Forest::Node& each : forest_.nodes) values.push_back(get(each));
  const auto count = static_cast<int64_t>(values.size());
  return Table(f_, node_, dtype_, std::span(&count, 1), values);
}

Value Walk::Gather(Value table, Value index) {
  return f_.Make<ten::GatherOp>(table, index, ten::GatherOp::Attrs{});
}

Value Walk::Compare(Mode mode, Value a, Value b) {
  switch (mode) {
    case Mode::kLessEqual:
      return f_.Make<ten::LessEqualOp>(a, b);
    case Mode::kLess:
      return f_.Make<ten::LessOp>(a, b);
    case Mode::kGreaterEqual:
      return f_.Make<ten::GreaterEqualOp>(a, b);
    case Mode::kGreater:
      return f_.Make<ten::GreaterOp>(a, b);
    case Mode::kEqual:
      return f_.Make<ten::EqualOp>(a, b);
    case Mode::kNotEqual:
      return f_.Make<ten::NotOp>(f_.Make<ten::EqualOp>(a, b));
  }
  return Value();
}

Value Walk::TakesTrue(Value reached) {
  const Value value = f_.Make<ten::GatherElementsOp>(x_, Gather(feature_, reached),
                                                     ten::GatherElementsOp::Attrs{.axis = 1});
  const Value split = Gather(split_, reached);
  Value result;
  for (const Mode mode : modes_) {
    Value here = Compare(mode, value, split);
    if (modes_.size() > 1) {
      const Value number = f_.Scalar(DType::kI64, static_cast<double>(mode));
      here = f_.And(here, f_.Make<ten::EqualOp>(Gather(mode_, reached), number));
    }
    result = result ? f_.Make<ten::OrOp>(result, here) : here;
  }
  if (tracks_missing_) {
    const Value tracked =
        f_.Make<ten::EqualOp>(Gather(missing_, reached), f_.Scalar(DType::kI64, 1));
    result = f_.Make<ten::OrOp>(result, f_.And(f_.Make<ten::IsNanOp>(value), tracked));
  }
  return result;
}

Value Walk::Reduce(Value weights) {
  const Value absent = f_.Scalar(dtype_, 0);
  const auto or_zero = [&](Value reduced) {
    const Value none = f_.Make<ten::IsInfOp>(reduced, ten::IsInfOp::Attrs{});
    return f_.Where(none, absent, reduced);
  };
  switch (forest_.aggregate) {
    case Aggregate::kMin:
      return or_zero(f_.Make<ten::ReduceMinOp>(
          weights, ten::ReduceMinOp::Attrs{.axes = {1}, .keepdims = false}));
    case Aggregate::kMax:
      return or_zero(f_.Make<ten::ReduceMaxOp>(
          weights, ten::ReduceMaxOp::Attrs{.axes = {1}, .keepdims = false}));
    case Aggregate::kSum:
    case Aggregate::kAverage:
      break;
  }
  const Value sum =
      f_.Make<ten::ReduceSumOp>(weights, ten::ReduceSumOp::Attrs{.axes = {1}, .keepdims = false});
  if (forest_.aggregate == Aggregate::kSum) return sum;
  return f_.Div(sum, f_.Scalar(dtype_, static_cast<double>(forest_.roots.size())));
}

Value Walk::Scores() {
  for (const Forest::Node& each : forest_.nodes) {
    if (each.is_leaf) continue;
    modes_.insert(each.branch.mode);
    tracks_missing_ |= each.branch.missing_is_true;
  }
  feature_ = OfNodes([](const Forest::Node& n) { return n.is_leaf ? 0 : n.branch.feature; });
  split_ = NumbersOfNodes([](const Forest::Node& n) { return n.is_leaf ? 0 : n.branch.split; });
  if (modes_.size() > 1) {
    mode_ = OfNodes([](const Forest::Node& n) { return static_cast<int64_t>(n.branch.mode); });
  }
  if (tracks_missing_) {
    missing_ = OfNodes([](const Forest::Node& n) { return n.branch.missing_is_true ? 1 : 0; });
  }
  // Leaves lead to themselves.
  int64_t self = 0;
  const Value yes =
      OfNodes([&](const Forest::Node& n) { return n.is_leaf ? self++ : (++self, n.branch.yes); });
  self = 0;
  const Value no =
      OfNodes([&](const Forest::Node& n) { return n.is_leaf ? self++ : (++self, n.branch.no); });

  const auto trees = static_cast<int64_t>(forest_.roots.size());
  const int64_t first[] = {1, trees};
  Value reached =
      f_.Expand(Table(f_, node_, first, forest_.roots), {x_.type().dim(0), node_.Dim(trees)});
  for (int64_t step = 0; step < forest_.depth && f_.ok(); ++step) {
    reached = f_.Where(TakesTrue(reached), Gather(yes, reached), Gather(no, reached));
  }

  // Weights of leaves alone, so that the table is small.
  int64_t leaves = 0;
  const Value leaf = OfNodes([&](const Forest::Node& n) { return n.is_leaf ? leaves++ : 0; });
  const double infinity = std::numeric_limits<double>::infinity();
  const double absent = forest_.aggregate == Aggregate::kMin   ? infinity
                        : forest_.aggregate == Aggregate::kMax ? -infinity
                                                               : 0.0;
  std::vector<double> weights(static_cast<size_t>(leaves * forest_.targets), absent);
  size_t row = 0;
  for (const Forest::Node& each : forest_.nodes) {
    if (!each.is_leaf) continue;
    for (const Forest::Weight& weight : each.weights) {
      double& place = weights[row + static_cast<size_t>(weight.target)];
      place = place == absent ? weight.value : place + weight.value;
    }
    row += static_cast<size_t>(forest_.targets);
  }
  const int64_t dims[] = {leaves, forest_.targets};
  return Reduce(Gather(Table(f_, node_, dtype_, dims, weights), Gather(leaf, reached)));
}

absl::Status CheckForest(const Node& node, const Forest& forest, Value x) {
  if (forest.depth > kMaxDepth) {
    return node.Unsupported(
        fmt::format("{} with a tree of {} levels", node.op_type(), forest.depth),
        fmt::format("at most {}", kMaxDepth));
  }
  if (const DimExpr columns = x.type().dim(1);
      columns.is_constant() && columns.constant() < forest.features) {
    return node.Error(fmt::format("{} compares feature {}, but its input is {}", node.op_type(),
                                  forest.features - 1, node.input(0).type().text()));
  }
  constexpr int64_t kMaxWeights = int64_t{1} << 31;
  int64_t leaves = 0;
  for (const Forest::Node& each : forest.nodes) leaves += each.is_leaf ? 1 : 0;
  if (forest.targets < 1 || leaves == 0 || forest.targets > kMaxWeights / leaves) {
    return node.Error(
        fmt::format("{} has {} targets and {} leaves (expected 1 or more, and fewer "
                    "than 2^31 weights)",
                    node.op_type(), forest.targets, leaves));
  }
  return absl::OkStatus();
}

// The scores of a forest plus the base values, of which there are none, one or one a target.
absl::StatusOr<Value> BasedScores(Formula& f, Node& node, const Forest& forest, Value x,
                                  std::span<const double> base) {
  TENON_RETURN_IF_ERROR(CheckForest(node, forest, x));
  Value scores = Walk(f, node, forest, x).Scores();
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
