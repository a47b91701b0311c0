// Importing the body of a loop with types that hold in every iteration. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTROL_LOOP_BODY_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTROL_LOOP_BODY_H_

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/node.h"
#include "ir/dialect/ctl.h"

namespace tenon::onnx {

// The facts that a loop node gives.
struct LoopSpec {
  Value lower, upper, step;        // of the counter; scalars
  std::vector<Value> inits;        // carried values at the start
  std::vector<std::string> names;  // of the carried values in the body
  std::vector<LoopScan> scans;     // results that are stacked
  int64_t body_nodes = 0;          // for the limit on repeated imports
  // `run` sets it when it has learned what a carried sequence holds: the body is imported again.
  bool* again = nullptr;
  // Imports the body once. Returns the next carried values, then the values to be stacked.
  std::function<absl::StatusOr<std::vector<Value>>(OpBuilder& builder, Value counter,
                                                   std::span<const Value> carried)>
      run;
};

// Creates a ctl.for with `builder`. The body is first imported for the types of the initial values.
// If an extent changes between iterations, it is imported again with an extent of its own. In the
// result types such an extent is Unknown. Results are not registered. Unimplemented if a value
// changes its element type or rank.
absl::StatusOr<Operation*> ImportLoopBody(Node& node, OpBuilder& builder, const LoopSpec& spec);

// Replaces a loop of ImportLoopBody, whose first carried value is the condition of another run, by
// a ctl.while. `trips` bounds the runs, unless it is null. Returns the results without the
// condition.
absl::StatusOr<std::vector<Value>> ToWhile(Node& node, Operation* loop, Value trips);

// Returns the attributes that say how `scans` are stacked; none if there are none.
template <typename Attrs>
Attrs ScanAttrs(std::span<const LoopScan> scans) {
  Attrs attrs;
  if (scans.empty()) return attrs;
  attrs.scan_axes.emplace();
  bool any = false;
  for (const LoopScan& scan : scans) {
    attrs.scan_axes->push_back(scan.axis);
    any |= scan.reverse;
  }
  if (!any) return attrs;
  attrs.scan_reverse.emplace();
  for (const LoopScan& scan : scans) attrs.scan_reverse->push_back(scan.reverse ? 1 : 0);
  return attrs;
}

// Returns a value of one element as a scalar.
absl::StatusOr<Value> ToScalar(Node& node, Value value);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTROL_LOOP_BODY_H_
