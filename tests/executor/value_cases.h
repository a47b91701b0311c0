// Calls of operations whose operands decide shapes, positions, axes, lengths or counts, with values
// that a run must refuse.
#ifndef TENON_TESTS_EXECUTOR_VALUE_CASES_H_
#define TENON_TESTS_EXECUTOR_VALUE_CASES_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/tensor.h"

namespace tenon {

struct NamedTensor {
  std::string name;  // as in the YAML; several of one name are a variadic operand
  Tensor tensor;
};
// Other values of an operand, of the same type.
struct OtherValues {
  std::string operand;
  std::vector<Tensor> values;
};

// A call that succeeds, and what becomes of it with other values.
struct ValueCase {
  std::string op;
  std::string attrs;                  // text, without operandSegmentSizes
  std::vector<NamedTensor> operands;  // those that are present, in order
  std::vector<std::string> results;   // types: "?x3xf32"
  std::vector<OtherValues> wrong;     // each is an error
  std::vector<OtherValues> defined;   // each succeeds: every value has a meaning
  std::string regions = {};           // text
};
std::vector<ValueCase> ValueCases();

// A dimension attribute that is an expression of S, an extent of the operand "?x6xf32".
struct DimsCase {
  std::string op, attr;
  std::string attrs;  // text
  std::vector<std::string> results;
  int64_t right, wrong;  // values of S; wrong < 0: every value is right
  bool has_operand = true;
};
std::vector<DimsCase> DimsCases();

// Operands whose values are data: none of them is a shape, position, axis, length or count.
struct DataOperands {
  std::string_view reason;
  std::vector<std::string_view> operands;  // "ten.matmul.a"
};
std::vector<DataOperands> DataOnlyOperands();
// The same of dimension attributes.
std::vector<DataOperands> DataOnlyDims();

}  // namespace tenon

#endif  // TENON_TESTS_EXECUTOR_VALUE_CASES_H_
