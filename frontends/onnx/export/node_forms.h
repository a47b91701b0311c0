// What the nodes of ONNX's own operators may have in each opset. Internal to the exporter.
#ifndef TENON_FRONTENDS_ONNX_EXPORT_NODE_FORMS_H_
#define TENON_FRONTENDS_ONNX_EXPORT_NODE_FORMS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ir/base/dtype.h"

namespace tenon::onnx {

// An input or output of an operator.
struct Formal {
  char variable = '_';    // values of one variable have one element type; '_': any of their own
  uint32_t types = 0;     // the bit of each type of TensorProto; 0: never a tensor
  bool variadic = false;  // stands for all that follow, too
  bool Takes(DType dtype) const;
  bool TakesOnlyStrings() const;
  // The only type that it takes; kInvalid if there are more.
  DType OnlyType() const;
};

// An operator of one opset.
struct NodeForm {
  std::string_view attributes;  // names, with a space between
  std::vector<Formal> inputs, outputs;

  bool HasAttribute(std::string_view name) const;
  bool HasInputs(size_t count) const;
  // Null if there is none.
  const Formal* input(size_t i) const;
  const Formal* output(size_t i) const;
};

// True for an operator of some opset.
bool IsOnnxOperator(std::string_view type);

// The form of an operator in an opset of kOldestOpset (export_onnx.h) or newer; nullopt if the
// opset lacks it.
std::optional<NodeForm> FormOf(std::string_view type, int64_t opset);
inline bool HasNode(std::string_view type, int64_t opset) {
  return FormOf(type, opset).has_value();
}

// The oldest opset whose form `fits`; nullopt if there is none.
std::optional<int64_t> OldestWith(std::string_view type,
                                  absl::FunctionRef<bool(const NodeForm&)> fits);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EXPORT_NODE_FORMS_H_
