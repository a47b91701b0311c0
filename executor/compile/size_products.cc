#include "executor/compile/size_products.h"

#include <algorithm>
#include <vector>

#include "kernels/op_cost.h"

namespace tenon {

void MarkSizeProducts(ProgramImpl& program) {
  std::vector<bool> by_sizes(program.values.size());  // values that follow from constants and sizes
  for (size_t v = 0; v < by_sizes.size(); ++v) {
    by_sizes[v] = static_cast<bool>(program.values[v].constant);
  }
  std::vector<bool> of_product(program.values.size());
  const auto set = [](std::vector<bool>& values, const std::vector<int>& which) {
    for (int value : which) values[value] = true;
  };
  const auto any = [](const std::vector<bool>& values, const std::vector<int>& which) {
    return std::any_of(which.begin(), which.end(), [&](int value) { return values[value]; });
  };
  for (Instruction& instruction : program.instructions) {
    if (instruction.kind == Instruction::Kind::kDims) set(by_sizes, instruction.results);
    const bool on_cpu = instruction.kernel.backend == kernels::Backend::kCpu;
    if (instruction.kind != Instruction::Kind::kView &&
        (instruction.kind != Instruction::Kind::kCall || !on_cpu)) {
      continue;
    }
    const std::vector<int>& operands = instruction.operands;
    if (!std::all_of(operands.begin(), operands.end(), [&](int v) { return by_sizes[v]; })) {
      continue;
    }
    set(by_sizes, instruction.results);
    instruction.of_size_product =
        kernels::IsProduct(instruction.source->name()) || any(of_product, operands);
    if (instruction.of_size_product) set(of_product, instruction.results);
  }
  std::vector<bool> needed(program.values.size());
  for (auto it = program.instructions.rbegin(); it != program.instructions.rend(); ++it) {
    if (it->of_size_product || any(needed, it->results)) {
      it->of_size_product = true;
      set(needed, it->operands);
    }
  }
}

}  // namespace tenon
