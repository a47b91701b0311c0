// Making the changes of a ModelEdit. Internal to the importer.
#ifndef TENON_FRONTENDS_ONNX_EDIT_EDIT_MODEL_H_
#define TENON_FRONTENDS_ONNX_EDIT_EDIT_MODEL_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "frontends/onnx/edit/model_edit.h"
#include "frontends/onnx/graph_order.h"
#include "frontends/onnx/onnx.pb.h"
#include "ir/core/context/context.h"

namespace tenon::onnx {

// Types of values by name.
using TypeProtos = std::map<std::string, onnxpb::TypeProto>;

// Adds the types of those keys that the importer infers for the whole model. Others stay as they
// are.
using InferTypes = std::function<void(TypeProtos& types)>;

// Cuts the part and fixes sizes as `edit` says. InvalidArgument, with the nearest name, for names
// that the model lacks. Also for values that do not feed the part, and for sizes that contradict
// the model or each other.
absl::Status EditModel(Context& context, const ModelEdit& edit, const InferTypes& infer,
                       onnxpb::ModelProto& model);

// Makes outputs of all values that a node reads.
void ExposeValues(onnxpb::GraphProto& graph);

// The steps of EditModel, in their own files.
absl::Status CutPart(Context& context, const std::string& part, const InferTypes& infer,
                     onnxpb::GraphProto& graph);
absl::Status FixSizes(Context& context, const std::map<std::string, std::vector<int64_t>>& sizes,
                      onnxpb::GraphProto& graph);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EDIT_EDIT_MODEL_H_
