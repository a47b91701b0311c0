// Comparing a model with another engine, value by value.
#ifndef TENON_FRONTENDS_DEBUG_COMPARE_NODES_H_
#define TENON_FRONTENDS_DEBUG_COMPARE_NODES_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/tensor.h"
#include "frontends/cpp/tenon.h"
#include "frontends/debug/compare.h"

namespace tenon {

// Runs an ONNX model in another engine. `more_outputs` are bytes that belong behind those of the
// file: they make outputs of values inside of the model. Returns the outputs of the model in order,
// those of `more_outputs` behind them. An output that the engine cannot give is null.
using RunElsewhere =
    std::function<absl::StatusOr<std::vector<Tensor>>(const std::string& more_outputs)>;

// One value in both engines.
struct ComparedValue {
  std::string value,              // its name in the model
      node,                       // the node that computes it
      type;                       // "2x3xf32", as Tenon computes it
  Difference difference;          // between the engines
  std::vector<int64_t> position;  // of the element that difference.problem shows; may be empty
};

// The result of CompareNodes.
struct NodeComparison {
  std::vector<ComparedValue> values;  // in the order in which they are computed
  std::vector<std::string> skipped;   // values that the other engine did not give
  std::vector<Tensor> outputs;        // of the model, as the other engine computes them
  // The first value that differs: what is computed before it is equal. Null if there is none.
  const ComparedValue* first() const;
  // The value with the largest relative error of all that pass; null if there is none.
  const ComparedValue* largest() const;
};

// Loads the ONNX model at `path` with every value as an output, compiles it as it is, without
// rewrites, and runs it on `inputs`. Compares the values with those of the other engine. Errors are
// those of Load, Compile, Program::Run and `elsewhere`. Unavailable if the engine gives another
// number of outputs.
absl::StatusOr<NodeComparison> CompareNodes(const std::string& path, LoadOptions load,
                                            const CompileOptions& compile,
                                            std::span<const Tensor> inputs,
                                            const RunElsewhere& elsewhere,
                                            const CompareTensors& compare);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_COMPARE_NODES_H_
