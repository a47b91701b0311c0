// Data movement.
#include <algorithm>
#include <cstdlib>

#include "kernels/op_attrs.h"
#include "kernels/shape.h"
#include "tests/kernels/cases.h"

namespace tenon::kernels::testing {
namespace {

Case Pad(Random& random) {
  const Shape x = random.RandomShape();
  ten::PadAttrs attrs;
  // An empty axis has no elements to pad with.
  if (random.Chance(60) && std::find(x.begin(), x.end(), 0) == x.end()) {
    attrs.mode = static_cast<ten::PadMode>(random.Int(0, 3));
  }
  Shape out = x;
  for (int side = 0; side < 2; ++side) {
    for (int64_t& d : out) {
      attrs.pads.push_back(random.Chance(50) ? 0 : random.Int(std::max<int64_t>(-2, -d), 4));
      d += attrs.pads.back();
    }
  }
  const DType dtype = random.AnyDtype();
  Tensor value;
  if (random.Chance(60)) value = random.Any(dtype, {});
  return Make({random.Any(dtype, x), value}, {Tensor(dtype, out)}, MakeAttrs(attrs));
}

Case Transpose(Random& random) {
  Shape shape = random.RandomShape(1), out;
  if (random.Chance(20)) shape = {3, 130, 67};
  ten::TransposeAttrs attrs;
  for (size_t i = 0; i < shape.size(); ++i) attrs.perm.push_back(static_cast<int64_t>(i));
  for (size_t i = shape.size(); i-- > 1;) std::swap(attrs.perm[i], attrs.perm[random.Int(0, i)]);
  if (random.Chance(30)) {  // colours of images, first or last
    shape = {random.Int(1, 2), random.Int(1, 5), random.Int(1, 200)};
    if (random.Chance(30)) std::swap(shape[1], shape[2]);
    attrs.perm = {0, 2, 1};
  }
  for (int64_t axis : attrs.perm) out.push_back(shape[static_cast<size_t>(axis)]);
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, shape)}, {Tensor(dtype, out)}, MakeAttrs(attrs));
}

// A permutation of so many axes; often one that exchanges two groups of them.
std::vector<int64_t> RandomPerm(Random& random, size_t rank) {
  std::vector<int64_t> perm;
  for (size_t i = 0; i < rank; ++i) perm.push_back(static_cast<int64_t>(i));
  if (random.Chance(50) && rank >= 2) {
    std::rotate(perm.begin() + random.Int(0, 1), perm.begin() + random.Int(1, rank - 1),
                perm.end());
    return perm;
  }
  for (size_t i = rank; i-- > 1;) std::swap(perm[i], perm[random.Int(0, i)]);
  return perm;
}

Case AddTranspose(Random& random) {
  Shape sum = random.RandomShape(1), out;
  if (random.Chance(30)) sum = {random.Int(1, 3), random.Int(1, 150), random.Int(1, 70)};
  fused::AddTransposeAttrs attrs;
  attrs.perm = RandomPerm(random, sum.size());
  for (int64_t axis : attrs.perm) out.push_back(sum[static_cast<size_t>(axis)]);
  Shape other = random.Chance(60) ? sum : BroadcastInput(random, sum), whole = sum;
  if (random.Chance(50)) std::swap(whole, other);
  return Make({random.Floats(whole), random.Floats(other)}, {F32(out)}, MakeAttrs(attrs));
}

Case TransposeConcat(Random& random) {
  const Shape shape = random.RandomShape(1);
  fused::TransposeConcatAttrs attrs;
  attrs.perm = RandomPerm(random, shape.size());
  attrs.axis = random.Int(0, static_cast<int64_t>(shape.size()));
  const DType dtype = random.AnyDtype();
  int64_t rows = 1, columns = 0;
  std::vector<Tensor> inputs;
  for (int64_t i = 0, count = random.Int(1, 4); i < count; ++i) {
    Shape part = shape;
    rows = 1;
    int64_t inner = 1;
    for (size_t k = 0; k < shape.size(); ++k) {
      int64_t& extent = part[static_cast<size_t>(attrs.perm[k])];
      if (static_cast<int64_t>(k) < attrs.axis) {
        rows *= extent;
      } else {
        if (random.Chance(50)) extent = random.Int(0, 9);
        inner *= extent;
      }
    }
    columns += inner;
    inputs.push_back(random.Any(dtype, part));
  }
  return Make(std::move(inputs), {Tensor(dtype, {rows, columns})}, MakeAttrs(attrs));
}

