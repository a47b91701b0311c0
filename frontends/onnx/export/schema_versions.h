// Which versions of an operator mean the same. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_SCHEMA_VERSIONS_H_
#define TENON_FRONTENDS_ONNX_EXPORT_SCHEMA_VERSIONS_H_

#include <cstdint>
#include <optional>
#include <string_view>

#include "ir/core/operation.h"

namespace tenon::onnx {

// True if a node of opset `from` means the same in opset `to`. `op` has its domain in front, but
// for ONNX's own: "Loop", "ai.onnx.ml.Normalizer". Of an operator that the table lacks, this holds
// for equal opsets only.
bool MeansTheSame(std::string_view op, int64_t from, int64_t to);

// A node of a model: the opaque operation onnx.<OpType>.
struct ModelNode {
  std::string_view domain;       // empty for ONNX's own
  std::string_view type;         // as in the model, without the domain
  std::optional<int64_t> opset;  // of its domain
};
// Requires an operation of the dialect onnx.
ModelNode NodeOf(const Operation& op);

// Returns an opset of `least` to `newest` in which all nodes of a function mean what they do in
// theirs: `preferred`, or the next newer one, or the next older one. `preferred` if there is none.
int64_t OpsetForNodes(const Operation& function, int64_t preferred, int64_t least, int64_t newest);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_SCHEMA_VERSIONS_H_
