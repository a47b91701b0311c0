// Marks of parameters whose values may change while programs run.
#ifndef TENON_IR_DIALECT_REPLACEABLE_H_
#define TENON_IR_DIALECT_REPLACEABLE_H_

#include <string_view>

namespace tenon {

// A `core.parameter` with this attribute is replaceable: no pass reads its value, so that nothing
// in the program depends on it but what its readers compute.
inline constexpr std::string_view kReplaceable = "core.replaceable";
// A `core.constant` of a lowered function with this attribute, a string, has the value of the
// replaceable parameter of that name.
inline constexpr std::string_view kValueOfParameter = "core.value_of";
// A replaceable `core.parameter` with this attribute, a bool, is a matrix whose readers multiply by
// it. True: it is [inputs, outputs]. False: it is [outputs, inputs].
inline constexpr std::string_view kInputsFirst = "core.inputs_first";

}  // namespace tenon

#endif  // TENON_IR_DIALECT_REPLACEABLE_H_
