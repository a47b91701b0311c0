#include "executor/program.h"

#include <algorithm>
#include <cstring>

#include "executor/attr_decode.h"
#include "executor/gpu/device_session.h"
#include "executor/gpu/transfers.h"
#include "executor/lowered_op.h"
#include "executor/parts.h"
#include "executor/passes.h"
#include "executor/program_impl.h"
#include "executor/session.h"
#include "fmt/format.h"
#include "ir/core/builder.h"
#include "ir/core/check.h"
#include "ir/core/context.h"
#include "ir/dialect/core_ops.h"
#include "ir/dialect/ctl_ops.h"
#include "ir/dialect/func_ops.h"
#include "ir/dialect/kernel_ops.h"

namespace tenon {
namespace {

absl::Status Reject(const Operation& op, std::string message) {
  return EmitStatus(op.context(), op.location(), absl::StatusCode::kInvalidArgument,
                    std::move(message));
}

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

// Of a function, or of a region of one of its ops: then `outer` compiles what is around it.
class Compiler {
 public:
  Compiler(Operation* func, const ProgramOptions& options)
      : func_(func), program_(std::make_shared<ProgramImpl>()) {
    program_->options = options;
    if (program_->options.kernels == nullptr) program_->options.kernels = MakeKernelRegistry();
    if (program_->options.weights == nullptr)
      program_->options.weights = std::make_shared<PackedWeights>(PackedWeights::Options());
    program_->context = &func->context();
  }
  explicit Compiler(Compiler& outer)
      : func_(outer.func_), program_(std::make_shared<ProgramImpl>()), outer_(&outer) {
    program_->options = outer.program_->options;
    program_->context = outer.program_->context;
  }

  absl::StatusOr<std::shared_ptr<const ProgramImpl>> Run() {
    if (!Isa<func::FuncOp>(func_) || func_->region().empty())
      return Reject(*func_, "expected a function with a body");
    Block& block = func_->region().front();
    if (block.next() != nullptr) return Reject(*func_, "expected a function of one block");
    if (!Isa<func::ReturnOp>(block.back()))
      return Reject(*func_, "expected a function that ends with func.return");

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
    TENON_ASSIGN_OR_RETURN(const BufferTable table, TranslateBlock(block, res_attrs));
    TENON_RETURN_IF_ERROR(ReadStaticPlan(block, table));
    return std::shared_ptr<const ProgramImpl>(program_);
  }

  // A region of `op`.
  absl::StatusOr<std::shared_ptr<const ProgramImpl>> RunRegion(Operation& op, Block& block) {
    for (unsigned i = 0; i < block.num_arguments(); ++i) {
      TENON_RETURN_IF_ERROR(CheckTensor(op, block.argument(i).type()));
      AddInput(block.argument(i), "argument");
    }
    TENON_RETURN_IF_ERROR(TranslateBlock(block, Attribute()).status());
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
    TENON_RETURN_IF_ERROR(PlaceConstants());
    return table;
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
    TENON_CHECK(outer_ != nullptr);
    const int outside = outer_->NumberOf(value);
    const Tensor& constant = outer_->program_->values[outside].constant;
    if (constant) {
      const int number = AddValue(value);
      program_->values[number].constant = constant;
      return number;
    }
    captures_.push_back(outside);
    return AddInput(value, "captured");
  }

