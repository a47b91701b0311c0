// Calls of decision trees and of non-maximum suppression.
#include <limits>

#include "kernels/calls/box_suppression.h"
#include "kernels/calls/tree_call.h"
#include "kernels/op_attrs.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

// One of few numbers, so that features are often equal to a split.
double TreeNumber(Random& random) {
  constexpr double kSpecial[] = {0.0, -0.0, std::numeric_limits<double>::infinity(),
                                 -std::numeric_limits<double>::infinity(),
                                 std::numeric_limits<double>::quiet_NaN()};
  if (random.Chance(15)) return kSpecial[random.Int(0, 4)];
  return static_cast<double>(random.Int(-8, 8)) / 4;
}

Tensor Reals(DType dtype, const std::vector<double>& values, Shape shape) {
  Tensor t(dtype, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kF64) {
      t.data<double>()[i] = values[i];
    } else {
      t.data<float>()[i] = static_cast<float>(values[i]);
    }
  }
  return t;
}

// Random trees. Branches lead to later branches or to leaves, which several may share.
Case TreeEnsemble(Random& random) {
  const DType dtype = random.Chance(70) ? DType::kF32 : DType::kF64;
  const int64_t features = random.Int(1, 9), targets = random.Chance(60) ? 1 : random.Int(2, 5);
  const int64_t count = random.Chance(10) ? 0 : random.Int(1, 60), leaves = random.Int(1, 20);
  const bool one_test = random.Chance(50), one_weight = random.Chance(60);
  const int64_t test = random.Int(0, 5);
  std::vector<int64_t> branches, first_weights = {0}, weight_targets, roots;
  std::vector<double> splits, weights;
  for (int64_t i = 0; i < count; ++i) {
    const auto side = [&] {
      const bool is_leaf = i + 1 == count || random.Chance(40);
      return is_leaf ? count + random.Int(0, leaves - 1)
                     : random.Int(i + 1, std::min(count - 1, i + 4));
    };
    const int64_t yes = side(), no = side();
    branches.insert(branches.end(),
                    {random.Int(0, features - 1), one_test ? test : random.Int(0, 5),
                     random.Chance(30) ? 1 : 0, yes, no});
    splits.push_back(TreeNumber(random));
  }
  for (int64_t i = 0; i < leaves; ++i) {
    for (int64_t n = one_weight ? 1 : random.Int(0, 4); n > 0; --n) {
      weight_targets.push_back(random.Int(0, targets - 1));
      weights.push_back(random.Float());
    }
    first_weights.push_back(static_cast<int64_t>(weights.size()));
  }
  for (int64_t n = random.Chance(5) ? 0 : random.Int(1, 20); n > 0; --n) {
    roots.push_back(random.Int(0, count + leaves - 1));
  }
  const int64_t rows = random.Chance(20) ? random.Int(0, 3) : random.Int(1, 200);
  std::vector<double> x;
  for (int64_t i = 0; i < rows * features; ++i) x.push_back(TreeNumber(random));
  nn::TreeEnsembleAttrs attrs;
  attrs.num_targets = targets;
  attrs.aggregate = static_cast<nn::TreeEnsembleAggregate>(random.Int(0, 3));
  const auto length = [](const auto& values) { return Shape{static_cast<int64_t>(values.size())}; };
  return Make({Reals(dtype, x, {rows, features}), Tensor::Of(Shape{count, 5}, branches),
               Reals(dtype, splits, {count}), Tensor::Of(length(first_weights), first_weights),
               Tensor::Of(length(weight_targets), weight_targets),
               Reals(dtype, weights, length(weights)), Tensor::Of(length(roots), roots)},
              {Tensor(dtype, {rows, targets})}, MakeAttrs(attrs), {1, 2, 3, 4, 5, 6});
}

// Boxes of few sizes at few places, with few scores.
Case NonMaxSuppression(Random& random) {
  const int64_t images = random.Int(1, 2), classes = random.Int(1, 3);
  const int64_t count = random.Chance(5) ? 0 : random.Int(1, 300);
  Tensor boxes = random.Floats({images, count, 4}, 0, random.Chance(50) ? 4 : 20);
  for (int64_t i = 0; i < boxes.numel(); ++i) {
    if (random.Chance(50)) boxes.data<float>()[i] = static_cast<float>(random.Int(0, 9));
  }
  Tensor scores = random.Floats({images, classes, count}, 0, 1);
  for (int64_t i = 0; i < scores.numel(); ++i) {
    float& score = scores.data<float>()[i];
    if (random.Chance(30)) score = static_cast<float>(random.Int(-1, 4)) / 4;
    if (random.Chance(2)) score = std::numeric_limits<float>::quiet_NaN();
  }
  const int64_t most = random.Chance(20) ? random.Int(-1, 3) : random.Int(1, 500);
  std::vector<Tensor> inputs = {
      std::move(boxes), std::move(scores), Tensor::Of(Shape{1}, std::vector<int64_t>{most}),
      Tensor::Of(Shape{1}, std::vector<float>{random.Float(0, 1)}),
      random.Chance(50) ? Tensor()
                        : Tensor::Of(Shape{1}, std::vector<float>{random.Float(-0.5f, 1)})};
  nn::NonMaxSuppressionAttrs attrs;
  attrs.center_point_box = random.Chance(50);
  std::vector<TensorView> views;
  for (Tensor& input : inputs) views.push_back(input.view());
  std::vector<SelectedBox> selected;
  const bool ok = SelectBoxes(views, attrs.center_point_box, selected).ok();
  const int64_t rows = ok ? static_cast<int64_t>(selected.size()) : 0;
  return Make(std::move(inputs), {Tensor(DType::kI64, {rows, 3})}, MakeAttrs(attrs));
}

}  // namespace

GeneratorsByOp SelectionCases() {
  return {{"nn.non_max_suppression", NonMaxSuppression}, {"nn.tree_ensemble", TreeEnsemble}};
}

}  // namespace tenon::kernels::testing
