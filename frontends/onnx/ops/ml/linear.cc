// Linear models and support vector machines of ai.onnx.ml.
#include <fmt/format.h>

#include <algorithm>

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

// Each pair of classes has a score, and votes for one of both. Scores are those of the pairs. The
// score of two classes is written as if it were that of the second, though it votes for the first
// one, as in ONNX Runtime.
absl::Status ImportMlSVMClassifier(Node& node) {
  TENON_RETURN_IF_ERROR(node.CheckInputs(1, 1));
  Formula f(node);
  TENON_ASSIGN_OR_RETURN(const PostTransform transform, ReadPostTransform(node));
  TENON_ASSIGN_OR_RETURN(const Labels labels, ReadLabels(node, "classlabels_ints"));
  for (const char* name : {"prob_a", "prob_b"}) {
    TENON_ASSIGN_OR_RETURN(const auto probability, Numbers(node, name));
    if (probability && !probability->empty())
      return node.Unsupported("SVMClassifier with probabilities", "scores of pairs of classes");
  }
  if (labels.count < 2) return node.Error("SVMClassifier has one label (expected two or more)");
  TENON_ASSIGN_OR_RETURN(const Machine m, ReadMachine(node, labels.count));
  const bool all_positive = std::all_of(m.coefficients.begin(), m.coefficients.end(),
                                        [](double weight) { return weight >= 0; });
  if (labels.count == 2 && (all_positive || transform == PostTransform::kProbit)) {
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
  if (m.classes > 2) return f.Return(Transformed(f, transform, scores), 1);
  return f.Return(ScoresOfTwo(f, transform, scores, transform != PostTransform::kNone), 1);
}

}  // namespace tenon::onnx::ml
