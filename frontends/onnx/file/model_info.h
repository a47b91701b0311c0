// What an ONNX model says about itself, beside its graph.
#ifndef TENON_FRONTENDS_ONNX_FILE_MODEL_INFO_H_
#define TENON_FRONTENDS_ONNX_FILE_MODEL_INFO_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tenon::onnx {

// The importer fills it in, and the exporter writes it again.
struct ModelInfo {
  int64_t ir_version = 0;  // of the file format; 0: not known
  int64_t opset = 0;       // version of ONNX's own operators; 0: not known
  // Versions of the operators of every domain, in the order of the model; "" is ONNX's own.
  std::vector<std::pair<std::string, int64_t>> opsets;
  // Nodes by operator, such as "MatMul" or "com.microsoft.Gelu", those of nested graphs included.
  std::map<std::string, int64_t> operators;
  int64_t model_version = 0;  // as the model's author counts
  std::string producer_name,  // the program that wrote the file
      producer_version;       // its version
  // Constants of floats whose elements the importer has read. What it made of them, such as the
  // bounds of a Clip, does not change with the constants.
  std::set<std::string, std::less<>> read_constants;
  // The outputs that ModelEdit::expose_values added, in order.
  std::vector<std::string> exposed;
  std::string domain,  // the namespace of the model
      doc_string,      // the description of the model
      graph_name;      // of the main graph
  // metadata_props, in their order.
  std::vector<std::pair<std::string, std::string>> metadata;
};

}  // namespace tenon::onnx

#endif  // TENON_FRONTENDS_ONNX_FILE_MODEL_INFO_H_
