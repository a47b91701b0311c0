// The pass export-onnx.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_EXPORT_ONNX_H_
#define TENON_FRONTENDS_ONNX_EXPORT_EXPORT_ONNX_H_

#include "absl/status/status.h"
#include "frontends/onnx/ops/adapters.h"
#include "pass/pass.h"

namespace tenon::onnx {

// The oldest opset that the pass writes. The newest is kNewestOpset (adapters.h).
inline constexpr int64_t kOldestOpset = 13;
// The opset of programs that come from no ONNX model.
inline constexpr int64_t kUsualOpset = 18;

// Writes the operations of a function that no node of the opset computes as simpler ones. The pass
// does it too. Before it, equal parts of what is taken apart can be merged.
absl::Status DecomposeAll(Operation& function, int64_t opset);

// Registers the pass. AlreadyExists if its name is taken.
absl::Status RegisterExportPass(PassRegistry& registry);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_EXPORT_ONNX_H_
