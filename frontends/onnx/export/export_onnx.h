// The pass export-onnx.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_EXPORT_ONNX_H_
#define TENON_FRONTENDS_ONNX_EXPORT_EXPORT_ONNX_H_

#include "absl/status/status.h"
#include "frontends/onnx/ops/adapters.h"
#include "pass/pass.h"

namespace tenon::onnx {

// The oldest opset that the pass writes. The newest is kNewestOpset (adapters.h).
inline constexpr int64_t kOldestOpset = 17;

// Registers the pass. AlreadyExists if its name is taken.
absl::Status RegisterExportPass(PassRegistry& registry);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_EXPORT_ONNX_H_
