#include "executor/compile/place_constants.h"

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "executor/weights/large_constant.h"
#include "ir/base/check.h"

namespace tenon {
namespace {

// Who reads a constant.
struct Readers {
  // Kernel inputs that kernels may pack, or read at any address. -1: it is read in other ways too.
  int packers = 0;
  bool pack_once = true;  // those kernels do (Kernel::packs_once)
};

// By value.
std::vector<Readers> FindReaders(const ProgramImpl& program) {
  std::vector<Readers> readers(program.values.size());
  for (int output : program.output_values) readers[output].packers = -1;
  for (const Instruction& instruction : program.instructions) {
    std::vector<int> others = instruction.operands;
    if (instruction.kind == Instruction::Kind::kCall) {
      for (size_t i = 0; i < instruction.kernel_inputs.size(); ++i) {
        const int value = instruction.kernel_inputs[i];
        if (value < 0) continue;
        std::erase(others, value);
        Readers& of_value = readers[value];
        of_value.pack_once &= instruction.kernel.packs_once;
        if (instruction.kernel.prepare == nullptr && !instruction.kernel.reads_unaligned(i)) {
          of_value.packers = -1;
        } else if (of_value.packers >= 0) {
          ++of_value.packers;
        }
      }
    }
    for (int value : others) readers[value].packers = -1;
  }
  return readers;
}

}  // namespace

absl::Status PlaceConstants(ProgramImpl& program) {
  const std::vector<Readers> readers = FindReaders(program);
  for (size_t i = 0; i < program.values.size(); ++i) {
    ProgramValue& value = program.values[i];
    if (!value.constant) continue;
    const bool large =
        readers[i].packers >= 0 &&
        (value.constant.num_bytes() >= LargeConstant::kBytes || value.deferred != nullptr);
    if (value.deferred != nullptr && !(large && readers[i].pack_once)) {
      const std::shared_ptr<const Blob> whole = std::exchange(value.deferred, nullptr)->Whole();
      value.constant = Tensor::Borrow(value.constant.dtype(), value.constant.shape(),
                                      const_cast<std::byte*>(whole->bytes().data()), whole);
    }
    if (large) {
      const Tensor source = std::move(value.constant);
      value.large = std::make_shared<LargeConstant>(source, readers[i].packers,
                                                    std::exchange(value.deferred, nullptr));
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
