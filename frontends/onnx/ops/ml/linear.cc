// Linear models and support vector machines of ai.onnx.ml.
#include <fmt/format.h>

#include <algorithm>

#include "frontends/onnx/ops/containers/sequence_formula.h"
#include "frontends/onnx/ops/control/loop_body.h"
#include "frontends/onnx/ops/ml/scores.h"
#include "ir/base/check.h"
#include "ir/dialect/ten_ops.h"

namespace tenon::onnx::ml {
namespace {

// Returns x times the matrix [rows, features] of an attribute plus the intercepts: [N, rows].
absl::StatusOr<Value> Product(Formula& f, Node& node, Value x, int64_t rows) {
  TENON_ASSIGN_OR_RETURN(const auto weights, Numbers(node, "coefficients"));
  TENON_ASSIGN_OR_RETURN(const auto intercepts, Numbers(node, "intercepts"));
  const auto count = static_cast<int64_t>(weights ? weights->size() : 0);
  if (rows < 1 || count == 0 || count % rows != 0) {
    return node.Error(
        fmt::format("{} has {} coefficients for {} results", node.op_type(), count, rows));
  }
  const int64_t dims[] = {rows, count / rows};
  if (const DimExpr columns = x.type().dim(1);
      columns.is_constant() && !columns.is_constant(dims[1])) {
    return node.Error(fmt::format("{} has {} coefficients a result, but its input is {}",
                                  node.op_type(), dims[1], node.input(0).type().text()));
  }
  Value y = f.Make<ten::MatmulOp>(x, Table(f, node, DType::kF32, dims, *weights),
                                  ten::MatmulOp::Attrs{.transpose_b = true});
  if (intercepts && !intercepts->empty()) {
    const auto size = static_cast<int64_t>(intercepts->size());
    if (size != 1 && size != rows) {
      return node.Error(
          fmt::format("intercepts of {} has {} elements, expected {}", node.op_type(), size, rows));
    }
    y = f.Add(y, Table(f, node, DType::kF32, std::span(&size, 1), *intercepts));
  }
  if (!f.ok()) return f.status();
  return y;
}

// Returns the kernel of each row of x with each support vector: [N, vectors].
absl::StatusOr<Value> Kernels(Formula& f, Node& node, Value x, std::span<const double> vectors,
                              int64_t count) {
  TENON_ASSIGN_OR_RETURN(const std::string type, node.Str("kernel_type", "LINEAR"));
  TENON_ASSIGN_OR_RETURN(const auto params, node.Floats("kernel_params"));
  const auto param = [&](size_t i) {
    return f.Scalar(DType::kF32, params && params->size() > i ? (*params)[i] : 0);
  };
  const auto features = static_cast<int64_t>(vectors.size()) / count;
  const int64_t dims[] = {count, features};
  const Value table = Table(f, node, DType::kF32, dims, vectors);
  if (type == "RBF") {
    // Differences are taken before they are squared, since |x|^2 + |v|^2 - 2 x v would cancel.
    const Value rows = f.Reshape(x, {x.type().dim(0), f.One(), node.Dim(features)});
    const Value difference = f.Sub(rows, table);
    const Value distance = f.Make<ten::ReduceSumOp>(
        f.Mul(difference, difference), ten::ReduceSumOp::Attrs{.axes = {2}, .keepdims = false});
    return f.Make<ten::ExpOp>(f.Mul(f.Make<ten::NegOp>(param(0)), distance));
  }
  const Value product = f.Make<ten::MatmulOp>(x, table, ten::MatmulOp::Attrs{.transpose_b = true});
  if (type == "LINEAR") return product;
  const Value inner = f.Add(f.Mul(param(0), product), param(1));
  if (type == "POLY") return f.Make<ten::PowOp>(inner, param(2));
  if (type == "SIGMOID") return f.Make<ten::TanhOp>(inner);
  return node.Error(fmt::format("{} has the kernel_type {} (expected LINEAR, POLY, RBF or SIGMOID)",
                                node.op_type(), type));
}

// What an SVMClassifier was trained to: support vectors in the order of their classes, and a
// coefficient of each for each other class.
struct Machine {
  int64_t classes = 0, vectors = 0;
  std::vector<int64_t> first;  // the first vector of each class, and the end
  std::vector<double> support, coefficients, rho;
  int64_t pairs() const { return classes * (classes - 1) / 2; }
};

absl::StatusOr<Machine> ReadMachine(const Node& node, int64_t classes) {
  Machine m;
  m.classes = classes;
  m.first = {0};
  TENON_ASSIGN_OR_RETURN(const auto counts, node.Ints("vectors_per_class"));
  TENON_ASSIGN_OR_RETURN(const auto support, Numbers(node, "support_vectors"));
  TENON_ASSIGN_OR_RETURN(const auto coefficients, Numbers(node, "coefficients"));
  TENON_ASSIGN_OR_RETURN(const auto rho, Numbers(node, "rho"));
  if (!counts || counts->empty()) {
    return node.Unsupported("SVMClassifier without vectors_per_class", "support vectors");
  }
  bool fits = static_cast<int64_t>(counts->size()) == classes && support && coefficients && rho;
  for (const int64_t count : *counts) {
    fits = fits && count >= 0 && count <= INT32_MAX;
    if (fits) m.first.push_back(m.first.back() + count);
  }
  m.vectors = m.first.back();
  const auto size = [](const auto& values) { return static_cast<int64_t>(values->size()); };
  if (!fits || m.vectors == 0 || size(support) == 0 || size(support) % m.vectors != 0 ||
      size(coefficients) / m.vectors != classes - 1 || size(coefficients) % m.vectors != 0 ||
      size(rho) != m.pairs()) {
    return node.Error(
        fmt::format("SVMClassifier of {} classes has vectors_per_class, "
                    "support_vectors, coefficients and rho that do not fit",
                    classes));
  }
  m.support = *support, m.coefficients = *coefficients, m.rho = *rho;
  return m;
}

// The probabilities of classes that fit those of pairs of classes best, as LIBSVM finds them: it
// minimises p' Q p one class after the other, until the error is small or 100 times.
class Coupling {
 public:
  // `pairs` [rows, pairs] are the probabilities of the first class of each pair.
  Coupling(Formula& f, Node& node, Value pairs, int64_t classes)
      : f_(f), node_(node), classes_(classes), pairs_(pairs) {
    if (f.ok()) rows_ = pairs.type().dim(0);
  }

