// Packed weights in the file of a program.
#ifndef TENON_EXECUTOR_WEIGHTS_SAVED_WEIGHTS_H_
#define TENON_EXECUTOR_WEIGHTS_SAVED_WEIGHTS_H_

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/kernel.h"

namespace tenon {

// Packed bytes, by who packs them. The same lowered program compiles to the same instructions, so
// that no constant has to be read to find what was made of it.
struct SavedWeight {
  int instruction = 0;        // InstructionWeights
  std::string name;           // layout and kernel inputs
  size_t bytes = 0;           // of `data`
  kernels::PackedBytes data;  // aligned to 64
};

// The packed weights of a file. Immutable, so thread-safe.
class SavedWeights {
 public:
  // Of two for the same name the first counts.
  explicit SavedWeights(std::vector<SavedWeight> weights) {
    for (SavedWeight& weight : weights) {
      auto key = std::pair(weight.instruction, weight.name);
      weights_.emplace(std::move(key), std::move(weight));
    }
  }
  // Returns null if the file has none. Valid as long as this object.
  const SavedWeight* Find(int instruction, std::string_view name) const {
    const auto found = weights_.find(std::pair(instruction, std::string(name)));
    return found == weights_.end() ? nullptr : &found->second;
  }
  size_t size() const { return weights_.size(); }  // the number of weights

 private:
  std::map<std::pair<int, std::string>, SavedWeight> weights_;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_SAVED_WEIGHTS_H_