  absl::Status Translate(Operation& op) {
    if (op.Has(Trait::kTerminator) && op.num_successors() == 0) return absl::OkStatus();
    for (unsigned i = 0; i < op.num_results(); ++i)
      TENON_RETURN_IF_ERROR(CheckTensor(op, op.result(i).type()));
    if (auto constant = DynCast<core::ConstantOp>(&op)) {
      absl::StatusOr<Tensor> tensor =
          Tensor::FromAttribute(constant.value(), /*any_alignment=*/true);
      if (!tensor.ok()) return Reject(op, std::string(tensor.status().message()));
      program_->values[AddValue(op.result())].constant = *std::move(tensor);
      return absl::OkStatus();
    }
    Instruction instruction;
    instruction.location = op.location();
    for (OpOperand& operand : op.operands())
      instruction.operands.push_back(NumberOf(operand.get()));
    if (IsStructuredControl(op)) TENON_RETURN_IF_ERROR(TranslateRegions(op, instruction));
    for (unsigned i = 0; i < op.num_results(); ++i)
      instruction.results.push_back(AddValue(op.result(i)));
    TENON_RETURN_IF_ERROR(PlaceValues(op, instruction));
    if (auto dims = DynCast<kernel::DimsOp>(&op)) {
      instruction.kind = Instruction::Kind::kDims;
      instruction.dims.assign(dims.dims().begin(), dims.dims().end());
      const Type type = op.result().type();
      const bool fits = type.dtype() == DType::kI64 && type.is_static() &&
                        type.num_elements() == static_cast<int64_t>(instruction.dims.size());
      if (!fits)
        return Reject(
            op, fmt::format("{} dimensions cannot be a {}", instruction.dims.size(), type.text()));
    } else if (auto view = DynCast<kernel::ViewOp>(&op)) {
      instruction.kind = Instruction::Kind::kView;
      TENON_RETURN_IF_ERROR(ReadSource(op, view.source(), view.properties(), instruction));
    } else if (auto call = DynCast<kernel::CallOp>(&op)) {
      instruction.kind = Instruction::Kind::kCall;
      TENON_RETURN_IF_ERROR(ReadSource(op, call.source(), call.properties(), instruction));
      TENON_RETURN_IF_ERROR(FindKernel(op, call.kernel(), instruction));
      instruction.inplace = static_cast<int>(call.inplace());
      for (int64_t operand : JoinedOf(op)) instruction.joined.push_back(static_cast<int>(operand));
      instruction.parts = HasParts(op);
    } else if (!instruction.is_control()) {
      return Reject(
          op,
          fmt::format(
              "{} is not lowered (expected kernel.call, kernel.view, kernel.dims, core.constant or "
              "structured control flow)",
              op.name()));
    }
    program_->instructions.push_back(std::move(instruction));
    return absl::OkStatus();
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
      program_->values[instruction.results[i]].on_device = true;
      if (program_->device_constants != nullptr) continue;
      if (program_->options.gpu == nullptr) {
        return EmitStatus(op.context(), op.location(), absl::StatusCode::kFailedPrecondition,
                          "a CUDA kernel, but no CUDA device to run it on");
      }
      TENON_ASSIGN_OR_RETURN(program_->device_constants,
                             DeviceConstants::Open(program_->options.gpu));
    }
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
      Compiler inner(*this);
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

  absl::Status ReadSource(Operation& op, std::string_view source, Attribute properties,
                          Instruction& instruction) {
    instruction.source = op.context().FindOp(source);
    if (instruction.source == nullptr || instruction.source->def().infer == nullptr) {
      return Reject(op,
                    fmt::format("source '{}' is not an operation with a shape function", source));
    }
    absl::StatusOr<Slots> slots = SlotsFrom(*instruction.source, properties);
    if (!slots.ok()) return Reject(op, std::string(slots.status().message()));
    instruction.slots = *std::move(slots);
    const std::span<const Attribute> view(instruction.slots.data(), instruction.slots.size());
    absl::StatusOr<std::vector<int>> inputs =
        KernelInputs(*instruction.source, static_cast<int>(op.num_operands()), view);
    if (!inputs.ok()) return Reject(op, std::string(inputs.status().message()));
    TENON_RETURN_IF_ERROR(CheckTypes(op, *instruction.source, view));
    for (int input : *inputs)
      instruction.kernel_inputs.push_back(input < 0 ? -1 : instruction.operands[input]);
    instruction.symbolic_attrs = !HasConstantDims(view);
    if (!instruction.symbolic_attrs) {
      absl::StatusOr<std::shared_ptr<const void>> attrs = DecodeAttrs(*instruction.source, view);
      if (!attrs.ok()) return Reject(op, std::string(attrs.status().message()));
      instruction.attrs = *std::move(attrs);
    }
    return absl::OkStatus();
  }