  // Returns [rows, classes].
  absl::StatusOr<Value> Probabilities() {
    if (!f_.ok()) return f_.status();
    MakeQ();
    LoopSpec spec;
    spec.lower = f_.Scalar(DType::kI64, 0);
    spec.upper = f_.Scalar(DType::kI64, 100);
    spec.step = f_.Scalar(DType::kI64, 1);
    spec.inits = {f_.Scalar(DType::kBool, 1),
                  f_.Expand(Number(1.0 / static_cast<double>(classes_)), {rows_, Classes()})};
    spec.names = {"goes_on", "probabilities"};
    spec.body_nodes = 1;
    spec.run = [this](OpBuilder& builder, Value,
                      std::span<const Value> carried) -> absl::StatusOr<std::vector<Value>> {
      const InsertionScope scope(node_, builder);
      std::vector<Value> next = Next(carried[1]);
      if (!f_.ok()) return f_.status();
      return next;
    };
    TENON_RETURN_IF_ERROR(f_.status());
    TENON_ASSIGN_OR_RETURN(Operation * loop, ImportLoopBody(node_, node_.builder(), spec));
    TENON_ASSIGN_OR_RETURN(const std::vector<Value> results, ToWhile(node_, loop, spec.upper));
    return results[0];
  }

 private:
  Value Number(double value) { return f_.Scalar(DType::kF32, value); }
  DimExpr Classes() const { return node_.Dim(classes_); }
  // r[i][j] is the probability of class i in its pair with j. Q[i][j] is -r[j][i] r[i][j], and
  // Q[i][i] is the sum of all r[j][i]^2.
  void MakeQ() {
    const int64_t pairs = classes_ * (classes_ - 1) / 2;
    const Value columns[] = {pairs_, f_.Sub(Number(1), pairs_),
                             f_.Expand(Number(0), {rows_, f_.One()})};
    const Value all = f_.Make<ten::ConcatOp>(columns, ten::ConcatOp::Attrs{.axis = 1});
    const auto size = static_cast<size_t>(classes_);
    std::vector<int64_t> of(size * size, 2 * pairs), turned = of;
    std::vector<double> unit(size * size, 0);
    int64_t pair = 0;
    for (size_t i = 0; i < size; ++i) {
      unit[i * size + i] = 1;
      for (size_t j = i + 1; j < size; ++j, ++pair) {
        of[i * size + j] = turned[j * size + i] = pair;
        of[j * size + i] = turned[i * size + j] = pairs + pair;
      }
    }
    const int64_t square[] = {classes_, classes_};
    const auto pick = [&](std::span<const int64_t> places) {
      return f_.Make<ten::GatherOp>(all, Table(f_, node_, square, places),
                                    ten::GatherOp::Attrs{.axis = 1});
    };
    const Value r = pick(of), other = pick(turned);
    const Value ones = Table(f_, node_, DType::kF32, square, unit);
    diagonal_ = Sum(f_.Mul(other, other), 2);
    q_ = f_.Sub(f_.Mul(ones, diagonal_), f_.Mul(r, other));
    diagonal_ = f_.Reshape(diagonal_, {rows_, Classes()});
  }
  Value Sum(Value x, int64_t axis) {
    return f_.Make<ten::ReduceSumOp>(x, ten::ReduceSumOp::Attrs{.axes = {axis}, .keepdims = true});
  }
  // Class t of [rows, classes] as [rows, 1], and its row of Q.
  Value ColumnOf(Value x, int64_t t) {
    const int64_t one[] = {1};
    return f_.Make<ten::GatherOp>(x, Table(f_, node_, one, std::span(&t, 1)),
                                  ten::GatherOp::Attrs{.axis = 1});
  }
  // Returns whether some row is not done yet, and the next probabilities.
  std::vector<Value> Next(Value before) {
    const Value row = f_.Reshape(before, {rows_, f_.One(), Classes()});
    Value product = f_.Reshape(Sum(f_.Mul(q_, row), 2), {rows_, Classes()});
    Value total = Sum(f_.Mul(before, product), 1), p = before;
    const Value error =
        f_.Make<ten::ReduceMaxOp>(f_.Make<ten::AbsOp>(f_.Sub(product, total)),
                                  ten::ReduceMaxOp::Attrs{.axes = {1}, .keepdims = true});
    const Value done = f_.Make<ten::LessOp>(error, Number(0.005f / static_cast<float>(classes_)));
    for (int64_t t = 0; t < classes_ && f_.ok(); ++t) {
      const Value at = ColumnOf(product, t), q = ColumnOf(diagonal_, t);
      const Value step = f_.Div(f_.Sub(total, at), q), scale = f_.Add(Number(1), step);
      const Value grown = f_.Mul(step, f_.Add(f_.Mul(step, q), f_.Mul(Number(2), at)));
      total = f_.Div(f_.Div(f_.Add(total, grown), scale), scale);
      const Value row_of_q = f_.Reshape(ColumnOf(q_, t), {rows_, Classes()});
      product = f_.Div(f_.Add(product, f_.Mul(step, row_of_q)), scale);
      p = f_.Div(f_.Add(p, f_.Mul(step, Unit(t))), scale);
    }
    const Value left =
        f_.Make<ten::ReduceSumOp>(f_.Cast(f_.Make<ten::NotOp>(done), DType::kI64),
                                  ten::ReduceSumOp::Attrs{.axes = {0, 1}, .keepdims = false});
    return {f_.Make<ten::GreaterOp>(left, f_.Scalar(DType::kI64, 0)), f_.Where(done, before, p)};
  }
  // Row t of the unit matrix.
  Value Unit(int64_t t) {
    std::vector<double> row(static_cast<size_t>(classes_), 0);
    row[static_cast<size_t>(t)] = 1;
    return Table(f_, node_, DType::kF32, std::span(&classes_, 1), row);
  }

