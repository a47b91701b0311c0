// Low-rank adapters (LoRA) as PEFT saves them, put onto a program and taken off again.
//
// Sources: https://arxiv.org/abs/2106.09685, section 4.1: a weight W becomes W + alpha / r * B A.
// https://arxiv.org/abs/2312.03732 divides by the root of r instead. Names and the file of settings
// are those of PEFT, https://github.com/huggingface/peft (adapter_model.safetensors,
// adapter_config.json).
#ifndef TENON_FRONTENDS_CPP_PARAMETERS_LORA_H_
#define TENON_FRONTENDS_CPP_PARAMETERS_LORA_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "executor/program.h"
#include "frontends/cpp/parameters/safetensors.h"
#include "ir/base/limits.h"

namespace tenon {

// How an adapter is read.
struct AdapterOptions {
  // Overrides lora_alpha of the file of settings. Without both it is the rank, so that the product
  // is added as it is.
  std::optional<double> alpha{};
  // The file of settings. Empty: adapter_config.json in the folder of the adapter, if it is there.
  std::string config{};
  Limits limits{};  // of the files
};

// What an adapter adds to the weight of one module: scale * B A.
struct LowRankUpdate {
  std::string module;  // as in "encoder.layer.0.attention.query"
  SafeTensor a;        // [rank, inputs]
  SafeTensor b;        // [outputs, rank]
  double scale = 1;    // of the product
};

// An adapter. It refers to the bytes of its file.
struct Adapter {
  std::vector<LowRankUpdate> updates;  // by module, in alphabetical order
};

// Reads a file in the format safetensors with tensors "…lora_A.weight" and "…lora_B.weight". The
// prefix "base_model.model." is left away. Errors are those of ReadSafeTensors. InvalidArgument if
// a tensor has no partner, or the shapes or types of two do not fit, or the settings are not those
// of an adapter. Unimplemented for other tensors and settings that change how it is applied, such
// as DoRA, and for convolutions.
absl::StatusOr<Adapter> ReadAdapter(const std::string& path, const AdapterOptions& options = {});

// The weight of a module, where its name does not say which parameter it is: exporters give some
// weights names such as "onnx::MatMul_350".
struct AdapterWeight {
  std::string parameter;  // its name
  // Whether it is [inputs, outputs]. Empty: as its shape says, or of a square its readers
  // (TensorSpec::inputs_first).
  std::optional<bool> transposed{};
};

// How an adapter finds the weights of a program.
struct ApplyOptions {
  std::map<std::string, AdapterWeight, std::less<>> weights{};  // by module, which must be there
};

// Adds an adapter to the weights of a program: replaceable parameters of f16, bf16, f32 or f64. The
// weight of module "m" is the parameter "m.weight", or else the only one whose name ends with
// ".m.weight". Sums are computed in f64 and rounded once. Returns the values before, which
// Program::ReplaceParameters gives back: then all bytes are as they were. Take off several adapters
// in reverse order. Other threads may run the program meanwhile, but not replace its parameters.
//
// NotFound if a weight is not there or `weights` names what the adapter lacks. InvalidArgument if
// two are, if shapes do not fit, or if neither they nor readers tell the axes. Nothing is replaced
// then.
absl::StatusOr<std::vector<ParameterValue>> ApplyAdapter(Program& program, const Adapter& adapter,
                                                         const ApplyOptions& options = {});

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_PARAMETERS_LORA_H_
