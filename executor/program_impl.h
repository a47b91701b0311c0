// What a program is made of. Internal to the executor.
#ifndef TENON_EXECUTOR_PROGRAM_IMPL_H_
#define TENON_EXECUTOR_PROGRAM_IMPL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/buffers.h"
#include "executor/concrete_shapes.h"
#include "executor/memory_budget.h"
#include "executor/packed_weights.h"
#include "executor/program.h"
#include "ir/dialect/ctl.h"

namespace tenon {

// Cancelled, once the flag of the run is set.
absl::Status CheckNotCancelled(const kernels::ParallelFor& parallel);

struct ProgramImpl;
class DeviceConstants;

// A region of a ctl op. Its program's inputs are the arguments of the region's block, then the
// values that it reads from around it; its outputs are the operands of its terminator.
struct NestedProgram {
  std::shared_ptr<const ProgramImpl> program;
  std::vector<int> captures;  // positions in the operands of the instruction
};

struct Instruction {
  enum class Kind : uint8_t { kCall, kView, kDims, kIf, kFor, kWhile };
  Kind kind = Kind::kCall;
  Location location;
  std::string fallback;       // see fallbacks.h; empty for what runs where and as fast as it should
  std::vector<int> operands;  // value numbers; those of a ctl op, then what its regions read
  std::vector<int> results;
  // kCall, kView: the operation served. `attrs` is null while it depends on symbols.
  const OpInfo* source = nullptr;
  Slots slots;
  bool symbolic_attrs = false;
  std::shared_ptr<const void> attrs;
  // kCall
  kernels::Kernel kernel;
  std::vector<int> kernel_inputs;               // value numbers, -1 for an absent operand
  std::shared_ptr<InstructionWeights> weights;  // null unless the kernel has a Prepare
  bool packs_once = false;                      // all Prepares of it pack the same
  int inplace = -1;                             // operand whose buffer result 0 takes over
  std::vector<int> joined;                      // operands that lie in result 0 already (parts.h)
  bool parts = false;                           // the results lie in operand 0
  bool of_size_product = false;                 // MarkSizeProducts
  // kDims
  std::vector<DimExpr> dims;
  // kIf, kFor, kWhile
  std::vector<NestedProgram> regions;
  LoopParts loop;

  bool has_parts() const { return parts || !joined.empty(); }
  bool is_control() const {
    return kind == Kind::kIf || kind == Kind::kFor || kind == Kind::kWhile;
  }
};

struct ProgramValue {
  Type type;        // as declared
  int set = -1;     // buffer set
  int input = -1;   // function argument
  Tensor constant;  // null unless a constant
  // While the program is made: if set, it makes the bytes of the constant.
  std::shared_ptr<const DeferredBlob> deferred;
  // If set, it has the bytes of the constant, and `constant` only its shape.
  std::shared_ptr<LargeConstant> large;
  int last_use = -1;       // instruction; num_instructions for function results
  bool on_device = false;  // its data is in device memory
};

struct ProgramSet {
  BufferSet::Kind kind = BufferSet::Kind::kArena;
  int first = 0, last = 0;  // instructions
  int output = -1;
  int first_member = -1;  // value number
};

// Which branch a ctl.if takes, as an input says.
struct Decision {
  int input = -1;      // a function argument: one element, an integer or a boolean
  int condition = -1;  // the value number of the condition
  enum class Test : uint8_t { kNotZero, kEqual, kLess, kLessEqual };
  Test test = Test::kNotZero;  // of the element, with `than` but for the first
  int64_t than = 0;
  bool negated = false;
};

struct ProgramImpl {
  ProgramOptions options;
  std::shared_ptr<MemoryBudget> budget;  // null: no limit
  std::vector<TensorSpec> inputs, outputs;
  std::vector<ProgramValue> values;
  std::vector<Instruction> instructions;
  std::vector<ProgramSet> sets;
  std::vector<int> input_values, output_values;
  // Of a function on the CPU: what inputs say of branches with results of different shapes. What is
  // prepared for shapes is prepared for these choices too.
  std::vector<Decision> decisions;
  // Of a region's program: symbols that it mentions; those that are known around it get their value
  // from there.
  std::vector<std::string_view> outer_symbols;
  // The plan of a function with static shapes, as plan-memory recorded it; one entry per set.
  std::optional<MemoryPlan> static_plan;
  Context* context = nullptr;
  // Null unless an instruction runs on a GPU.
  std::shared_ptr<DeviceConstants> device_constants;

  // "/node: ten.add: message".
  absl::Status Error(const Instruction& instruction, const absl::Status& status) const;
  absl::Status KernelError(const Instruction& instruction,
                           const kernels::KernelStatus& status) const;
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROGRAM_IMPL_H_