  Formula& f_;
  Node& node_;
  const int64_t classes_;
  const Value pairs_;
  DimExpr rows_;
  Value q_, diagonal_;
};

// Sign as 1 and -1, as classes of outliers have it.
Value OneClass(Formula& f, Value scores) {
  const Value one = f.Scalar(DType::kF32, 1), minus_one = f.Scalar(DType::kF32, -1);
  const Value above = f.Make<ten::GreaterOp>(scores, f.Scalar(DType::kF32, 0));
  return f.Where(above, one, minus_one);
}

}  // namespace

absl::Status ImportMlLinearRegressor(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const int64_t targets, node.Int("targets", 1));
  TENON_ASSIGN_OR_RETURN(const Value x, Rows(f, node));
  TENON_ASSIGN_OR_RETURN(const Value y, Product(f, node, f.Cast(x, DType::kF32), targets));
  return f.Return(Transformed(f, transform, y));
}

absl::Status ImportMlLinearClassifier(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  node.MarkRead("multi_class");  // which training made the coefficients
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(node, "classlabels_ints"));
  TENON_ASSIGN_OR_RETURN(const auto intercepts, Numbers(node, "intercepts"));
  const auto rows = static_cast<int64_t>(intercepts ? intercepts->size() : 0);
  const bool one_row = rows == 1 && labels.count == 2 && transform != PostTransform::kProbit;
  if (rows != labels.count && !one_row) {
    return node.Unsupported(
        fmt::format("LinearClassifier with {} labels and {} intercepts", labels.count, rows),
        "an intercept and a row of coefficients for each label");
  }
  TENON_ASSIGN_OR_RETURN(const Value x, Rows(f, node));
  TENON_ASSIGN_OR_RETURN(const Value scores, Product(f, node, f.Cast(x, DType::kF32), rows));
  if (one_row) {  // the score of the second label
    TENON_RETURN_IF_ERROR(ReturnLabels(f, node, labels, IsAbove(f, scores, 0)));
    return f.Return(ScoresOfTwo(f, transform, scores, /*complement_of_one=*/true), 1);
  }
  TENON_RETURN_IF_ERROR(ReturnLabels(f, node, labels, Largest(f, scores)));
  return f.Return(Transformed(f, transform, scores), 1);
}

