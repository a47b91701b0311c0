// ONNX models with a few changes.
#ifndef TENON_TESTS_FUZZ_MODEL_MUTATOR_H_
#define TENON_TESTS_FUZZ_MODEL_MUTATOR_H_

#include <cstdint>
#include <map>
#include <random>
#include <string>

#include "frontends/onnx/onnx.pb.h"

namespace tenon::fuzz {

// Changes bytes of a model's file, or fields of its message. The bytes of large weights, where a
// change does nothing, stay as they are. Deterministic.
class ModelMutator {
 public:
  // REQUIRES: `bytes` is a model.
  ModelMutator(const std::string& bytes, uint32_t seed);

  std::string Next();

 private:
  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
  std::string ChangedBytes();
  std::string ChangedMessage();
  void ChangeNode(onnxpb::GraphProto& graph);

  onnxpb::ModelProto original_;
  std::string skeleton_;                        // without the bytes of large weights
  std::map<std::string, std::string> weights_;  // those bytes, by the name of the tensor
  std::mt19937 random_;
};

}  // namespace tenon::fuzz

#endif  // TENON_TESTS_FUZZ_MODEL_MUTATOR_H_
