#include "executor/place_constants.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "executor/large_constant.h"
#include "ir/core/check.h"

namespace tenon {
namespace {

// By value: how many kernel inputs show it that kernels may pack, or read at any address. -1: it
// is read in other ways too.
std::vector<int> CountPackers(const ProgramImpl& program) {
  std::vector<int> count(program.values.size(), 0);
  for (int output : program.output_values) count[output] = -1;
  for (const Instruction& instruction : program.instructions) {
    std::vector<int> others = instruction.operands;
    if (instruction.kind == Instruction::Kind::kCall) {
      for (size_t i = 0; i < instruction.kernel_inputs.size(); ++i) {
        const int value = instruction.kernel_inputs[i];
        if (value < 0) continue;
        std::erase(others, value);
        if (instruction.kernel.prepare == nullptr && !instruction.kernel.reads_unaligned(i)) {
          count[value] = -1;
        } else if (count[value] >= 0) {
          ++count[value];
        }
      }
    }
    for (int value : others) count[value] = -1;
  }
  return count;
}

}  // namespace

absl::Status PlaceConstants(ProgramImpl& program) {
  const std::vector<int> packers = CountPackers(program);
  for (size_t i = 0; i < program.values.size(); ++i) {
    ProgramValue& value = program.values[i];
    if (!value.constant) continue;
    if (packers[i] >= 0 && value.constant.num_bytes() >= LargeConstant::kBytes) {
      const Tensor source = std::move(value.constant);
      value.large = std::make_shared<LargeConstant>(source, packers[i]);
      value.constant = Tensor::Borrow(source.dtype(), source.shape(), source.data(), nullptr);
    } else if (!value.constant.aligned()) {
      TENON_ASSIGN_OR_RETURN(Tensor copy,
                             Tensor::TryMake(value.constant.dtype(), value.constant.shape()));
      if (copy.num_bytes() > 0) std::memcpy(copy.data(), value.constant.data(), copy.num_bytes());
      value.constant = std::move(copy);
    }
  }
  for (Instruction& instruction : program.instructions) {
    if (instruction.kernel.prepare == nullptr) continue;
    std::vector<InstructionWeights::Constant> constants;
    for (int input : instruction.kernel_inputs) {
      constants.emplace_back();
      if (input < 0) continue;
      constants.back() = {program.values[input].constant, program.values[input].large};
    }
    instruction.weights =
        std::make_shared<InstructionWeights>(program.options.weights, std::move(constants));
  }
  return absl::OkStatus();
}

}  // namespace tenon
