#include "executor/compile/deciding_inputs.h"

#include <algorithm>
#include <optional>

#include "ir/dialect/ten_ops.h"

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

// The constant that operand i is, if it is an integer that i64 has room for.
std::optional<int64_t> IntegerOperand(const ProgramImpl& program, const Instruction& instruction,
                                      size_t i) {
  const ProgramValue& value = program.values[instruction.operands[i]];
  const Tensor& constant = value.constant;
  // The decision would outlast the value of a parameter.
  if (!constant || !value.parameter.empty() || constant.numel() != 1 || IsFloat(constant.dtype()) ||
      constant.dtype() == DType::kBool || constant.dtype() == DType::kU64) {
    return std::nullopt;
  }
  return LoadAsInt(constant.dtype(), constant.as<std::byte>());
}

// Takes a comparison with a constant for the test. Returns the other operand; -1: it is none.
int TakeComparison(const ProgramImpl& program, const Instruction& instruction, Decision& decision) {
  if (instruction.operands.size() != 2) return -1;
  using Test = Decision::Test;
  const std::optional<int64_t> first = IntegerOperand(program, instruction, 0);
  const std::optional<int64_t> second = IntegerOperand(program, instruction, 1);
  if (first.has_value() == second.has_value()) return -1;
  const auto is = [&](OpId of_value, OpId of_constant) {
    return instruction.source->id() == (first ? of_constant : of_value);
  };
  decision.than = first ? *first : *second;
  if (is(ten::EqualOp::kId, ten::EqualOp::kId)) {
    decision.test = Test::kEqual;
  } else if (is(ten::LessOp::kId, ten::GreaterOp::kId)) {
    decision.test = Test::kLess;
  } else if (is(ten::LessEqualOp::kId, ten::GreaterEqualOp::kId)) {
    decision.test = Test::kLessEqual;
  } else if (is(ten::GreaterOp::kId, ten::LessOp::kId)) {
    decision.test = Test::kLessEqual;
    decision.negated = !decision.negated;
  } else if (is(ten::GreaterEqualOp::kId, ten::LessEqualOp::kId)) {
    decision.test = Test::kLess;
    decision.negated = !decision.negated;
  } else {
    return -1;
  }
  return instruction.operands[first ? 1 : 0];
}

// What decides the condition of a branch; no input: nothing that is cheap to ask.
Decision DecisionOf(const ProgramImpl& program, int condition) {
  Decision decision;
  decision.condition = condition;
  int value = condition;
  bool compared = false;
  for (const Instruction* maker = MakerOf(program, value); maker != nullptr;
       maker = MakerOf(program, value)) {
    if (maker->kind == Instruction::Kind::kView) {
      value = maker->operands[0];
      continue;
    }
    if (maker->kind != Instruction::Kind::kCall || compared) return decision;
    const OpId op = maker->source->id();
    if (op == ten::NotOp::kId) {
      decision.negated = !decision.negated;
      value = maker->operands[0];
    } else if (op == ten::CastOp::kId &&
               program.values[maker->results[0]].type.dtype() == DType::kBool) {
      value = maker->operands[0];
    } else {
      value = TakeComparison(program, *maker, decision);
      compared = true;
      if (value < 0) return decision;
    }
  }
  if (IsNumber(program.values[value].type)) decision.input = program.values[value].input;
  return decision;
}

}  // namespace

void FindDecisions(ProgramImpl& program) {
  if (program.options.gpu != nullptr) return;  // a caller's input may be in device memory
  for (const Instruction& instruction : program.instructions) {
    if (instruction.kind != Instruction::Kind::kIf || !LeavesExtentsOpen(program, instruction)) {
      continue;
    }
    const Decision decision = DecisionOf(program, instruction.operands[0]);
    std::vector<Decision>& found = program.decisions;
    const bool known = std::any_of(found.begin(), found.end(), [&](const Decision& other) {
      return other.condition == decision.condition;
    });
    if (decision.input >= 0 && !known) found.push_back(decision);
  }
}

bool IsTrue(const Decision& decision, int64_t element) {
  bool is_true = element != 0;
  if (decision.test == Decision::Test::kEqual) is_true = element == decision.than;
  if (decision.test == Decision::Test::kLess) is_true = element < decision.than;
  if (decision.test == Decision::Test::kLessEqual) is_true = element <= decision.than;
  return is_true != decision.negated;
}

}  // namespace tenon