  // Operand and result element types as the source operation wants them.
  absl::Status CheckTypes(Operation& op, const OpInfo& source, std::span<const Attribute> slots) {
    absl::InlinedVector<int32_t, 6> segments;
    if (!source.OperandSegments(static_cast<int>(op.num_operands()), slots, segments))
      return Reject(op, "bad operands");
    unsigned at = 0;
    uint32_t dtypes = 0;
    for (size_t group = 0; group < segments.size(); ++group) {
      const OperandDef& def = source.def().operands[group];
      for (int i = 0; i < segments[group]; ++i) {
        const Type type = op.operand(at++).type();
        dtypes |= 1u << static_cast<int>(type.dtype());
        if (!def.constraint.Accepts(type)) {
          return Reject(op, fmt::format("operand '{}' of {} has type {} (expected {})", def.name,
                                        source.name(), type.text(), def.constraint.description));
        }
      }
    }
    if ((source.Has(Trait::kSameDtype) || source.Has(Trait::kSameOperandDtype)) &&
        (dtypes & (dtypes - 1)) != 0) {
      return Reject(op, fmt::format("the operands of {} differ in element type", source.name()));
    }
    std::vector<Type> types;
    for (OpOperand& operand : op.operands()) types.push_back(operand.get().type());
    ResultTypes results;
    absl::Status status =
        InferResultTypes(source, op.location(), std::span<const Type>(types), slots, results);
    if (!status.ok()) return Reject(op, std::string(status.message()));
    if (results.size() != op.num_results()) {
      return Reject(op, fmt::format("{} results (expected {})", op.num_results(), results.size()));
    }
    for (unsigned i = 0; i < op.num_results(); ++i) {
      const Type given = op.result(i).type(), inferred = results[i];
      if (given.dtype() != inferred.dtype() ||
          (inferred.is_tensor() && inferred.rank() != given.rank())) {
        return Reject(op, fmt::format("result {} has type {} (expected {})", i, given.text(),
                                      inferred.text()));
      }
    }
    return absl::OkStatus();
  }

  absl::Status FindKernel(Operation& op, std::string_view name, Instruction& instruction) {
    const kernels::Kernel* kernel = program_->options.kernels->FindByName(name);
    if (kernel == nullptr || instruction.source->name() != kernel->op) {
      return Reject(
          op, fmt::format("there is no kernel '{}' for {}", name, instruction.source->name()));
    }
    std::vector<Value> operands;
    for (OpOperand& operand : op.operands()) operands.push_back(operand.get());
    std::vector<Type> results;
    for (unsigned i = 0; i < op.num_results(); ++i) results.push_back(op.result(i).type());
    const std::span<const Attribute> slots(instruction.slots.data(), instruction.slots.size());
    absl::StatusOr<SignatureOf> signature =
        SignatureOf::Make(*instruction.source, slots, operands, results);
    if (!signature.ok()) return Reject(op, std::string(signature.status().message()));
    const std::string reason =
        kernel->supports == nullptr ? "" : kernel->supports(signature->get());
    if (!reason.empty())
      return Reject(op, fmt::format("kernel '{}' cannot run this: {}", name, reason));
    instruction.kernel = *kernel;
    const auto is_static = [](const Value& value) { return value.type().is_static(); };
    instruction.packs_once =
        kernel->packs_once || (std::all_of(operands.begin(), operands.end(), is_static) &&
                               std::all_of(results.begin(), results.end(),
                                           [](const Type& type) { return type.is_static(); }));
    return absl::OkStatus();
  }