absl::Status ImportMlSVMRegressor(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const bool one_class, node.Flag("one_class", false));
  TENON_ASSIGN_OR_RETURN(const int64_t count, node.Int("n_supports", 0));
  TENON_ASSIGN_OR_RETURN(auto coefficients, Numbers(node, "coefficients"));
  TENON_ASSIGN_OR_RETURN(auto vectors, Numbers(node, "support_vectors"));
  TENON_ASSIGN_OR_RETURN(const auto rho, Numbers(node, "rho"));
  if (!coefficients || !rho || rho->size() != 1) {
    return node.Error("SVMRegressor needs coefficients and one number rho");
  }
  TENON_ASSIGN_OR_RETURN(Value x, Rows(f, node));
  x = f.Cast(x, DType::kF32);
  Value features = x;
  if (count > 0) {
    const auto size = static_cast<int64_t>(vectors ? vectors->size() : 0);
    if (size == 0 || size % count != 0) {
      return node.Error(
          fmt::format("SVMRegressor has {} numbers of {} support vectors", size, count));
    }
    if (const DimExpr columns = x.type().dim(1);
        columns.is_constant() && !columns.is_constant(size / count)) {
      return node.Error(
          fmt::format("SVMRegressor has support vectors of {} numbers, but its input "
                      "is {}",
                      size / count, node.input(0).type().text()));
    }
    TENON_ASSIGN_OR_RETURN(features, Kernels(f, node, x, *vectors, count));
  } else {
    for (const char* name : {"kernel_type", "kernel_params"}) node.MarkRead(name);
  }
  const auto terms = static_cast<int64_t>(coefficients->size());
  if (const DimExpr columns = features.type().dim(1);
      columns.is_constant() && !columns.is_constant(terms)) {
    return node.Error(
        fmt::format("SVMRegressor has {} coefficients for {} numbers", terms, columns.constant()));
  }
  const int64_t dims[] = {terms, 1};
  Value y = f.Make<ten::MatmulOp>(features, Table(f, node, DType::kF32, dims, *coefficients),
                                  ten::MatmulOp::Attrs{});
  y = f.Add(y, f.Scalar(DType::kF32, (*rho)[0]));
  if (one_class) y = OneClass(f, y);
  return f.Return(Transformed(f, transform, y));
}

