// Softmax, norms, reductions, embeddings: ops over rows.
#include <algorithm>
#include <cmath>

#include "kernels/op_attrs.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

template <typename Attrs>
Generator Softmax() {
  return [](Random& random) {
    const Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.axis = random.Chance(70) ? static_cast<int64_t>(shape.size()) - 1
                                   : random.Int(0, shape.size() - 1);
    return Make({random.Floats(shape, -20, 20)}, {F32(shape)}, MakeAttrs(attrs));
  };
}

template <typename Attrs, bool kSkip, bool kBias>
Generator Norm() {
  return [](Random& random) {
    Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.axis = random.Int(0, shape.size() - 1);
    const Shape row(shape.begin() + attrs.axis, shape.end());
    std::vector<Tensor> inputs = {random.Floats(shape)};
    if (kSkip) {
      Shape skip = shape;
      for (int64_t i = 0; i < attrs.axis; ++i) {
        if (random.Chance(30)) skip[static_cast<size_t>(i)] = 1;
      }
      inputs.push_back(random.Floats(skip));
    }
    inputs.push_back(random.Chance(75) ? random.Floats(row) : Tensor());
    if (kBias) inputs.push_back(random.Chance(75) ? random.Floats(row) : Tensor());
    if (kSkip) inputs.push_back(random.Chance(50) ? random.Floats(row) : Tensor());
    std::vector<Tensor> outputs = {F32(shape)};
    if (kSkip) outputs.push_back(F32(shape));
    return Make(std::move(inputs), std::move(outputs), MakeAttrs(attrs));
  };
}

Case GroupNorm(Random& random) {
  Shape shape = random.RandomShape(2);
  nn::GroupNormAttrs attrs;
  attrs.groups = random.Int(1, 3);
  shape[1] = attrs.groups * random.Int(1, 4);
  const Shape c = {shape[1]};
  return Make({random.Floats(shape), random.Chance(70) ? random.Floats(c) : Tensor(),
               random.Chance(70) ? random.Floats(c) : Tensor()},
              {F32(shape)}, MakeAttrs(attrs));
}

Case FusedGroupNorm(Random& random) {
  Shape shape = random.RandomShape(2);
  fused::GroupNormAttrs attrs;
  SetActivation(random, attrs);
  attrs.groups = random.Int(1, 3);
  shape[1] = attrs.groups * random.Int(1, 4);
  const Shape c = {shape[1]};
  const bool skip = random.Chance(50);
  std::vector<Tensor> outputs = {F32(shape)};
  if (skip) outputs.push_back(F32(shape));
  return Make({random.Floats(shape), skip ? random.Floats(shape) : Tensor(),
               random.Chance(70) ? random.Floats(c) : Tensor(),
               random.Chance(70) ? random.Floats(c) : Tensor()},
              std::move(outputs), MakeAttrs(attrs));
}

Case MovedNorm(Random& random) {
  Shape shape = random.RandomShape(2);
  const int64_t rank = static_cast<int64_t>(shape.size());
  fused::MovedNormAttrs attrs;
  attrs.norm = static_cast<fused::MovedNormNorm>(random.Int(0, 1));
  Shape out = shape;
  Tensor index;
  std::vector<size_t> constant;
  if (random.Chance(50)) {
    attrs.axis = random.Int(0, rank - 2);
    int64_t& extent = shape[static_cast<size_t>(attrs.axis)];
    extent = std::max<int64_t>(extent, 1);
    int64_t& count = out[static_cast<size_t>(attrs.axis)];
    count = random.Chance(50) ? extent : random.Int(0, 9);
    index = random.Ints({count}, -extent, extent - 1);
    if (random.Chance(50) && count == extent) {  // each slice once
      for (int64_t i = 0; i < count; ++i) index.data<int64_t>()[i] = (i + 1) % count;
    }
    if (random.Chance(50)) constant = {1};
  } else {
    for (int64_t i = 0; i < rank - 1; ++i) attrs.perm.push_back(i);
    for (size_t i = attrs.perm.size(); i > 1; --i) {
      std::swap(attrs.perm[i - 1],
                attrs.perm[static_cast<size_t>(random.Int(0, static_cast<int64_t>(i) - 1))]);
    }
    attrs.perm.push_back(rank - 1);
    for (size_t i = 0; i < out.size(); ++i) out[i] = shape[static_cast<size_t>(attrs.perm[i])];
  }
  const Shape row = {shape.back()};
  const bool layer = attrs.norm == fused::MovedNormNorm::kLayer;
  const bool skip = random.Chance(50);
  std::vector<Tensor> outputs = {F32(out)};
  if (skip) outputs.push_back(F32(shape));
  return Make({random.Floats(shape), index, skip ? random.Floats(shape) : Tensor(),
               random.Chance(70) ? random.Floats(row) : Tensor(),
               layer && random.Chance(70) ? random.Floats(row) : Tensor(),
               skip && random.Chance(50) ? random.Floats(row) : Tensor()},
              std::move(outputs), MakeAttrs(attrs), constant);
}

Case Embedding(Random& random) {
  fused::EmbeddingAttrs attrs;
  attrs.norm = static_cast<fused::EmbeddingNorm>(random.Int(0, 2));
  const Shape outer = random.RandomShape(0, 2);
  const int64_t size = random.Extent();
  Shape out = outer;
  out.push_back(size);
  Shape added = BroadcastInput(random, outer);
  added.push_back(size);
  std::vector<Tensor> inputs = {random.Chance(50) ? random.Floats(added) : Tensor()};
  for (int i = 0; i < 2; ++i)
    inputs.push_back(random.Chance(60) ? random.Floats({size}) : Tensor());
  for (int64_t i = 0, tables = random.Int(1, 6); i < tables; ++i) {
    const int64_t rows = random.Int(1, 9);
    inputs.push_back(random.Ints(i == 0 ? outer : BroadcastInput(random, outer), -rows, rows - 1));
    inputs.push_back(random.Floats({rows, size}));
  }
  return Make(std::move(inputs), {F32(out), F32(out)}, MakeAttrs(attrs));
}

