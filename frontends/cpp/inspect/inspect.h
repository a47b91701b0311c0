// What a model has and needs, before it is run.
#ifndef TENON_FRONTENDS_CPP_INSPECT_INSPECT_H_
#define TENON_FRONTENDS_CPP_INSPECT_INSPECT_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"

namespace tenon {

// An amount that may depend on dimensions of the model.
struct Amount {
  double number = 0;  // the part that is known
  std::string
      expression;         // the part that depends on symbols, as "1536 * batch * seq"; may be empty
  int64_t uncounted = 0;  // operations of which nothing is known
};

// An input or output.
struct InspectedValue {
  std::string name,               // in the model
      dtype;                      // "f32"; the text of the type if it is no tensor
  std::vector<std::string> dims;  // numbers and expressions; "?" for an unknown one
  bool ranked = false;            // true if `dims` are known
};

// Operations of one kind.
struct InspectedOps {
  int64_t count = 0;  // how many there are
  Amount flops;       // see symbolic_cost.h
};

// An operation that has no counterpart in Tenon.
struct UnsupportedOp {
  std::string op,  // "NonMaxSuppression", or "domain.Name"
      node,        // the node of the model
      reason;      // why the importer did not read it; may be empty
};

// The result of Inspect.
struct Inspection {
  int64_t ir_version = 0;  // of the ONNX file; 0 for IR text, which also lacks the next five
  std::string producer;    // the program that wrote the file
  std::vector<std::pair<std::string, int64_t>> opsets;        // "" is ONNX's own domain
  std::vector<std::pair<std::string, std::string>> metadata;  // metadata_props
  std::map<std::string, int64_t> operators;                   // nodes of the file
  std::string description;                                    // doc_string
  std::vector<InspectedValue> inputs,                         // of the main function
      outputs;                                                // of the main function
  int64_t parameter_tensors = 0,                              // constants that are read
      parameters = 0,                                         // their elements
      parameter_bytes = 0;                                    // their bytes
  Amount flops;  // of all operations; bodies of loops and branches count once
  Amount bytes;  // the same for operands read and results written
  std::map<std::string, InspectedOps> operations;  // of the main function, by name
  std::vector<UnsupportedOp> unsupported;          // in order
};

// Looks at the main function. `reasons` says why nodes were not imported, by their names. The text
// comes from the remarks of Load. InvalidArgument for a model without a main function.
absl::StatusOr<Inspection> Inspect(const Model& model,
                                   const std::map<std::string, std::string>& reasons = {});

std::string InspectionText(const Inspection& inspection);  // for people
std::string InspectionJson(const Inspection& inspection);  // docs/guide/inspect-a-model.md

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_INSPECT_INSPECT_H_
