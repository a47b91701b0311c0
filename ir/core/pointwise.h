// The body of fused.group: a DAG of elementwise ops on single elements, and its text. Includes
// nothing of the IR, so that kernels read bodies with it too.
#ifndef TENON_IR_CORE_POINTWISE_H_
#define TENON_IR_CORE_POINTWISE_H_

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/dtype.h"

namespace tenon {

enum class PointwiseOp : uint8_t {
#define TENON_POINTWISE_OP(id, name, operands, dtypes, result) k##id,
#include "ir/core/pointwise_ops.def"
#undef TENON_POINTWISE_OP
};

// Element types by groups of ops: floats are f32; numbers f32, i32 and i64; all, these and bool;
// convertible, all and ui8 and i8.
enum class PointwiseDTypes : uint8_t { kFloats, kNumbers, kBools, kAll, kConvertible };

struct PointwiseOpInfo {
  // The element type of the result: the first operand's, the second's, bool, or a parameter.
  enum class Result : uint8_t { kSame, kSecond, kBool, kParameter };
  const char* name;
  int num_operands;
  PointwiseDTypes dtypes;
  Result result;
  // Attributes of the op, in this order in PointwiseStep::params; null: no more.
  std::array<const char*, 3> params;
};

const PointwiseOpInfo& InfoOf(PointwiseOp op);
// False if no op of that name may stand in a body.
bool FindPointwiseOp(std::string_view name, PointwiseOp& op);
// The element type of the result; kInvalid if the op does not work on operands of these types. Of
// ten.where the first operand is a bool, of all other ops the operands have one type.
DType PointwiseResult(PointwiseOp op, std::span<const DType> operands,
                      std::span<const double> params);

// The value of a parameter that is a word: an element type of ten.cast's `to`, a word of nn.gelu's
// `approximate`. False if it is none.
bool PointwiseWord(PointwiseOp op, std::string_view word, double& value);

struct PointwiseConstant {
  DType dtype = DType::kF32;
  double real = 0;      // of f32
  int64_t integer = 0;  // of the others

  // The same bits: a NaN is itself, and -0 is not 0.
  bool operator==(const PointwiseConstant& other) const {
    return dtype == other.dtype && integer == other.integer &&
           std::bit_cast<uint64_t>(real) == std::bit_cast<uint64_t>(other.real);
  }
};

struct PointwiseStep {
  PointwiseOp op = PointwiseOp::kAdd;
  DType dtype = DType::kInvalid;
  std::array<int, 3> operands = {-1, -1, -1};  // values; -1: there is none
  std::array<double, 3> params = {};

  std::span<const int> used() const {
    return {operands.data(), static_cast<size_t>(InfoOf(op).num_operands)};
  }
};

// Values are numbered: the inputs, then the constants, then one for each step. A step reads values
// of earlier steps only.
struct PointwiseBody {
  std::vector<DType> inputs;
  std::vector<PointwiseConstant> constants;
  std::vector<PointwiseStep> steps;
  std::vector<int> results;  // distinct values of steps, one or more

  int first_constant() const { return static_cast<int>(inputs.size()); }
  int first_step() const { return first_constant() + static_cast<int>(constants.size()); }
  int num_values() const { return first_step() + static_cast<int>(steps.size()); }
  DType dtype(int value) const;
};

// "%2 = ten.add %0, %1; %3 = ten.clip %2 {max = 6, min = 0}; yield %3": inputs and steps by number,
// constants as numbers (with a point, an exponent or a word: f32; "3 : i64"; true and false).
std::string PointwiseText(const PointwiseBody& body);

// Reads such text. False: `error` says what was expected, and where.
bool ParsePointwise(std::string_view text, std::span<const DType> inputs, PointwiseBody& body,
                    std::string& error);

}  // namespace tenon

#endif  // TENON_IR_CORE_POINTWISE_H_
