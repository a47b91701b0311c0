// Tensors of strings of a model as inputs and outputs of a program.
#ifndef TENON_FRONTENDS_CPP_FILES_STRINGS_H_
#define TENON_FRONTENDS_CPP_FILES_STRINGS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/program.h"
#include "executor/tensor.h"
#include "frontends/debug/compare.h"

namespace tenon {

// A tensor `x` of strings is two inputs or outputs of a program: `x#spans` (i64, in the shape of
// the tensor: where each string lies in the text) and `x#text` (ui8, a vector: the bytes of the
// strings). ir/base/string_span.h says what a span is.
struct StringPorts {
  std::string name;  // the name in the model
  size_t first = 0;  // the place of the spans; the text follows
};

// Returns the tensors of strings among the inputs or outputs of a program, in their order.
std::vector<StringPorts> FindStrings(std::span<const TensorSpec> ports);

// Strings in row-major order, which may hold any bytes.
struct StringTensor {
  std::vector<int64_t> shape;        // the extents
  std::vector<std::string> strings;  // one for each element
};

// Returns the two tensors for strings. InvalidArgument if their number does not fit the shape, or
// if they are too long.
absl::StatusOr<std::vector<Tensor>> PackStrings(const StringTensor& value);
// The reverse. InvalidArgument if the tensors do not fit each other.
absl::StatusOr<StringTensor> UnpackStrings(const Tensor& spans, const Tensor& text);

// Compares the spans and texts of two tensors of strings: equal are those with equal strings.
Difference CompareStrings(std::span<const Tensor> actual, std::span<const Tensor> expected);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_FILES_STRINGS_H_
