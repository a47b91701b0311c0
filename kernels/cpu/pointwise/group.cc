// fused.group: any DAG of elementwise ops in one pass over memory, and of row ops block by block.
#include <memory>
#include <utility>

#include "kernels/cpu/pointwise/byte_table.h"
#include "kernels/cpu/pointwise/pointwise_program.h"
#include "kernels/cpu/pointwise/row_program.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// A program of any kind.
struct GroupState : KernelState {
  virtual void Run(const RunArgs& args) const = 0;
};

template <typename Program>
struct StateOf final : GroupState {
  template <typename... Args>
  explicit StateOf(Args&&... args) : program(std::forward<Args>(args)...) {}
  void Run(const RunArgs& args) const override { program.Run(args); }

  const Program program;
};

using PointwiseState = StateOf<cpu::PointwiseProgram>;
// A table instead of a program.
struct TableState final : GroupState {
  explicit TableState(std::unique_ptr<const cpu::ByteTables> made) : tables(std::move(made)) {}
  void Run(const RunArgs& args) const override { tables->Run(args); }

  const std::unique_ptr<const cpu::ByteTables> tables;
};

using RowState = StateOf<cpu::RowProgram>;

// Empty if the body can be run here.
std::string ReadBody(std::span<const TensorView> inputs, const void* attrs, PointwiseBody& body) {
  std::vector<DType> dtypes;
  for (const TensorView& input : inputs) dtypes.push_back(input.dtype);
  std::string error;
  if (!ParsePointwise(static_cast<const fused::GroupAttrs*>(attrs)->body, dtypes, body, error)) {
    return error;
  }
  return body.has_row_ops() ? cpu::RowProgram::WhyNot(body) : cpu::PointwiseProgram::WhyNot(body);
}

std::string SupportsGroup(const CallSignature& call) {
  PointwiseBody body;
  return ReadBody(call.inputs, call.attrs, body);
}

KernelStatus PrepareGroup(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  PointwiseBody body;
  if (std::string error = ReadBody(args.inputs, args.attrs, body); !error.empty()) {
    return KernelStatus::Invalid(std::move(error));
  }
  if (!body.has_row_ops()) {
    if (auto tables = cpu::ByteTables::Make(body, args); tables != nullptr) {
      state = std::make_shared<TableState>(std::move(tables));
      return KernelStatus::Ok();
    }
    state = std::make_shared<PointwiseState>(body, args.inputs, args.outputs[0].shape);
    return KernelStatus::Ok();
  }
  Dims shape;
  for (const TensorView& input : args.inputs) shape = BroadcastShape(View(shape), input.shape);
  auto rows = std::make_shared<RowState>(body, args.inputs, View(shape),
                                         args.device->parallel->num_threads());
  args.scratch_bytes = rows->program.scratch_bytes();
  state = std::move(rows);
  return KernelStatus::Ok();
}

KernelStatus RunGroup(const RunArgs& args) {
  static_cast<const GroupState*>(args.state)->Run(args);
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuGroup() {
  return {.op = "fused.group",
          .name = "cpu.group",
          .priority = 10,
          .run = RunGroup,
          .prepare = PrepareGroup,
          .supports = SupportsGroup,
          .inplace_mask = ~0u};
}

}  // namespace tenon::kernels