// Each pair of classes has a score, and votes for one of both. Scores are those of the pairs, or
// with prob_a and prob_b the probabilities of the classes. The score of two classes is written as
// if it were that of the second, though it votes for the first one, as in ONNX Runtime.
absl::Status ImportMlSVMClassifier(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(node, "classlabels_ints"));
  if (labels.count < 2) return node.Error("SVMClassifier has one label (expected two or more)");
  TENON_ASSIGN_OR_RETURN(const Machine m, ReadMachine(node, labels.count));
  TENON_ASSIGN_OR_RETURN(const auto factors, Numbers(node, "prob_a"));
  TENON_ASSIGN_OR_RETURN(const auto offsets, Numbers(node, "prob_b"));
  const bool of_probabilities = factors && !factors->empty();
  if (of_probabilities &&
      (!offsets || factors->size() != m.rho.size() || offsets->size() != m.rho.size())) {
    return node.Error(fmt::format("SVMClassifier has {} prob_a and {} prob_b (expected {} of each)",
                                  factors->size(), offsets ? offsets->size() : 0, m.rho.size()));
  }
  const bool all_positive = std::all_of(m.coefficients.begin(), m.coefficients.end(),
                                        [](double weight) { return weight >= 0; });
  if (labels.count == 2 && !of_probabilities &&
      (all_positive || transform == PostTransform::kProbit)) {
    return node.Unsupported("SVMClassifier of two classes with PROBIT or without negative weights",
                            "another post_transform, and coefficients of both signs");
  }
  TENON_ASSIGN_OR_RETURN(Value x, Rows(f, node));
  x = f.Cast(x, DType::kF32);
  const int64_t features = static_cast<int64_t>(m.support.size()) / m.vectors;
  if (!x.type().dim(1).is_constant(features)) {
    return node.Error(fmt::format("SVMClassifier has support vectors of {} numbers, got {}",
                                  features, node.input(0).type().text()));
  }
  TENON_ASSIGN_OR_RETURN(const Value kernels, Kernels(f, node, x, m.support, m.vectors));
  // Column e has the weights of pair e. The votes of a pair are the two columns of `votes`.
  const auto at = [](int64_t row, int64_t columns, int64_t column) {
    return static_cast<size_t>(row * columns + column);
  };
  std::vector<double> weights(static_cast<size_t>(m.vectors * m.pairs()));
  std::vector<double> for_first(static_cast<size_t>(m.pairs() * m.classes)), for_second = for_first;
  int64_t pair = 0;
  for (int64_t i = 0; i < m.classes; ++i) {
    for (int64_t j = i + 1; j < m.classes; ++j, ++pair) {
      for (const auto& [of, other] : {std::pair(i, j - 1), std::pair(j, i)}) {
        for (int64_t v = m.first[static_cast<size_t>(of)]; v < m.first[static_cast<size_t>(of) + 1];
             ++v) {
          weights[at(v, m.pairs(), pair)] = m.coefficients[at(other, m.vectors, v)];
        }
      }
      for_first[at(pair, m.classes, i)] = 1;
      for_second[at(pair, m.classes, j)] = 1;
    }
  }
  const int64_t by_vector[] = {m.vectors, m.pairs()}, by_pair[] = {m.pairs(), m.classes};
  const int64_t pairs[] = {m.pairs()};
  const auto product = [&](Value a, Value b) {
    return f.Make<ten::MatmulOp>(a, b, ten::MatmulOp::Attrs{});
  };
  const Value sums = product(kernels, Table(f, node, DType::kF32, by_vector, weights));
  const Value scores = f.Add(sums, Table(f, node, DType::kF32, pairs, m.rho));
  const Value above = f.Make<ten::GreaterOp>(scores, f.Scalar(DType::kF32, 0));
  const Value firsts =
      product(f.Cast(above, DType::kF32), Table(f, node, DType::kF32, by_pair, for_first));
  const Value seconds = product(f.Cast(f.Make<ten::NotOp>(above), DType::kF32),
                                Table(f, node, DType::kF32, by_pair, for_second));
  TENON_RETURN_IF_ERROR(ReturnLabels(f, node, labels, Largest(f, f.Add(firsts, seconds))));
  if (of_probabilities) {
    const Value line = f.Add(f.Mul(scores, Table(f, node, DType::kF32, pairs, *factors)),
                             Table(f, node, DType::kF32, pairs, *offsets));
    const Value of_pairs =
        f.Make<ten::ClipOp>(f.Sub(f.Scalar(DType::kF32, 1), f.Make<ten::SigmoidOp>(line)),
                            ten::ClipOp::Attrs{.min = 1e-7f, .max = 1 - 1e-7f});
    TENON_ASSIGN_OR_RETURN(const Value made,
                           Coupling(f, node, of_pairs, m.classes).Probabilities());
    return f.Return(Transformed(f, transform, made), 1);
  }
  if (m.classes > 2) return f.Return(Transformed(f, transform, scores), 1);
  return f.Return(ScoresOfTwo(f, transform, scores, transform != PostTransform::kNone), 1);
}

}  // namespace tenon::onnx::ml
