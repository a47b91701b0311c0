// What the importers of the domain ai.onnx.ml share. Scores are [rows, classes or targets].
#ifndef TENON_FRONTENDS_ONNX_OPS_ML_SCORES_H_
#define TENON_FRONTENDS_ONNX_OPS_ML_SCORES_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/onnx/formula.h"

namespace tenon::onnx::ml {

// What is done with scores before they are results.
enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

// Reads the attribute post_transform, a name as in "SOFTMAX". An error for another name.
absl::StatusOr<PostTransform> ReadPostTransform(const Node& node);
// Returns the scores after the transform. Softmax is along the last axis.
Value Transformed(Formula& f, PostTransform transform, Value scores);

// Returns the scores [rows, 2] of two classes of which the second has the score s, [rows, 1]: its
// logistic function and that of -s, or s and its complement, 1 - s or -s.
Value ScoresOfTwo(Formula& f, PostTransform transform, Value s, bool complement_of_one);

// The labels of a classifier.
struct Labels {
  std::vector<int64_t> ints;         // empty if the labels are strings
  std::vector<std::string> strings;  // empty if they are integers
  int64_t count = 0;
};
// Reads the labels: integers of the attribute `ints`, or strings.
absl::StatusOr<Labels> ReadLabels(const Node& node, std::string_view ints);
// Sets output 0 to the labels at `index`, which is [rows] of i64.
absl::Status ReturnLabels(Formula& f, Node& node, const Labels& labels, Value index);
// Returns the index of the largest of each row of scores, the first of equal ones.
Value Largest(Formula& f, Value scores);
// Returns 1 for rows whose score s, [rows, 1], is larger than `limit`, and 0 for others.
Value IsAbove(Formula& f, Value s, double limit);

// Returns the floats of the attribute `name`, or of the tensor `name`_as_tensor; nullopt if both
// are absent.
absl::StatusOr<std::optional<std::vector<double>>> Numbers(const Node& node, std::string_view name);
// Returns the elements of a TENSOR attribute as numbers; nullopt if it is absent.
absl::StatusOr<std::optional<std::vector<double>>> TensorNumbers(const Node& node,
                                                                 std::string_view name);
// Returns the strings of an attribute; none if it is absent.
absl::StatusOr<std::vector<std::string>> Strings(const Node& node, std::string_view name);

// Returns input 0 as [rows, features] of f32, or of f64 if it has that type. A vector is one row.
absl::StatusOr<Value> Rows(Formula& f, const Node& node);

// Returns a constant of `dtype` with these elements in row-major order.
Value Table(Formula& f, Node& node, DType dtype, std::span<const int64_t> dims,
            std::span<const double> values);
Value Table(Formula& f, Node& node, std::span<const int64_t> dims, std::span<const int64_t> values);

}  // namespace tenon::onnx::ml

#endif  // TENON_FRONTENDS_ONNX_OPS_ML_SCORES_H_
