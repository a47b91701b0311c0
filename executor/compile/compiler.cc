#include "executor/compile/compiler.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "executor/compile/block_symbols.h"
#include "executor/compile/deciding_inputs.h"
#include "executor/compile/place_constants.h"
#include "executor/compile/read_instruction.h"
#include "executor/compile/size_products.h"
#include "executor/gpu/device_session.h"
#include "executor/gpu/transfers.h"
#include "executor/lowering/fallbacks.h"
#include "executor/lowering/lowered_op.h"
#include "executor/memory/recorded_plan.h"
#include "executor/passes.h"
#include "fmt/format.h"
#include "ir/base/check.h"
#include "ir/core/context/context.h"
#include "ir/dialect/calls_and_jumps.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/kernel_ops.h"
#include "ir/dialect/replaceable.h"
#include "ir/dialect/verify/verify_functions.h"

namespace tenon {
namespace {

TensorSpec SpecOf(Type type, Attribute names, unsigned index, std::string_view fallback) {
  TensorSpec spec;
  spec.name = fmt::format("{}{}", fallback, index);
  if (names && names.kind() == Attribute::Kind::kArray && index < names.elements().size()) {
    const Attribute entry = names.elements()[index];
    const Attribute name =
        entry.kind() == Attribute::Kind::kDictionary ? entry.Get("core.name") : Attribute();
    if (name && name.kind() == Attribute::Kind::kString) spec.name = std::string(name.str());
  }
  spec.dtype = type.dtype();
  if (!type.is_tensor()) return spec;
  for (DimExpr d : type.dims()) spec.dims.push_back(d.text());
  return spec;
}

// A constant of the program, whose bytes `deferred` makes.
absl::StatusOr<Tensor> ShapeOfDeferred(Type type, const DeferredBlob& deferred) {
  std::vector<int64_t> shape;
  for (DimExpr d : type.dims()) shape.push_back(d.constant());
  // Only an address that no other constant has.
  return Tensor::Borrow(type.dtype(), shape, const_cast<DeferredBlob*>(&deferred), nullptr);
}

// The replaceable parameters of the module in which a function lies.
absl::StatusOr<std::vector<ProgramParameter>> ReplaceableOf(const Operation& func) {
  std::vector<ProgramParameter> parameters;
  const Operation* const module = func.parent_op();
  if (module == nullptr) return parameters;
  for (Operation& op : module->region().front()) {
    const auto parameter = DynCast<core::ParameterOp>(&op);
    if (!parameter || !op.attr(kReplaceable) || !parameter.value()) continue;
    ProgramParameter& made = parameters.emplace_back();
    made.type = parameter.value().type();
    made.spec = SpecOf(made.type, Attribute(), 0, "");
    made.spec.name = std::string(parameter.sym_name());
    if (const Attribute first = op.attr(kInputsFirst);
        first && first.kind() == Attribute::Kind::kBool)
      made.spec.inputs_first = first.bool_value();
    absl::StatusOr<Tensor> value = Tensor::FromAttribute(parameter.value(), /*any_alignment=*/true);
    if (!value.ok()) return Reject(op, std::string(value.status().message()));
    made.value = *std::move(value);
  }
  return parameters;
}

// The programs of a function and of those that it calls, directly or not.
struct Functions {
  absl::flat_hash_map<Operation*, std::shared_ptr<ProgramImpl>> programs;
  std::vector<Operation*> order;  // of their first calls
  std::vector<ProgramParameter> parameters;
  int num_packing = 0;  // instructions so far whose kernels pack

  // Returns the program of `func`, which may be empty yet. Calls of each other keep no program
  // alive: the one that runs first owns all others.
  std::shared_ptr<const ProgramImpl> Borrow(Operation* func) {
    std::shared_ptr<ProgramImpl>& program = programs[func];
    if (program == nullptr) {
      program = std::make_shared<ProgramImpl>();
      order.push_back(func);
    }
    return {std::shared_ptr<const ProgramImpl>(), program.get()};
  }
};

// Of a function, or of a region of one of its ops: then `outer` compiles what is around it.
class Compiler {
 public:
  Compiler(Operation* func, const ProgramOptions& options, Functions& functions)
      : func_(func), program_(std::make_shared<ProgramImpl>()), functions_(functions) {
    functions.programs[func] = program_;
    program_->options = options;
    program_->budget = MemoryBudget::Make(options.limits.memory_bytes);
    if (program_->options.kernels == nullptr) program_->options.kernels = MakeKernelRegistry();
    if (program_->options.weights == nullptr)
      program_->options.weights = std::make_shared<PackedWeights>(PackedWeights::Options());
    program_->context = &func->context();
  }
  explicit Compiler(Compiler* outer)
      : func_(outer->func_),
        program_(std::make_shared<ProgramImpl>()),
        functions_(outer->functions_),
        outer_(outer) {
    program_->options = outer->program_->options;
    program_->context = outer->program_->context;
    program_->arguments_of = "the region";
  }
  // For a function that `caller`, a function's program, calls.
  Compiler(Operation* func, const ProgramImpl& caller, Functions& functions)
      : func_(func), program_(functions.programs.at(func)), functions_(functions), called_(true) {
    program_->options = caller.options;
    program_->context = caller.context;
    program_->arguments_of = fmt::format("@{}", func->attr("sym_name").str());
  }

