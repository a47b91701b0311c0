// The parameters of a module (core.parameter) as files.
#ifndef TENON_FRONTENDS_CPP_PARAMETERS_PARAMETERS_H_
#define TENON_FRONTENDS_CPP_PARAMETERS_PARAMETERS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/cpp/parameters/replaceable.h"
#include "frontends/cpp/parameters/safetensors.h"
#include "ir/core/attribute.h"
#include "ir/core/operation.h"

namespace tenon {

// A parameter of a module.
struct Parameter {
  std::string name;  // its symbol
  Type type;         // of its value, or of those who read it; null if neither is known
  Attribute value;   // null if it has none
};
// The parameters at the top of `module`, in its order.
std::vector<Parameter> ListParameters(const Operation& module);

// Gives values to the tensors of `file`, which have the names of parameters of `module`, or of
// named constants in its functions: those that an ONNX model holds as initializers. Others keep
// theirs. The constants refer to the bytes of the file. InvalidArgument for a tensor that nothing
// in the module has the name or the type of, and for one that has the name of a constant in `read`
// (onnx::ModelInfo::read_constants), which may be null; errors of ReadSafeTensors. The module is
// unchanged then. `source` receives the mapped file; it may be null.
absl::Status LoadParameters(Operation& module, const std::string& file, const Limits& limits = {},
                            SourceFile* source = nullptr, const ConstantNames* read = nullptr);

// Writes the values of all parameters at the top of `module` that have one. Errors are those of
// WriteSafeTensors; FailedPrecondition if there is none.
absl::Status SaveParameters(const Operation& module, const std::string& file);
// Takes these values out of the module. LoadParameters gives them back.
void DropParameterValues(Operation& module);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_PARAMETERS_PARAMETERS_H_
