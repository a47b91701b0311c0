// The parts of a program. Internal to the executor.
#ifndef TENON_EXECUTOR_PROGRAM_IMPL_H_
#define TENON_EXECUTOR_PROGRAM_IMPL_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/memory/buffers.h"
#include "executor/memory/memory_budget.h"
#include "executor/prepare/concrete_shapes.h"
#include "executor/program.h"
#include "executor/weights/packed_weights.h"
#include "ir/dialect/ctl.h"

namespace tenon {

// Returns Cancelled once the cancel flag of the run is set.
absl::Status CheckNotCancelled(const kernels::ParallelFor& parallel);

struct ProgramImpl;
class DeviceConstants;

// The program of a region of a ctl op. Its inputs are the arguments of the region's block, then the
// captured values. Its outputs are the operands of the terminator.
struct NestedProgram {
  std::shared_ptr<const ProgramImpl> program;
  std::vector<int> captures;  // positions in the operands of the instruction
};

// What follows a block of a function of several blocks. The outputs of the block's program are the
// operands of its terminator.
struct BlockEnd {
  static constexpr int kReturn = -1;
  struct Target {
    int block = kReturn;          // the next block
    size_t first = 0, count = 0;  // outputs of the block that it gets, or that are returned
  };
  std::vector<Target> targets;  // two: output 0 chooses the first if it is true
  Location location;
  std::string_view op;  // the name of the terminator
};

// The symbols of one block of a function, in the order of its program's outer_symbols.
struct BlockSymbols {
  std::vector<int> slots;   // where the run keeps the value
  std::vector<bool> reads;  // a block that dominates this one has named it
};

// One step of a program.
struct Instruction {
  enum class Kind : uint8_t { kCall, kView, kDims, kIf, kFor, kWhile, kInvoke, kBlocks };
  Kind kind = Kind::kCall;
  Location location;
  std::string fallback;       // see fallbacks.h; empty if the kernel is as expected
  std::vector<int> operands;  // value numbers; for a ctl op, captured values follow
  std::vector<int> results;
  // kCall, kView: the operation in the model. `attrs` is null if it depends on symbols.
  const OpInfo* source = nullptr;
  Slots slots;
  bool symbolic_attrs = false;
  std::shared_ptr<const void> attrs;
  // kCall
  kernels::Kernel kernel;
  std::vector<int> kernel_inputs;               // value numbers, -1 for an absent operand
  std::shared_ptr<InstructionWeights> weights;  // null unless the kernel has a Prepare
  bool packs_once = false;                      // all calls of Prepare pack the same
  int inplace = -1;              // operand whose buffer result 0 takes over; -1: none
  std::vector<int> joined;       // operands that lie in result 0 (contiguous_parts.h)
  bool parts = false;            // the results lie in operand 0
  bool of_size_product = false;  // see MarkSizeProducts
  // kDims
  std::vector<DimExpr> dims;
  // kIf, kFor, kWhile: by region. kInvoke: the function, which the program of the session owns.
  // kBlocks: by block.
  std::vector<NestedProgram> regions;
  LoopParts loop;
  // kBlocks: by block
  std::vector<BlockEnd> ends;
  std::vector<BlockSymbols> symbols;

  bool has_parts() const { return parts || !joined.empty(); }
  bool is_control() const {
    return kind == Kind::kIf || kind == Kind::kFor || kind == Kind::kWhile ||
           kind == Kind::kInvoke || kind == Kind::kBlocks;
  }
};

// One value of a program.
struct ProgramValue {
  Type type;              // as declared
  int set = -1;           // buffer set
  int input = -1;         // function argument
  Tensor constant;        // null unless a constant
  std::string parameter;  // the replaceable parameter whose value the constant is; empty: none
  // Only while the program is made: computes the bytes of the constant, if it is set.
  std::shared_ptr<const DeferredBlob> deferred;
  // If it is set, it holds the bytes of the constant, and `constant` only the shape.
  std::shared_ptr<LargeConstant> large;
  int last_use = -1;       // instruction; num_instructions for function results
  bool on_device = false;  // in device memory
};

// A replaceable parameter.
struct ProgramParameter {
  TensorSpec spec;
  Type type;
  Tensor value;  // of any alignment
};

// One buffer set.
struct ProgramSet {
  BufferSet::Kind kind = BufferSet::Kind::kArena;
  int first = 0, last = 0;  // instructions
  int output = -1;
  int first_member = -1;  // value number
};

// Which branch a ctl.if takes, as decided by an input.
struct Decision {
  int input = -1;      // a function argument with one integer or bool
  int condition = -1;  // the value number of the condition
  enum class Test : uint8_t { kNotZero, kEqual, kLess, kLessEqual };
  Test test = Test::kNotZero;  // compares the element with `than`, except kNotZero
  int64_t than = 0;
  bool negated = false;
};

// Everything about a program.
struct ProgramImpl {
  ProgramOptions options;
  std::shared_ptr<MemoryBudget> budget;  // null: no limit
  std::vector<TensorSpec> inputs, outputs;
  // Of the program of a session: those of the module, in its order, also those that nothing reads.
  std::vector<ProgramParameter> parameters;
  std::vector<ProgramValue> values;
  std::vector<Instruction> instructions;
  std::vector<ProgramSet> sets;
  std::vector<int> input_values, output_values;
  // For a function on the CPU: inputs that choose between branches whose results differ in shape.
  // Preparation for shapes includes these choices.
  std::vector<Decision> decisions;
  // Of the program of a session: those of the functions that it calls.
  std::vector<std::shared_ptr<const ProgramImpl>> functions;
  // For the program of a region: symbols that it mentions. Those that are known outside get their
  // values from there.
  std::vector<std::string_view> outer_symbols;
  // What the inputs are the arguments of, for messages: a function or a region. Empty for the
  // program of a session.
  std::string arguments_of;
  // The plan of a function with static shapes, recorded by plan-memory; one offset per set.
  std::optional<MemoryPlan> static_plan;
  Context* context = nullptr;
  // Null unless an instruction runs on a GPU.
  std::shared_ptr<DeviceConstants> device_constants;

  // Add the place of the instruction to a message: "/node: ten.add: message".
  absl::Status Error(const Instruction& instruction, const absl::Status& status) const;
  absl::Status KernelError(const Instruction& instruction,
                           const kernels::KernelStatus& status) const;
  // Adds the place of an instruction with regions to an error that has none yet: there was no
  // memory, or values do not fit the arguments.
  absl::Status Placed(const Instruction& instruction, absl::Status status) const;
  // Removes what Error leaves for Placed: the caller of a run gets a status without payloads, and
  // the place in `place`, if that is not null.
  static absl::Status WithoutMarks(absl::Status status, std::string* place = nullptr);
};

}  // namespace tenon

#endif  // TENON_EXECUTOR_PROGRAM_IMPL_H_