  // By value: how many kernel inputs show it that kernels may pack, or read at any address. -1: it
  // is read in other ways too.
  std::vector<int> CountPackers() const {
    std::vector<int> count(program_->values.size(), 0);
    for (int output : program_->output_values) count[output] = -1;
    for (const Instruction& instruction : program_->instructions) {
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

  // What is large and most likely packed waits for that (Walk::PrepareKernel). Of the rest, what
  // lies where it does not suit its readers is copied.
  absl::Status PlaceConstants() {
    const std::vector<int> packers = CountPackers();
    for (size_t i = 0; i < program_->values.size(); ++i) {
      ProgramValue& value = program_->values[i];
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
    for (Instruction& instruction : program_->instructions) {
      if (instruction.kernel.prepare == nullptr) continue;
      std::vector<InstructionWeights::Constant> constants;
      for (int input : instruction.kernel_inputs) {
        constants.emplace_back();
        if (input < 0) continue;
        constants.back() = {program_->values[input].constant, program_->values[input].large};
      }
      instruction.weights =
          std::make_shared<InstructionWeights>(program_->options.weights, std::move(constants));
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

  // The offsets that plan-memory recorded; they must fit, for a text may say anything.
  absl::Status ReadStaticPlan(Block& block, const BufferTable& table) {
    const Attribute arena = func_->attr("kernel.arena_bytes");
    if (!arena || arena.kind() != Attribute::Kind::kInteger) return absl::OkStatus();
    MemoryPlan plan;
    plan.arena_bytes = arena.int_value();
    plan.offsets.assign(table.sets().size(), 0);
    std::vector<bool> placed(table.sets().size(), false);
    for (Operation& op : block) {
      auto call = DynCast<kernel::CallOp>(&op);
      if (!call) continue;
      const auto offsets = call.offsets();
      for (unsigned r = 0; r < op.num_results() && r < offsets.size(); ++r) {
        const int set = table.set_of(op.result(r));
        if (offsets[r] < 0 || placed[set]) continue;
        plan.offsets[set] = offsets[r];
        placed[set] = true;
      }
    }
    std::vector<BufferLifetime> lifetimes;
    for (size_t i = 0; i < table.sets().size(); ++i) {
      const BufferSet& set = table.sets()[i];
      const Type type = set.members[0].type();
      for (Value member : set.members) {
        if (!member.type().is_static()) return absl::OkStatus();
      }
      const bool in_arena = set.kind == BufferSet::Kind::kArena && set.output < 0;
      if (in_arena && !placed[i]) return absl::OkStatus();
      const int64_t bytes =
          in_arena ? type.num_elements() * static_cast<int64_t>(SizeOf(type.dtype())) : 0;
      lifetimes.push_back({bytes, set.first, set.last});
    }
    const std::string problem = CheckMemoryPlan(lifetimes, plan);
    if (!problem.empty()) return Reject(*func_, "the recorded memory plan is wrong: " + problem);
    program_->static_plan = std::move(plan);
    return absl::OkStatus();
  }

  Operation* func_;
  std::shared_ptr<ProgramImpl> program_;
  Compiler* outer_ = nullptr;
  std::vector<int> captures_;
  absl::flat_hash_map<ValueImpl*, int> numbers_;
};

}  // namespace

absl::Status CheckNotCancelled(const kernels::ParallelFor& parallel) {
  return parallel.cancelled() ? absl::CancelledError("the run was cancelled") : absl::OkStatus();
}

absl::Status ProgramImpl::Error(const Instruction& instruction, const absl::Status& status) const {
  const std::string place = DescribeLocation(*context, instruction.location);
  return absl::Status(status.code(), fmt::format("{}{}{}", place, place.empty() ? "" : ": ",
                                                 std::string_view(status.message().data(),
                                                                  status.message().size())));
}

absl::Status ProgramImpl::KernelError(const Instruction& instruction,
                                      const kernels::KernelStatus& status) const {
  absl::StatusCode code = absl::StatusCode::kInternal;
  if (status.code() == kernels::KernelStatus::Code::kInvalidArgument)
    code = absl::StatusCode::kInvalidArgument;
  if (status.code() == kernels::KernelStatus::Code::kUnsupported)
    code = absl::StatusCode::kUnimplemented;
  return Error(instruction, absl::Status(code, fmt::format("{}: {}", instruction.source->name(),
                                                           status.message())));
}

absl::StatusOr<Program> Program::Compile(Operation* func, const ProgramOptions& options) {
  TENON_ASSIGN_OR_RETURN(std::shared_ptr<const ProgramImpl> impl, Compiler(func, options).Run());
  return Program(std::move(impl));
}

std::span<const TensorSpec> Program::inputs() const { return impl_->inputs; }
std::span<const TensorSpec> Program::outputs() const { return impl_->outputs; }
size_t Program::num_instructions() const { return impl_->instructions.size(); }

struct Program::SessionPool {
  std::mutex mutex;
  std::vector<Session> idle;
};

Program::Program(std::shared_ptr<const ProgramImpl> impl)
    : impl_(std::move(impl)), pool_(std::make_shared<SessionPool>()) {}

absl::StatusOr<std::vector<Tensor>> Program::Run(std::span<const Tensor> inputs,
                                                 const RunOptions& options) const {
  std::unique_lock<std::mutex> lock(pool_->mutex);
  if (pool_->idle.empty()) pool_->idle.push_back(NewSession());
  Session session = std::move(pool_->idle.back());
  pool_->idle.pop_back();
  lock.unlock();
  absl::StatusOr<std::vector<Tensor>> outputs = session.Run(inputs, options);
  lock.lock();
  pool_->idle.push_back(std::move(session));
  return outputs;
}

}  // namespace tenon