  absl::StatusOr<std::shared_ptr<const ProgramImpl>> Run() {
    if (!Isa<func::FuncOp>(func_) || func_->region().empty())
      return Reject(*func_, "expected a function with a body");
    Block& block = func_->region().front();
    for (Block& each : func_->region()) {
      const Operation* const last = each.back();
      if (last != nullptr && (IsReturn(*last) || IsJump(*last))) continue;
      return Reject(*func_, "expected blocks that end with func.return, cf.br or cf.cond_br");
    }

    const Attribute arg_attrs = func_->attr("arg_attrs"), res_attrs = func_->attr("res_attrs");
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      const Type type = block.argument(i).type();
      if (!type.is_tensor()) {
        const std::string name = SpecOf(type, arg_attrs, i, "arg").name;
        return EmitStatus(func_->context(), Location::Name(func_->context(), name),
                          absl::StatusCode::kUnimplemented,
                          fmt::format("the input has type {}, which cannot be run (expected a "
                                      "ranked tensor)",
                                      type.text()));
      }
      const int number = AddValue(block.argument(i));
      program_->values[number].input = static_cast<int>(i);
      program_->input_values.push_back(number);
      program_->inputs.push_back(SpecOf(block.argument(i).type(), arg_attrs, i, "arg"));
    }
    if (block.next() != nullptr) {
      TENON_RETURN_IF_ERROR(TranslateBlocks(res_attrs));
      return std::shared_ptr<const ProgramImpl>(program_);
    }
    TENON_ASSIGN_OR_RETURN(const BufferTable table, TranslateBlock(block, res_attrs));
    TENON_ASSIGN_OR_RETURN(program_->static_plan, ReadRecordedPlan(*func_, block, table));
    FindDecisions(*program_);
    return std::shared_ptr<const ProgramImpl>(program_);
  }

