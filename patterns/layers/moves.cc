// Moves of elements beside the op that makes or takes them, in one pass over memory. They come
// last: moves that meet have cancelled by then, and what is left of a chain of moves is one gather.
#include "patterns/layers/norm_parts.h"

namespace tenon::pattern {
namespace {

// ---- norms whose rows move: the partition of an image into windows, shifted or not
// ---------------

// Is `view` of x with the rows of x whole in it, so that a norm of rows may come behind it?
bool HasWholeRows(Value view, Value x) {
  const Type to = view.type(), from = x.type();
  return to.is_tensor() && from.is_tensor() && to.rank() >= 2 && from.rank() >= 1 &&
         DimExpr::ProvablyEqual(to.dim(-1), from.dim(-1)) && to.dim(-1).is_constant();
}

// Are the pieces that a gather picks, x.shape[axis + 1:] of the view, whole rows of x? At least
// one.
bool HasWholeRowsInPieces(Value view, Value x, int64_t axis) {
  const Type to = view.type(), from = x.type();
  if (!to.is_tensor() || !from.is_tensor() || from.rank() < 1 || axis + 2 != to.rank())
    return false;
  const DimExpr piece = to.dim(-1), row = from.dim(-1);
  return piece.is_constant() && row.is_constant() && row.constant() > 0 && piece.constant() > 0 &&
         piece.constant() % row.constant() == 0;
}

// The view with its last axis cut in rows of x.
std::optional<Dims> CutInRows(Value view, Value x) {
  const Type to = view.type();
  const int64_t row = x.type().dim(-1).constant();
  Dims dims(to.dims().begin(), to.dims().end());
  dims.back() = DimExpr::Constant(to.context(), to.dim(-1).constant() / row);
  dims.push_back(x.type().dim(-1));
  if (std::any_of(dims.begin(), dims.end(), [](DimExpr d) { return d.is_unknown(); })) return {};
  return dims;
}

std::optional<Dims> KnownShape(Value view) {
  const std::span<const DimExpr> dims = view.type().dims();
  if (std::any_of(dims.begin(), dims.end(), [](DimExpr d) { return d.is_unknown(); })) return {};
  return Dims(dims.begin(), dims.end());
}

bool KeepsLastAxis(const I64s& perm) {
  return perm.size() >= 2 && perm.back() + 1 == static_cast<int64_t>(perm.size());
}

// A norm over the last axis, alone or of a sum that others need, too.
struct NormToMove {
  Val x{"x"}, skip{"skip"}, w{"w"}, b{"b"}, offset{"offset"};
  Attr<int64_t> axis{"axis"};
  Attr<float> epsilon{"epsilon"};
  bool layer, with_skip;
  Val norm = Make();

