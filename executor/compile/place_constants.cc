#include "executor/compile/place_constants.h"

#include <algorithm>
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

// By value: constants that later versions of the program pack again. These are the values of
// parameters, and what the same kernels read.
std::vector<bool> FindKept(const ProgramImpl& program) {
  std::vector<bool> kept(program.values.size());
  const auto of_parameter = [&](int input) {
    return input >= 0 && !program.values[input].parameter.empty();
  };
  for (size_t i = 0; i < kept.size(); ++i) kept[i] = of_parameter(static_cast<int>(i));
  for (const Instruction& instruction : program.instructions) {
    const std::vector<int>& inputs = instruction.kernel_inputs;
    if (!std::any_of(inputs.begin(), inputs.end(), of_parameter)) continue;
    for (int input : inputs) {
      if (input >= 0) kept[input] = true;
    }
  }
  return kept;
}

// Makes the bytes of a constant lie where any kernel can read them.
absl::Status Align(ProgramValue& value) {
  if (value.constant.aligned()) return absl::OkStatus();
  TENON_ASSIGN_OR_RETURN(Tensor copy,
                         Tensor::TryMake(value.constant.dtype(), value.constant.shape()));
  if (copy.num_bytes() > 0) std::memcpy(copy.data(), value.constant.data(), copy.num_bytes());
  value.constant = std::move(copy);
  return absl::OkStatus();
}

// Returns by value the address by which PackedUses knows a constant: before it is aligned.
std::vector<const void*> AddressesOf(const ProgramImpl& program) {
  std::vector<const void*> addresses;
  for (const ProgramValue& value : program.values)
    addresses.push_back(value.constant ? value.constant.data() : nullptr);
  return addresses;
}

std::shared_ptr<InstructionWeights> WeightsOf(const ProgramImpl& program,
                                              const Instruction& instruction, int number,
                                              const std::vector<const void*>& addresses) {
  std::vector<InstructionWeights::Constant> constants;
  for (int input : instruction.kernel_inputs) {
    constants.emplace_back();
    if (input < 0) continue;
    const ProgramValue& value = program.values[input];
    constants.back() = {value.constant, value.large, addresses[static_cast<size_t>(input)]};
  }
  return std::make_shared<InstructionWeights>(program.options.weights, std::move(constants),
                                              number);
}

}  // namespace

absl::Status PlaceConstants(ProgramImpl& program, int* next) {
  const std::vector<Readers> readers = FindReaders(program);
  const std::vector<bool> kept = FindKept(program);
  const std::vector<const void*> addresses = AddressesOf(program);
  if (PackedUses* const uses = program.options.weights->uses(); uses != nullptr) {
    for (size_t i = 0; i < readers.size(); ++i) {
      if (addresses[i] == nullptr) continue;
      uses->AddReaders(addresses[i], std::max(0, readers[i].packers),
                       readers[i].packers >= 0 && readers[i].pack_once);
    }
  }
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
      value.large = std::make_shared<LargeConstant>(
          source, kept[i] ? LargeConstant::kForever : readers[i].packers,
          std::exchange(value.deferred, nullptr));
      value.constant = Tensor::Borrow(source.dtype(), source.shape(), source.data(), nullptr);
    } else {
      TENON_RETURN_IF_ERROR(Align(value));
    }
  }
  for (Instruction& instruction : program.instructions) {
    if (instruction.kernel.prepare == nullptr) continue;
    instruction.weights = WeightsOf(program, instruction, (*next)++, addresses);
  }
  return absl::OkStatus();
}

absl::Status ReplaceConstants(ProgramImpl& program, const ValuesByName& values) {
  std::vector<bool> replaced(program.values.size());
  for (size_t i = 0; i < program.values.size(); ++i) {
    ProgramValue& value = program.values[i];
    const auto found = values.find(value.parameter);
    if (value.parameter.empty() || found == values.end()) continue;
    replaced[i] = true;
    value.constant = found->second;
    if (value.large != nullptr) {
      value.large = std::make_shared<LargeConstant>(value.constant, LargeConstant::kForever);
      value.constant = Tensor::Borrow(value.constant.dtype(), value.constant.shape(),
                                      value.constant.data(), nullptr);
    } else {
      TENON_RETURN_IF_ERROR(Align(value));
    }
  }
  for (Instruction& instruction : program.instructions) {
    if (instruction.kernel.prepare == nullptr) continue;
    const std::vector<int>& inputs = instruction.kernel_inputs;
    const bool reads = std::any_of(inputs.begin(), inputs.end(),
                                   [&](int input) { return input >= 0 && replaced[input]; });
    // The others keep what they have packed.
    if (!reads) continue;
    instruction.weights =
        WeightsOf(program, instruction, InstructionWeights::kNoNumber, AddressesOf(program));
  }
  return absl::OkStatus();
}

}  // namespace tenon