  // A region of `op`.
  absl::StatusOr<std::shared_ptr<const ProgramImpl>> RunRegion(Operation& op, Block& block) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      TENON_RETURN_IF_ERROR(CheckTensor(op, block.argument(i).type()));
      AddInput(block.argument(i), "argument");
    }
    TENON_RETURN_IF_ERROR(TranslateBlock(block, Attribute()).status());
    TENON_RETURN_IF_ERROR(not_closed_);
    CollectSymbols();
    return std::shared_ptr<const ProgramImpl>(program_);
  }
  // After RunRegion: value numbers of `outer` for the inputs behind the block's arguments.
  const std::vector<int>& captures() const { return captures_; }

 private:
  absl::StatusOr<BufferTable> TranslateBlock(Block& block, Attribute result_names) {
    for (Operation& op : block) TENON_RETURN_IF_ERROR(Translate(op));
    Operation* result = block.back();
    for (unsigned i = 0; i < result->num_operands(); ++i) {
      TENON_RETURN_IF_ERROR(CheckTensor(*result, result->operand(i).type()));
      if (MemoryOf(*program_->options.kernels, result->operand(i)) == Memory::kDevice) {
        return Reject(*result, fmt::format("operand {} is in device memory (expected it in host "
                                           "memory; place-transfers copies)",
                                           i));
      }
      program_->outputs.push_back(SpecOf(result->operand(i).type(), result_names, i, "result"));
      program_->output_values.push_back(NumberOf(result->operand(i)));
    }
    TENON_ASSIGN_OR_RETURN(BufferTable table, BufferTable::Analyze(block));
    AddSets(block, table);
    MarkSizeProducts(*program_);
    TENON_RETURN_IF_ERROR(PlaceConstants(*program_, &functions_.num_packing));
    return table;
  }

  // A function of several blocks is one instruction, which runs them.
  absl::Status TranslateBlocks(Attribute result_names) {
    Instruction blocks;
    blocks.kind = Instruction::Kind::kBlocks;
    blocks.location = func_->location();
    blocks.operands = program_->input_values;
    absl::flat_hash_map<const Block*, int> number;
    for (Block& block : func_->region()) {
      number.emplace(&block, static_cast<int>(number.size()));
    }
    for (Block& block : func_->region()) {
      Compiler inner(this);
      inner.in_block_ = true;
      inner.program_->arguments_of = "the block";
      NestedProgram nested;
      TENON_ASSIGN_OR_RETURN(nested.program, inner.RunRegion(*func_, block));
      blocks.regions.push_back(std::move(nested));
      const Operation& last = *block.back();
      BlockEnd end{.targets = {}, .location = last.location(), .op = last.info().name()};
      if (IsReturn(last)) end.targets.push_back({BlockEnd::kReturn, 0, last.num_operands()});
      for (unsigned s = 0; s < last.num_successors(); ++s) {
        const auto [first, count] = last.successor_operands(s);
        end.targets.push_back({number.at(last.successor(s)), first, count});
      }
      blocks.ends.push_back(std::move(end));
    }
    LinkBlockSymbols(func_->region(), blocks);
    const Type type = func_->attr("function_type").type();
    for (size_t i = 0; i < type.results().size(); ++i) {
      const Type result = type.results()[i];
      TENON_RETURN_IF_ERROR(CheckTensor(*func_, result));
      const int value = static_cast<int>(program_->values.size());
      program_->values.push_back({});
      program_->values.back().type = result;
      program_->outputs.push_back(SpecOf(result, result_names, static_cast<unsigned>(i), "result"));
      program_->output_values.push_back(value);
      blocks.results.push_back(value);
    }
    program_->instructions.push_back(std::move(blocks));
    for (size_t v = 0; v < program_->values.size(); ++v) {
      ProgramValue& value = program_->values[v];
      const int output = value.input >= 0 ? -1 : static_cast<int>(v - program_->inputs.size());
      value.set = static_cast<int>(v);
      value.last_use = output < 0 ? 0 : 1;
      program_->sets.push_back(
          {.kind = output < 0 ? BufferSet::Kind::kInput : BufferSet::Kind::kArena,
           .first = 0,
           .last = value.last_use,
           .output = output,
           .first_member = static_cast<int>(v)});
    }
    return absl::OkStatus();
  }

  int AddInput(Value value, std::string_view fallback) {
    const int number = AddValue(value);
    const auto index = static_cast<unsigned>(program_->inputs.size());
    program_->values[number].input = static_cast<int>(index);
    program_->input_values.push_back(number);
    program_->inputs.push_back(SpecOf(value.type(), Attribute(), index, fallback));
    return number;
  }

  void CollectSymbols() {
    std::vector<std::string_view>& symbols = program_->outer_symbols;
    const auto add = [&](std::span<const DimExpr> dims) {
      for (DimExpr d : dims) d.CollectSymbols(symbols);
    };
    for (const ProgramValue& value : program_->values) add(value.type.dims());
    for (const Instruction& instruction : program_->instructions) {
      add(instruction.dims);
      for (Attribute slot : instruction.slots) {
        if (slot && slot.kind() == Attribute::Kind::kDims) add(slot.dims());
      }
      for (const NestedProgram& region : instruction.regions) {
        for (std::string_view symbol : region.program->outer_symbols) {
          if (std::find(symbols.begin(), symbols.end(), symbol) == symbols.end()) {
            symbols.push_back(symbol);
          }
        }
      }
    }
  }

  static absl::Status CheckTensor(const Operation& op, Type type) {
    if (type.is_tensor()) return absl::OkStatus();
    return EmitStatus(op.context(), op.location(), absl::StatusCode::kUnimplemented,
                      fmt::format("a value has type {}, which cannot be run (expected a ranked "
                                  "tensor)",
                                  type.text()));
  }

  int AddValue(Value value) {
    const int number = static_cast<int>(program_->values.size());
    program_->values.push_back({});
    program_->values.back().type = value.type();
    numbers_[value.impl()] = number;
    return number;
  }
  // A value from around a region becomes a constant of its program, or an input.
  int NumberOf(Value value) {
    const auto known = numbers_.find(value.impl());
    if (known != numbers_.end()) return known->second;
    if (in_block_) {
      // Only text that skips lower-to-kernels can be so.
      if (not_closed_.ok()) {
        not_closed_ = Reject(*func_,
                             "a block reads a value of another block (expected "
                             "lower-to-kernels to pass it as an argument)");
      }
      return AddValue(value);
    }
    TENON_CHECK(outer_ != nullptr);
    const int outside = outer_->NumberOf(value);
    const Tensor& constant = outer_->program_->values[outside].constant;
    if (constant) {
      const int number = AddValue(value);
      program_->values[number].constant = constant;
      program_->values[number].parameter = outer_->program_->values[outside].parameter;
      program_->values[number].deferred = outer_->program_->values[outside].deferred;
      return number;
    }
    captures_.push_back(outside);
    return AddInput(value, "captured");
  }

  absl::Status Translate(Operation& op) {
    if (op.Has(Trait::kTerminator) && (op.num_successors() == 0 || IsJump(op))) {
      return absl::OkStatus();
    }
    for (unsigned i = 0; i < op.num_results(); ++i)
      TENON_RETURN_IF_ERROR(CheckTensor(op, op.result(i).type()));
    if (auto constant = DynCast<core::ConstantOp>(&op)) {
      ProgramValue& value = program_->values[AddValue(op.result())];
      value.deferred = DeferredBlobOf(constant.value());
      absl::StatusOr<Tensor> tensor =
          value.deferred != nullptr ? ShapeOfDeferred(constant.value().type(), *value.deferred)
                                    : Tensor::FromAttribute(constant.value(),
                                                            /*any_alignment=*/true);
      if (!tensor.ok()) return Reject(op, std::string(tensor.status().message()));
      value.constant = *std::move(tensor);
      return ReadParameter(op, constant.value().type(), value);
    }
    Instruction instruction;
    instruction.location = op.location();
    const Attribute fallback = op.attr(kFallback);
    if (fallback && fallback.kind() == Attribute::Kind::kString)
      instruction.fallback = fallback.str();
    for (OpOperand& operand : op.operands())
      instruction.operands.push_back(NumberOf(operand.get()));
    if (IsStructuredControl(op)) TENON_RETURN_IF_ERROR(TranslateRegions(op, instruction));
    if (IsCall(op)) TENON_RETURN_IF_ERROR(TranslateCall(op, instruction));
    for (unsigned i = 0; i < op.num_results(); ++i)
      instruction.results.push_back(AddValue(op.result(i)));
    TENON_RETURN_IF_ERROR(PlaceValues(op, instruction));
    if (!instruction.is_control())
      TENON_RETURN_IF_ERROR(ReadInstruction(op, *program_->options.kernels, instruction));
    program_->instructions.push_back(std::move(instruction));
    return absl::OkStatus();
  }

  // Of a constant that has the value of a parameter: the program that replaces it checks only the
  // type of the parameter.
  absl::Status ReadParameter(Operation& op, Type type, ProgramValue& value) {
    const Attribute name = op.attr(kValueOfParameter);
    if (!name) return absl::OkStatus();
    if (name.kind() == Attribute::Kind::kString) {
      for (const ProgramParameter& parameter : functions_.parameters) {
        if (parameter.spec.name != name.str() || parameter.type != type) continue;
        value.parameter = parameter.spec.name;
        return absl::OkStatus();
      }
    }
    return Reject(op, fmt::format("{} names no replaceable parameter of type {}", kValueOfParameter,
                                  type.text()));
  }

  // In which memory the results are; operands must be where the kernel expects them.
  absl::Status PlaceValues(Operation& op, const Instruction& instruction) {
    absl::StatusOr<std::vector<Memory>> expected = OperandMemories(*program_->options.kernels, op);
    if (!expected.ok()) return Reject(op, std::string(expected.status().message()));
    for (size_t i = 0; i < expected->size(); ++i) {
      const bool on_device = program_->values[instruction.operands[i]].on_device;
      if ((*expected)[i] == Memory::kAny || on_device == ((*expected)[i] == Memory::kDevice)) {
        continue;
      }
      return Reject(op,
                    fmt::format("operand {} is in {} memory (expected it in {} memory; "
                                "place-transfers copies)",
                                i, on_device ? "device" : "host", on_device ? "host" : "device"));
    }
    for (size_t i = 0; i < instruction.results.size(); ++i) {
      const Value result = op.result(static_cast<unsigned>(i));
      if (MemoryOf(*program_->options.kernels, result) != Memory::kDevice) continue;
      if (called_) {
        return Reject(op, "a called function has a CUDA kernel (expected kernels of the CPU)");
      }
      program_->values[instruction.results[i]].on_device = true;
      if (program_->device_constants != nullptr) continue;
      if (program_->options.gpu == nullptr) {
        return EmitStatus(op.context(), op.location(), absl::StatusCode::kFailedPrecondition,
                          "the operation has a CUDA kernel, but the program has no CUDA device "
                          "(expected CompileOptions::gpu)");
      }
      TENON_ASSIGN_OR_RETURN(program_->device_constants,
                             DeviceConstants::Open(program_->options.gpu));
    }
    return absl::OkStatus();
  }

  absl::Status TranslateCall(Operation& op, Instruction& instruction) {
    Operation* const callee = CalledFunction(op);
    if (callee == nullptr || callee->region().empty()) {
      return Reject(op, "the callee has no body (expected a function with a body)");
    }
    if (CallArguments(op).size() != op.num_operands()) {
      return Reject(op, "a call has operands that are no arguments (expected only arguments)");
    }
    if (const absl::Status valid = CheckCall(op, *callee); !valid.ok()) {
      return Reject(op, std::string(valid.message()));
    }
    instruction.kind = Instruction::Kind::kInvoke;
    instruction.regions.push_back({functions_.Borrow(callee), {}});
    return absl::OkStatus();
  }

  absl::Status TranslateRegions(Operation& op, Instruction& instruction) {
    instruction.kind = Isa<ctl::IfOp>(op)    ? Instruction::Kind::kIf
                       : Isa<ctl::ForOp>(op) ? Instruction::Kind::kFor
                                             : Instruction::Kind::kWhile;
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      if (op.region(r).empty() || op.region(r).front().next() != nullptr) {
        return Reject(op, "expected regions of one block");
      }
    }
    if (const absl::Status valid = op.info().def().verify(op); !valid.ok()) {
      return Reject(op, std::string(valid.message()));
    }
    if (instruction.kind != Instruction::Kind::kIf) instruction.loop = PartsOfLoop(op);
    for (unsigned r = 0; r < op.num_regions(); ++r) {
      Compiler inner(this);
      NestedProgram nested;
      TENON_ASSIGN_OR_RETURN(nested.program, inner.RunRegion(op, op.region(r).front()));
      for (int number : inner.captures()) {
        nested.captures.push_back(static_cast<int>(instruction.operands.size()));
        instruction.operands.push_back(number);
      }
      instruction.regions.push_back(std::move(nested));
    }
    return absl::OkStatus();
  }

  // Positions in the block become instruction numbers: constants have none.
  void AddSets(Block& block, const BufferTable& table) {
    std::vector<int> instruction_at;
    int next = 0;
    for (Operation& op : block) {
      instruction_at.push_back(next);
      if (!Isa<core::ConstantOp>(op)) ++next;
    }
    for (const BufferSet& set : table.sets()) {
      const size_t last = static_cast<size_t>(set.last);
      program_->sets.push_back({.kind = set.kind,
                                .first = instruction_at.empty() ? 0 : instruction_at[set.first],
                                .last = instruction_at.empty() ? 0 : instruction_at[last],
                                .output = set.output,
                                .first_member = NumberOf(set.members[0])});
      for (Value member : set.members)
        program_->values[NumberOf(member)].set = table.set_of(member);
    }
    for (size_t i = 0; i < program_->instructions.size(); ++i) {
      for (int operand : program_->instructions[i].operands)
        program_->values[operand].last_use = static_cast<int>(i);
    }
    for (int output : program_->output_values) {
      program_->values[output].last_use = static_cast<int>(program_->instructions.size());
    }
  }

  Operation* func_;
  std::shared_ptr<ProgramImpl> program_;
  Functions& functions_;
  Compiler* outer_ = nullptr;
  bool called_ = false;    // by another function
  bool in_block_ = false;  // of a function of several blocks
  absl::Status not_closed_;
  std::vector<int> captures_;
  absl::flat_hash_map<ValueImpl*, int> numbers_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<const ProgramImpl>> CompileFunction(Operation* func,
                                                                   const ProgramOptions& options) {
  Functions functions;
  TENON_ASSIGN_OR_RETURN(functions.parameters, ReplaceableOf(*func));
  Compiler first(func, options, functions);
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const ProgramImpl> program, first.Run());
  for (size_t i = 0; i < functions.order.size(); ++i) {
    Operation* const called = functions.order[i];
    TENON_RETURN_IF_ERROR(Compiler(called, *program, functions).Run().status());
    functions.programs.at(func)->functions.push_back(functions.programs.at(called));
  }
  functions.programs.at(func)->parameters = std::move(functions.parameters);
  return program;
}

}  // namespace tenon
