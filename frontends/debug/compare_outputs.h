// Comparing the outputs of two programs of one model, those of strings by their strings.
#ifndef TENON_FRONTENDS_DEBUG_COMPARE_OUTPUTS_H_
#define TENON_FRONTENDS_DEBUG_COMPARE_OUTPUTS_H_

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "executor/program.h"
#include "executor/tensor.h"
#include "frontends/cpp/files/strings.h"
#include "frontends/debug/compare.h"

namespace tenon {

// Two programs may place equal strings differently in the text of a tensor. So its spans and its
// text are compared as strings, and both outputs have the result. Immutable, so thread-safe if
// `compare` is.
class OutputComparer {
 public:
  // `outputs` are those of the programs. `compare` compares tensors of numbers.
  OutputComparer(std::span<const TensorSpec> outputs, CompareTensors compare)
      : strings_(FindStrings(outputs)), compare_(std::move(compare)) {
    for (const TensorSpec& output : outputs) names_.push_back(output.name);
    for (const StringPorts& ports : strings_)
      names_[ports.first] = names_[ports.first + 1] = ports.name;
  }

  // Compares output `i` of the outputs of two runs. Requires that both have it, and that neither is
  // null; for strings also of the other tensor of the pair.
  Difference Compare(std::span<const Tensor> actual, std::span<const Tensor> expected,
                     size_t i) const;
  // The name of an output in the model; empty if there is no such output.
  std::string NameOf(size_t i) const { return i < names_.size() ? names_[i] : std::string(); }

 private:
  const std::vector<StringPorts> strings_;
  const CompareTensors compare_;
  std::vector<std::string> names_;
};

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_COMPARE_OUTPUTS_H_