Case Expand(Random& random) {
  const Shape out = random.RandomShape();
  const Shape x = BroadcastInput(random, out);
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, x), Tensor::Of<int64_t>({static_cast<int64_t>(out.size())}, out)},
              {Tensor(dtype, out)}, MakeAttrs(ten::ExpandAttrs{}));
}

// Bounds of a random slice; bounds may be negative or beyond the ends.
struct SliceArgs {
  Shape x, out;
  std::vector<int64_t> axes, starts, ends, steps;
};

SliceArgs RandomSlice(Random& random) {
  SliceArgs s;
  s.x = random.RandomShape(1);
  s.out = s.x;
  for (size_t axis = 0; axis < s.x.size(); ++axis) {
    if (random.Chance(40)) continue;
    const int64_t extent = s.x[axis], step = random.Chance(50) ? 1 : random.Chance(50) ? 2 : -1;
    const int64_t start = random.Int(-extent - 2, extent + 2),
                  end = random.Int(-extent - 2, extent + 2);
    s.axes.push_back(static_cast<int64_t>(axis));
    s.starts.push_back(start);
    s.ends.push_back(end);
    s.steps.push_back(step);
    auto clamp = [&](int64_t v) {
      if (v < 0) v += extent;
      return step > 0 ? std::clamp<int64_t>(v, 0, extent) : std::clamp<int64_t>(v, -1, extent - 1);
    };
    const int64_t room = step > 0 ? clamp(end) - clamp(start) : clamp(start) - clamp(end);
    const int64_t stride = std::abs(step);
    s.out[axis] = std::max<int64_t>(0, (room + stride - 1) / stride);
  }
  return s;
}

Case Slice(Random& random) {
  const SliceArgs s = RandomSlice(random);
  const DType dtype = random.AnyDtype();
  ten::SliceAttrs attrs;
  attrs.axes = s.axes, attrs.starts = s.starts, attrs.ends = s.ends, attrs.steps = s.steps;
  return Make({random.Any(dtype, s.x)}, {Tensor(dtype, s.out)}, MakeAttrs(attrs));
}

Case DynamicSlice(Random& random) {
  const SliceArgs s = RandomSlice(random);
  const DType dtype = random.AnyDtype();
  const Shape n = {static_cast<int64_t>(s.axes.size())};
  return Make({random.Any(dtype, s.x), Tensor::Of(n, s.starts), Tensor::Of(n, s.ends),
               Tensor::Of(n, s.axes), Tensor::Of(n, s.steps)},
              {Tensor(dtype, s.out)}, MakeAttrs(ten::DynamicSliceAttrs()));
}

Case Tile(Random& random) {
  const Shape x = random.RandomShape(0, 3);
  Shape out = x;
  ten::TileAttrs attrs;
  for (int64_t& d : out) attrs.repeats.push_back(random.Int(0, 3)), d *= attrs.repeats.back();
  const DType dtype = random.AnyDtype();
  return Make({random.Any(dtype, x),
               Tensor::Of({static_cast<int64_t>(x.size())}, std::vector<int64_t>(attrs.repeats))},
              {Tensor(dtype, out)}, MakeAttrs(attrs));
}

// A shape cut into parts along one axis.
void RandomParts(Random& random, DType dtype, Shape& whole, int64_t& axis,
                 std::vector<Tensor>& parts) {
  whole = random.RandomShape(1);
  axis = random.Int(0, whole.size() - 1);
  whole[static_cast<size_t>(axis)] = 0;
  for (int64_t i = random.Int(1, 4); i > 0; --i) {
    Shape part = whole;
    part[static_cast<size_t>(axis)] = random.Int(0, 9);
    parts.push_back(random.Any(dtype, part));
  }
  for (const Tensor& t : parts)
    whole[static_cast<size_t>(axis)] += t.shape[static_cast<size_t>(axis)];
}

Case Concat(Random& random) {
  const DType dtype = random.AnyDtype();
  Shape whole;
  ten::ConcatAttrs attrs;
  std::vector<Tensor> parts;
  RandomParts(random, dtype, whole, attrs.axis, parts);
  return Make(std::move(parts), {Tensor(dtype, whole)}, MakeAttrs(attrs));
}

