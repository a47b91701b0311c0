// Changes to an ONNX model that are made before it is imported.
#ifndef TENON_FRONTENDS_ONNX_EDIT_MODEL_EDIT_H_
#define TENON_FRONTENDS_ONNX_EDIT_MODEL_EDIT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tenon::onnx {

// Changes to a model. The importer makes them in the order of the fields.
struct ModelEdit {
  // "FROM:TO" keeps only what TO needs, and computes nothing in front of FROM; empty keeps all.
  // FROM and TO are lists of names between commas. A name is that of a value or of a node. A node
  // in FROM stands for what it reads, a node in TO for its outputs. An empty FROM means the inputs
  // of the model, an empty TO its outputs. The inputs of the part are FROM, in order, and those of
  // the model that it also reads, with a remark. Its outputs are TO.
  std::string part{};
  // Sizes of inputs. A name of a dimension has one number, for every dimension of this name. The
  // name of an input has its whole shape. A name that is both, with one number, is a dimension. A
  // dimension named like an expression, as "past + 1", follows from the sizes of its parts.
  std::map<std::string, std::vector<int64_t>> sizes{};
  // Every value of the main graph that a node reads becomes an output, behind those of the model,
  // in the order of the nodes.
  bool expose_values = false;
  // Nodes of ONNX Runtime's own operators stay as they are, as opaque operations whose results have
  // the types that the importer infers. For a model that is written as ONNX again: it cannot run.
  bool keep_microsoft = false;

  // True if the edit changes no part of the model. Kept nodes are no change.
  bool empty() const { return part.empty() && sizes.empty() && !expose_values; }
};

// Returns bytes that make outputs of values, if they are appended to those of a model: readers of
// protobuf merge both.
std::string OutputDeclarations(std::span<const std::string> names);

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_EDIT_MODEL_EDIT_H_
