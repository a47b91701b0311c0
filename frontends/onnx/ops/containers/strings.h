// Tensors of strings while a graph is imported: containers of the kind kStrings. Internal to the
// importer.
#ifndef TENON_FRONTENDS_ONNX_OPS_CONTAINERS_STRINGS_H_
#define TENON_FRONTENDS_ONNX_OPS_CONTAINERS_STRINGS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "frontends/onnx/file/string_data.h"
#include "frontends/onnx/formula.h"
#include "frontends/onnx/ops/adapters.h"

namespace tenon::onnx {

// Reads a tensor of strings. An error if it has another number of strings than its dimensions say.
// Messages do not name the tensor.
absl::StatusOr<StringData> DecodeStrings(const onnxpb::TensorProto& tensor);

// Returns constants at `builder`, or at that of the node, that hold strings.
absl::StatusOr<Container> ConstantStrings(GraphImporter& importer, OpBuilder& builder,
                                          Location location, std::span<const int64_t> dims,
                                          const std::vector<std::string>& strings);
absl::StatusOr<Container> ConstantStrings(const Node& node, std::span<const int64_t> dims,
                                          const std::vector<std::string>& strings);
// Returns the strings of an initializer as a value of the tables.
absl::StatusOr<Value> StringInitializer(GraphImporter& importer, const onnxpb::TensorProto& tensor,
                                        Location location, OpBuilder& builder);

// True if input i is a tensor of strings.
bool HasStrings(const Node& node, int i);
// Returns the strings of input i; an error unless it is a tensor of strings.
absl::StatusOr<Container> StringsInput(const Node& node, int i);
// Returns the strings that a graph gives back: in a text that holds them in order.
Container InOrder(Formula& f, const Container& strings);
// Moves all strings into one text, and sets their spans anew. Returns the text.
Value JoinTexts(Formula& f, std::span<Container> strings);
// Returns, for each string, its position among `keys`, and -1 if it is none of them.
Value FindStrings(Formula& f, const Container& strings, const Container& keys);
// Returns the strings of `table`, a vector, at positions.
Container GatherStrings(Formula& f, const Container& table, Value positions);
// Sets an output of the node to strings, or returns the error.
absl::Status ReturnStrings(Formula& f, Node& node, const Container& strings, int output = 0);

// Imports a node that has strings among its inputs. The adapter is called where it can: with the
// strings themselves, or with their spans if the operator only moves elements.
absl::Status ImportOnStrings(Node& node, AdapterFn adapter);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_OPS_CONTAINERS_STRINGS_H_