Case Split(Random& random) {
  const DType dtype = random.AnyDtype();
  Shape whole;
  ten::SplitAttrs attrs;
  std::vector<Tensor> parts;
  RandomParts(random, dtype, whole, attrs.axis, parts);
  for (const Tensor& t : parts) attrs.sizes.push_back(t.shape[static_cast<size_t>(attrs.axis)]);
  return Make({random.Any(dtype, whole)}, std::move(parts), MakeAttrs(attrs));
}

// The same indices as 32-bit integers.
Tensor NarrowIndices(const Tensor& indices) {
  std::vector<int32_t> values;
  const auto* wide = indices.view().as<int64_t>();
  for (int64_t i = 0; i < Product(indices.shape); ++i) {
    values.push_back(static_cast<int32_t>(wide[i]));
  }
  return Tensor::Of(indices.shape, values);
}

Case Gather(Random& random) {
  Shape x = random.RandomShape(1, 3);
  ten::GatherAttrs attrs;
  attrs.axis = random.Int(0, x.size() - 1);
  int64_t& extent = x[static_cast<size_t>(attrs.axis)];
  extent = std::max<int64_t>(extent, 1);
  const Shape indices = random.RandomShape(0, 2);
  Shape out(x.begin(), x.begin() + attrs.axis);
  out.insert(out.end(), indices.begin(), indices.end());
  out.insert(out.end(), x.begin() + attrs.axis + 1, x.end());
  if (Product(out) > 1000000) return Gather(random);
  const DType dtype = random.AnyDtype();
  Tensor positions = random.Ints(indices, -extent, extent - 1);
  if (random.Chance(30)) positions = NarrowIndices(positions);
  return Make({random.Any(dtype, x), std::move(positions)}, {Tensor(dtype, out)}, MakeAttrs(attrs));
}

Case GatherElements(Random& random) {
  Shape x = random.RandomShape(1), out = x;
  ten::GatherElementsAttrs attrs;
  attrs.axis = random.Int(0, static_cast<int64_t>(x.size()) - 1);
  auto& extent = x[static_cast<size_t>(attrs.axis)];
  extent = std::max<int64_t>(extent, 1);
  out[static_cast<size_t>(attrs.axis)] = random.Extent();
  for (int64_t& size : out) {
    if (random.Chance(20)) size = std::min<int64_t>(size, random.Int(1, 4));
  }
  const DType dtype = random.AnyDtype();
  Tensor positions = random.Ints(out, -extent, extent - 1);
  if (random.Chance(30)) positions = NarrowIndices(positions);
  return Make({random.Any(dtype, x), std::move(positions)}, {Tensor(dtype, out)}, MakeAttrs(attrs));
}

Case CheckRange(Random& random) {
  const Shape x = random.RandomShape();
  Shape low = x;
  for (int64_t& size : low) {
    if (random.Chance(50)) size = 1;
  }
  Tensor values = random.Ints(x, -5, 5), least = random.Ints(low, -9, -5);
  Tensor most = random.Ints({}, 5, 9);
  const bool narrow = random.Chance(50);
  if (narrow) {
    values = NarrowIndices(values);
    least = NarrowIndices(least);
    most = NarrowIndices(most);
  }
  const DType dtype = narrow ? DType::kI32 : DType::kI64;
  return Make({std::move(values), std::move(least), std::move(most)}, {Tensor(dtype, x)},
              MakeAttrs(ten::CheckRangeAttrs{.what = "x"}));
}

}  // namespace

GeneratorsByOp MovementCases() {
  return {
      {"fused.add_transpose", AddTranspose},
      {"fused.transpose_concat", TransposeConcat},
      {"ten.check_range", CheckRange},
      {"ten.concat", Concat},
      {"ten.dynamic_expand", Expand},
      {"ten.dynamic_slice", DynamicSlice},
      {"ten.dynamic_tile", Tile},
      {"ten.expand", Expand},
      {"ten.gather", Gather},
      {"ten.gather_elements", GatherElements},
      {"ten.pad", Pad},
      {"ten.slice", Slice},
      {"ten.split", Split},
      {"ten.tile", Tile},
      {"ten.transpose", Transpose},
  };
}

}  // namespace tenon::kernels::testing