Case EmbeddingPool(Random& random) {
  fused::EmbeddingPoolAttrs attrs;
  const Shape ids = random.RandomShape(1, 3);
  attrs.axis = random.Int(0, static_cast<int64_t>(ids.size()) - 1);
  // The mean of nothing is NaN.
  attrs.mean = random.Chance(50) && ids[static_cast<size_t>(attrs.axis)] > 0;
  const int64_t rows = random.Int(1, 9), size = random.Extent();
  Shape out = ids;
  out.erase(out.begin() + attrs.axis);
  out.push_back(size);
  return Make({random.Ints(ids, -rows, rows - 1), random.Floats({rows, size})}, {F32(out)},
              MakeAttrs(attrs));
}

template <typename Attrs>
Generator Reduce() {
  return [](Random& random) {
    const Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.keepdims = random.Chance(50);
    Shape out;
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const bool reduced = random.Chance(50);
      if (reduced) attrs.axes.push_back(static_cast<int64_t>(axis));
      if (!reduced) out.push_back(shape[axis]);
      if (reduced && attrs.keepdims) out.push_back(1);
    }
    return Make({random.Floats(shape)}, {F32(out)}, MakeAttrs(attrs));
  };
}

template <typename Attrs>
Generator ArgReduce() {
  return [](Random& random) {
    Shape shape = random.RandomShape(1);
    Attrs attrs;
    attrs.axis = random.Int(0, static_cast<int64_t>(shape.size()) - 1);
    attrs.keepdims = true;
    attrs.select_last_index = random.Chance(50);
    auto& extent = shape[static_cast<size_t>(attrs.axis)];
    extent = std::max<int64_t>(extent, 1);
    // Whole numbers, so that some are equal.
    Tensor x = random.Floats(shape);
    for (int64_t i = 0; i < x.numel(); ++i) {
      x.data<float>()[i] = random.Chance(2) ? std::nanf("") : std::floor(x.data<float>()[i]);
    }
    extent = 1;
    return Make({x}, {Tensor(DType::kI64, shape)}, MakeAttrs(attrs));
  };
}

Case TopK(Random& random) {
  Shape shape = random.RandomShape(1);
  if (random.Chance(20)) shape.back() = random.Int(100, 1500);
  ten::TopkAttrs attrs;
  attrs.axis = random.Chance(80) ? static_cast<int64_t>(shape.size()) - 1 : 0;
  attrs.largest = random.Chance(50);
  // Whole numbers, so that some are equal.
  Tensor x = random.Floats(shape, -40, 40);
  const int64_t nans = random.Chance(40) ? 2 : 0;
  for (int64_t i = 0; i < x.numel(); ++i) {
    x.data<float>()[i] = random.Chance(nans) ? std::nanf("") : std::floor(x.data<float>()[i]);
  }
  int64_t& extent = shape[static_cast<size_t>(attrs.axis)];
  extent = random.Int(0, extent);
  return Make({x}, {F32(shape), Tensor(DType::kI64, shape)}, MakeAttrs(attrs));
}

Case CumSum(Random& random) {
  const Shape shape = random.RandomShape(1);
  ten::CumsumAttrs attrs;
  attrs.axis = random.Int(0, static_cast<int64_t>(shape.size()) - 1);
  attrs.exclusive = random.Chance(50);
  attrs.reverse = random.Chance(50);
  return Make({random.Floats(shape)}, {F32(shape)}, MakeAttrs(attrs));
}

}  // namespace

GeneratorsByOp RowCases() {
  return {
      {"fused.embedding", Embedding},
      {"fused.embedding_pool", EmbeddingPool},
      {"fused.group_norm", FusedGroupNorm},
      {"fused.moved_norm", MovedNorm},
      {"fused.skip_layer_norm", Norm<fused::SkipLayerNormAttrs, true, true>()},
      {"fused.skip_rms_norm", Norm<fused::SkipRmsNormAttrs, true, false>()},
      {"nn.group_norm", GroupNorm},
      {"nn.layer_norm", Norm<nn::LayerNormAttrs, false, true>()},
      {"nn.log_softmax", Softmax<nn::LogSoftmaxAttrs>()},
      {"nn.rms_norm", Norm<nn::RmsNormAttrs, false, false>()},
      {"nn.softmax", Softmax<nn::SoftmaxAttrs>()},
      {"ten.argmax", ArgReduce<ten::ArgmaxAttrs>()},
      {"ten.argmin", ArgReduce<ten::ArgminAttrs>()},
      {"ten.cumsum", CumSum},
      {"ten.reduce_l2", Reduce<ten::ReduceL2Attrs>()},
      {"ten.reduce_max", Reduce<ten::ReduceMaxAttrs>()},
      {"ten.reduce_mean", Reduce<ten::ReduceMeanAttrs>()},
      {"ten.reduce_min", Reduce<ten::ReduceMinAttrs>()},
      {"ten.reduce_prod", Reduce<ten::ReduceProdAttrs>()},
      {"ten.reduce_sum", Reduce<ten::ReduceSumAttrs>()},
      {"ten.topk", TopK},
  };
}

}  // namespace tenon::kernels::testing
