// The body of fused.group: a DAG of ops on single elements and on whole rows, and its text. This
// header does not include the IR, so that kernels can read bodies, too.
#ifndef TENON_IR_BASE_POINTWISE_H_
#define TENON_IR_BASE_POINTWISE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/base/dtype.h"

namespace tenon {

// The ops that a body may have; ir/base/pointwise_ops.def lists them.
enum class PointwiseOp : uint8_t {
// Makes the enumerator of one entry of the list.
#define TENON_POINTWISE_OP(id, name, operands, dtypes, result) k##id,
// The same of an op on rows.
#define TENON_ROW_OP(id, name, rows) k##id,
#include "ir/base/pointwise_ops.def"
#undef TENON_POINTWISE_OP
#undef TENON_ROW_OP
};

// Element types that an op accepts.
enum class PointwiseDTypes : uint8_t {
  kFloats,      // f32
  kNumbers,     // f32, i32, i64
  kBools,       // bool
  kAll,         // numbers and bool
  kConvertible  // those, ui8 and i8
};

// Facts about one op.
struct PointwiseOpInfo {
  // The element type of the result.
  enum class Result : uint8_t {
    kSame,      // that of the operands
    kSecond,    // that of the second operand
    kBool,      // bool
    kParameter  // the parameter `to`
  };
  // What the op does with the rows of the group, which are its last axis.
  enum class Rows : uint8_t {
    kNone,     // works on single elements
    kReduces,  // makes one element of each row
    kKeeps     // makes a row of each row
  };
  const char* name;        // name of the op in IR, such as "ten.add"
  int num_operands;        // 1 to 3
  PointwiseDTypes dtypes;  // allowed for its operands
  Result result;           // the element type of its result
  // Attributes of the op, in the order of PointwiseStep::params; null ends the list.
  std::array<const char*, 3> params;
  Rows rows;  // kNone for all but the row ops
};

// Returns the facts about `op`.
const PointwiseOpInfo& InfoOf(PointwiseOp op);
// Finds an op by name. False if no such op may stand in a body.
bool FindPointwiseOp(std::string_view name, PointwiseOp& op);
// Returns the element type of the result; kInvalid if the op does not accept these operands. The
// first operand of ten.where is a bool; all other operands have one type.
DType PointwiseResult(PointwiseOp op, std::span<const DType> operands,
                      std::span<const double> params);

// Converts a parameter that is a word: the element type `to` of ten.cast, or `approximate` of
// nn.gelu. False if `word` is not known.
bool PointwiseWord(PointwiseOp op, std::string_view word, double& value);

// A constant operand.
struct PointwiseConstant {
  DType dtype = DType::kF32;  // f32, i32, i64 or bool
  double real = 0;            // the value of f32
  int64_t integer = 0;        // the value of all other types

  // Compares bits: a NaN equals itself, and -0 differs from 0.
  bool operator==(const PointwiseConstant& other) const {
    return dtype == other.dtype && integer == other.integer &&
           std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(other.real);
  }
};

// One op of a body.
struct PointwiseStep {
  PointwiseOp op = PointwiseOp::kAdd;          // what it computes
  DType dtype = DType::kInvalid;               // of the result
  std::array<int, 3> operands = {-1, -1, -1};  // numbers of values; -1: none
  std::array<double, 3> params = {};           // values of PointwiseOpInfo::params

  // The operands that the op has.
  std::span<const int> used() const {
    return {operands.data(), static_cast<size_t>(InfoOf(op).num_operands)};
  }
};

// A body. Its values are numbered: first the inputs, then the constants, then the results of the
// steps. A step reads only values with smaller numbers than its own.
struct PointwiseBody {
  std::vector<DType> inputs;                 // their element types
  std::vector<PointwiseConstant> constants;  // operands that are numbers
  std::vector<PointwiseStep> steps;          // each makes one value
  std::vector<int> results;                  // one or more values of steps, all different

  // The number of the first constant.
  int first_constant() const { return static_cast<int>(inputs.size()); }
  // The number of the result of the first step.
  int first_step() const { return first_constant() + static_cast<int>(constants.size()); }
  // The number of inputs, constants and steps together.
  int num_values() const { return first_step() + static_cast<int>(steps.size()); }
  // The element type of a value. Requires 0 <= value < num_values().
  DType dtype(int value) const;
  // True if a step works on whole rows.
  bool has_row_ops() const;
};

// Tells for each value of `body` whether it has one element for each row, in place of a whole row.
// The steps kReduces make such values, and so do elementwise steps that read only them and
// constants.
std::vector<bool> OnePerRow(const PointwiseBody& body);

// Returns the text of `body`, such as
//   %2 = ten.add %0, %1; %3 = ten.clip %2 {max = 6, min = 0}; yield %3
// Inputs and steps are numbered. Constants stand in place: f32 with a point, exponent or word,
// integers as "3 : i64", bools as true and false. Row ops have no attribute for their axis. Norms
// have neither scale nor bias: these are steps of their own, behind them.
std::string PointwiseText(const PointwiseBody& body);

// Reads such text for inputs of the given element types into `body`. False on a mistake; `error`
// then says what was expected and where. The operand of a row op is a whole row of f32.
bool ParsePointwise(std::string_view text, std::span<const DType> inputs, PointwiseBody& body,
                    std::string& error);

}  // namespace tenon

#endif  // TENON_IR_BASE_POINTWISE_H_