  NormToMove(bool is_layer, bool has_skip) : layer(is_layer), with_skip(has_skip) {}
  Val Make() const {
    if (with_skip && layer)
      return fused::SkipLayerNorm(x, skip, Maybe(w), Maybe(b), Maybe(offset),
                                  {.axis = axis, .epsilon = epsilon});
    if (with_skip)
      return fused::SkipRmsNorm(x, skip, Maybe(w), Maybe(offset),
                                {.axis = axis, .epsilon = epsilon});
    if (layer) return LayerNorm(x, Maybe(w), Maybe(b), {.axis = axis, .epsilon = epsilon});
    return RmsNorm(x, Maybe(w), {.axis = axis, .epsilon = epsilon});
  }
  Condition valid() const {
    return If("the last axis is normalized", axis == RankOf(norm) - 1) && Rank(w, 1) &&
           (layer ? Rank(b, 1) : Condition()) &&
           (with_skip ? SameShape(x, skip) && If("the row has an element for each column",
                                                 ShapeOf(offset) == ListOf({ExtentOf(norm, -1)}))
                      : Condition());
  }
  // The norm with moved rows; `shape` is that of the view whose rows move.
  template <typename Shape>
  Val Moved(const Shape& shape, const OptVal& index, fused::MovedNormArgs args) const {
    const auto view = [&](const Val& v) { return Reshape(v, {.shape = shape}); };
    args.norm = layer ? "layer" : "rms";
    args.epsilon = epsilon;
    return fused::MovedNorm(view(x), index, with_skip ? OptVal(view(skip)) : OptVal(), w,
                            layer ? OptVal(b) : OptVal(), with_skip ? OptVal(offset) : OptVal(),
                            args);
  }
  Rule Rewrite(Rule rule, const Val& root, const Val& moved, const Val& result) const {
    Rule made = std::move(rule)
                    .Summary(with_skip ? "the norm of a sum, with its rows in another order"
                                       : "a norm with its rows in another order")
                    .Lowers(OpsOf({"nn.layer_norm", "nn.rms_norm", "fused.skip_layer_norm",
                                   "fused.skip_rms_norm"}))
                    .RequireKernel();
    if (!with_skip) return std::move(made).Match(root).Replace(result);
    const Val sum = norm.result(1);
    return std::move(made)
        .Match({root, sum})
        .Replace({result, Reshape(moved.result(1), {.shape = ShapeOf(sum)})});
  }
};

Rule MovedNormOfGather(const char* name, bool layer, bool with_skip,
                       const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const NormToMove n(layer, with_skip);
  Val index = Const("index");
  Attr<int64_t> axis("picked");
  Val view = AnyOf(Reshape(n.norm, {.shape = kAny}), n.norm);
  Val root = Gather(view, index, {.axis = axis});
  Val moved = n.Moved(Compute(CutInRows, view, n.norm), index, {.axis = axis});
  return n.Rewrite(
      Rule(name, file, line)
          .Opaque("where an axis cuts rows depends on the extents of two shapes")
          .Where(n.valid() && Rank(index, 1) &&
                 If("the pieces are whole rows", HasWholeRowsInPieces, view, n.norm, axis)),
      root, moved, Reshape(moved, {.shape = Compute(KnownShape, root)}));
}

Rule MovedNormOfTranspose(const char* name, bool layer, bool with_skip,
                          const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  const NormToMove n(layer, with_skip);
  Attr<I64s> perm("perm");
  Val view = AnyOf(Reshape(n.norm, {.shape = kAny}), n.norm);
  Val root = Transpose(view, {.perm = perm});
  Val moved = n.Moved(Compute(KnownShape, view), {}, {.perm = perm});
  return n.Rewrite(Rule(name, file, line)
                       .Opaque("whether rows stay whole depends on the extents of two shapes")
                       .Where(n.valid() && If("the last axis stays", KeepsLastAxis, perm) &&
                              If("the rows stay whole", HasWholeRows, view, n.norm)),
                   root, moved, moved);
}

// ---- sums that are transposed ------------------------------------------------------------------

// Does the order exchange two groups of neighboring axes, behind others that stay? Then rows and
// columns of matrices change places, tile by tile.
bool ExchangesGroups(const I64s& perm) {
  size_t first = 0;
  while (first < perm.size() && perm[first] == static_cast<int64_t>(first)) ++first;
  const size_t count = perm.size() - first;
  if (count < 2) return false;
  for (size_t i = 0; i < count; ++i) {
    const size_t shift = static_cast<size_t>(perm[first]) - first;
    if (perm[first + i] != static_cast<int64_t>(first + (i + shift) % count)) return false;
  }
  return true;
}

Rule AddThenTranspose() {
  Val x("x"), y("y");
  Attr<I64s> perm("perm");
  return Rule("add-transpose")
      .Summary("transpose(x + y)")
      .Opaque("two groups of axes are found in a permutation of any length")
      .Match(Transpose(Add(x, y), {.perm = perm}))
      .Where(IsFloat(x) && If("two groups of axes change places", ExchangesGroups, perm))
      .Replace(fused::AddTranspose(x, y, {.perm = perm}))
      .RequireKernel();
}

// Which axis of the sum the view cuts in two, -1 if it is no such view.
int64_t CutAxis(Value view, Value sum) {
  const Type to = view.type(), from = sum.type();
  if (!to.is_tensor() || !from.is_tensor() || to.rank() != from.rank() + 1) return -1;
  int64_t axis = 0;
  while (axis < from.rank() && DimExpr::ProvablyEqual(to.dim(axis), from.dim(axis))) ++axis;
  for (int64_t i = axis + 1; i < from.rank(); ++i) {
    if (!DimExpr::ProvablyEqual(to.dim(i + 1), from.dim(i))) return -1;
  }
  return axis < from.rank() ? axis : -1;
}

// The order of the axes of the sum, if the two parts of the cut axis stay beside each other.
std::optional<I64s> JoinedPerm(Value view, Value sum, const I64s& perm) {
  const int64_t cut = CutAxis(view, sum);
  if (cut < 0) return std::nullopt;
  I64s joined;
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] == cut + 1) {
      if (i == 0 || perm[i - 1] != cut) return std::nullopt;
      continue;
    }
    joined.push_back(perm[i] > cut ? perm[i] - 1 : perm[i]);
  }
  return joined;
}

