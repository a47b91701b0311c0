// Names that are visible while a graph is imported.
#ifndef TENON_FRONTENDS_ONNX_SCOPE_H_
#define TENON_FRONTENDS_ONNX_SCOPE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "frontends/onnx/graph_order.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/block.h"
#include "ir/core/value.h"

namespace tenon::onnx {

// Values by name, in a graph and the graphs around it. A function body sees only its own.
struct Scope {
  Scope* parent = nullptr;
  absl::flat_hash_map<std::string, Value> values;
  // Initializers. Each becomes a constant when it is first read.
  absl::flat_hash_map<std::string, const onnxpb::TensorProto*> weights;
  // Declared types of values, which are only hints.
  absl::flat_hash_map<std::string, const onnxpb::TypeProto*> declared;
  NameSet used;            // names that nodes read or the graph returns
  Block* block = nullptr;  // constants are created at its start
  Operation* last_weight = nullptr;
};

// The function body whose nodes are imported; the main graph has the outermost one.
struct Frame {
  const Frame* caller = nullptr;
  const onnxpb::FunctionProto* function = nullptr;  // null for the main graph
  std::map<std::string, int64_t> opsets;            // by domain
  // Values of the function's attributes in this call.
  std::map<std::string, const onnxpb::AttributeProto*> attributes;
  Location call;
  int depth = 0;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_SCOPE_H_
