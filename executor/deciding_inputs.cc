#include "executor/deciding_inputs.h"

#include <algorithm>

namespace tenon {
namespace {

// The instruction that makes a value; null for inputs and constants.
const Instruction* MakerOf(const ProgramImpl& program, int value) {
  for (const Instruction& instruction : program.instructions) {
    const std::vector<int>& results = instruction.results;
    if (std::find(results.begin(), results.end(), value) != results.end()) return &instruction;
  }
  return nullptr;
}

// Does some extent of the results follow from nothing that the inputs have?
bool LeavesExtentsOpen(const ProgramImpl& program, const Instruction& instruction) {
  std::vector<std::string_view> given;
  for (int value : program.input_values) {
    for (DimExpr dim : program.values[value].type.dims()) dim.CollectSymbols(given);
  }
  const auto is_open = [&](DimExpr dim) {
    std::vector<std::string_view> symbols;
    dim.CollectSymbols(symbols);
    return dim.is_unknown() ||
           !std::all_of(symbols.begin(), symbols.end(), [&](std::string_view symbol) {
             return std::find(given.begin(), given.end(), symbol) != given.end();
           });
  };
  return std::any_of(instruction.results.begin(), instruction.results.end(), [&](int value) {
    const std::span<const DimExpr> dims = program.values[value].type.dims();
    return std::any_of(dims.begin(), dims.end(), is_open);
  });
}

// One element, in every run.
bool IsNumber(Type type) {
  const std::span<const DimExpr> dims = type.dims();
  return !IsFloat(type.dtype()) && std::all_of(dims.begin(), dims.end(), [](DimExpr dim) {
    return dim.is_constant() && dim.constant() == 1;
  });
}

}  // namespace

void FindDecidingInputs(ProgramImpl& program) {
  if (program.options.gpu != nullptr) return;  // a caller's input may be in device memory
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != Instruction::Kind::kIf || !LeavesExtentsOpen(program, instruction)) {
      continue;
    }
    int value = instruction.operands[0];
    const Instruction* maker = MakerOf(program, value);
    while (maker != nullptr && !maker->is_control() && maker->operands.size() == 1) {
      value = maker->operands[0];
      maker = MakerOf(program, value);
    }
    const int input = program.values[value].input;
    std::vector<int>& found = program.deciding_inputs;
    if (input >= 0 && IsNumber(program.values[value].type) &&
        std::find(found.begin(), found.end(), input) == found.end()) {
      found.push_back(input);
    }
  }
}

}  // namespace tenon