// x + y of [N, h * w, C] as an image of [N, C, h, w]
Rule AddThenTransposeOfImage() {
  Val x("x"), y("y");
  Attr<I64s> perm("perm"), joined("joined");
  Val sum = Add(x, y), view = Reshape(sum, {.shape = kAny});
  Val root = Transpose(view, {.perm = perm});
  return Rule("add-transpose-of-image")
      .Summary("transpose(x + y) of a sum one axis of which is seen as two")
      .Opaque("two groups of axes are found in a permutation of any length")
      .Match(root.Let(joined, Compute(JoinedPerm, view, sum, perm)))
      .Where(IsFloat(x) && If("two groups of axes change places", ExchangesGroups, joined))
      .Replace(Reshape(fused::AddTranspose(x, y, {.perm = joined}),
                       {.shape = Compute(KnownShape, root)}))
      .RequireKernel();
}

// ---- transposes that are put side by side ------------------------------------------------------

// How many axes of the transpose make the axes of the view in front of `axis`; nullopt if some make
// a part of one.
std::optional<int64_t> RowAxes(Value view, Value transpose, int64_t axis) {
  const Type to = view.type(), from = transpose.type();
  DimExpr wanted = DimExpr::Constant(to.context(), 1), rows = wanted;
  for (int64_t i = 0; i < axis; ++i) wanted = wanted * to.dim(i);
  for (int64_t i = 0; i <= from.rank(); ++i) {
    if (DimExpr::ProvablyEqual(rows, wanted)) return i;
    if (i < from.rank()) rows = rows * from.dim(i);
  }
  return std::nullopt;
}

// The shape of both parts side by side along `axis`.
std::optional<Dims> SideBySide(Value a, Value b, int64_t axis) {
  const Type first = a.type(), second = b.type();
  Dims dims(first.dims().begin(), first.dims().end());
  dims[static_cast<size_t>(axis)] = first.dim(axis) + second.dim(axis);
  if (std::any_of(dims.begin(), dims.end(), [](DimExpr d) { return d.is_unknown(); })) return {};
  return dims;
}

// Are the rows of the matrix the axes of the view in front of `axis`?
bool JoinsColumns(Value view, Value matrix, int64_t axis) {
  const Type to = view.type(), from = matrix.type();
  if (!to.is_tensor() || !from.is_tensor()) return false;
  DimExpr rows = DimExpr::Constant(to.context(), 1);
  for (int64_t i = 0; i < axis; ++i) rows = rows * to.dim(i);
  return DimExpr::ProvablyEqual(rows, from.dim(0));
}

// The shape in which the transpose leaves a matrix as it is: rows in the first of its axes, columns
// in the last; nullopt if it would exchange the two.
std::optional<Dims> AsTransposed(Value view, Value matrix, const I64s& perm, int64_t axis) {
  const Type from = view.type();
  if (perm.size() < 2 || perm.front() > perm.back()) return std::nullopt;
  const DimExpr one = DimExpr::Constant(from.context(), 1);
  Dims dims(perm.size(), one);
  DimExpr columns = one;
  for (int64_t i = axis; i < from.rank(); ++i) columns = columns * from.dim(i);
  dims[static_cast<size_t>(perm.front())] = matrix.type().dim(0);
  dims[static_cast<size_t>(perm.back())] = columns;
  if (columns.is_unknown() || matrix.type().dim(0).is_unknown()) return std::nullopt;
  return dims;
}

// The parts of concatenations of transposes. They grow one by one, from two neighbors on.
struct SideParts {
  Val before = Each("before"), rest = Each("rest");
  Attr<I64s> perm{"perm"};
  Attr<int64_t> axis{"axis"}, rows{"rows"};

  Val Of(const ValList& inputs) const {
    return fused::TransposeConcat(inputs, {.perm = perm, .axis = rows});
  }
  // What stands in the place of `a` and `b`.
  Val Made(const ValList& inputs, const Val& a, const Val& b) const {
    return Reshape(Of(inputs), {.shape = Compute(SideBySide, a, b, axis)});
  }
  Rule Make(Rule rule, const Val& a, const Val& b, const Val& made) const {
    return std::move(rule)
        .Match(Concat({before, a, b, rest}, {.axis = axis}))
        .Replace(Concat({before, made, rest}, {.axis = axis}))
        .RequireKernel();
  }
};

Rule TransposesSideBySide() {
  const SideParts p;
  Val a("a"), b("b");
  Val ta = Transpose(a, {.perm = p.perm}), tb = Transpose(b, {.perm = p.perm});
  Val va = Reshape(ta, {.shape = kAny}), vb = Reshape(tb, {.shape = kAny});
  return p.Make(Rule("transpose-concat")
                    .Summary("transposes, viewed as rows and put side by side, in one copy")
                    .Opaque("the axes of rows are found by aligning two shapes"),
                va.Let(p.rows, Compute(RowAxes, va, ta, p.axis)),
                vb.Let(p.rows, Compute(RowAxes, vb, tb, p.axis)), p.Made({a, b}, va, vb));
}

Rule OneMoreTransposeSideBySide() {
  const SideParts p;
  Val xs = Each("xs"), b("b");
  Val tb = Transpose(b, {.perm = p.perm}), vb = Reshape(tb, {.shape = kAny});
  Val matrix = p.Of(xs), first = AnyOf(Reshape(matrix, {.shape = kAny}), matrix);
  return p.Make(
      Rule("transpose-concat-more")
          .Summary("one more transpose beside others")
          .Opaque("the axes of rows are found by aligning two shapes")
          .Where(If("the columns of the first are joined", JoinsColumns, first, matrix, p.axis)),
      first, vb.Let(p.rows, Compute(RowAxes, vb, tb, p.axis)), p.Made({xs, b}, first, vb));
}

// Something else beside transposes is copied to its place with them.
Rule PlainBesideTransposes(const char* name, bool behind, const char* file = __builtin_FILE(),
                           int line = __builtin_LINE()) {
  const SideParts p;
  Val xs = Each("xs"), v("v");
  Val matrix = p.Of(xs), joined = AnyOf(Reshape(matrix, {.shape = kAny}), matrix);
  Val plain = Reshape(v, {.shape = Compute(AsTransposed, v, matrix, p.perm, p.axis)});
  const Val &a = behind ? joined : v, &b = behind ? v : joined;
  return p.Make(Rule(name, file, line)
                    .Summary("another operand beside transposes")
                    .Opaque("the axes of rows are found by aligning two shapes")
                    .Where(If("its columns are joined", JoinsColumns, joined, matrix, p.axis) &&
                           If("so are those of the other", JoinsColumns, v, matrix, p.axis))
                    .Lowers(OpsOf({OperandsOf("ten.concat")})),
                a, b, behind ? p.Made({xs, plain}, a, b) : p.Made({plain, xs}, a, b));
}

}  // namespace

RuleSet MovesRules() {
  return {MovedNormOfGather("moved-layer-norm", true, false),
          MovedNormOfGather("moved-rms-norm", false, false),
          MovedNormOfGather("moved-skip-layer-norm", true, true),
          MovedNormOfGather("moved-skip-rms-norm", false, true),
          MovedNormOfTranspose("transposed-layer-norm", true, false),
          MovedNormOfTranspose("transposed-rms-norm", false, false),
          MovedNormOfTranspose("transposed-skip-layer-norm", true, true),
          MovedNormOfTranspose("transposed-skip-rms-norm", false, true),
          AddThenTranspose(),
          AddThenTransposeOfImage(),
          TransposesSideBySide(),
          OneMoreTransposeSideBySide(),
          PlainBesideTransposes("transpose-concat-plain", true),
          PlainBesideTransposes("transpose-concat-plain-first", false)};
}

}  // namespace tenon::pattern
