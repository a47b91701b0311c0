// fused.group: any DAG of elementwise ops in one pass over memory.
#include <memory>
#include <optional>
#include <utility>

#include "kernels/cpu/pointwise/byte_table.h"
#include "kernels/cpu/pointwise/pointwise_program.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"

namespace tenon::kernels {
namespace {

// One of the two.
struct GroupState : KernelState {
  std::unique_ptr<const cpu::ByteTables> tables;
  std::optional<cpu::PointwiseProgram> program;
};

// Empty if the body can be run here.
std::string ReadBody(std::span<const TensorView> inputs, const void* attrs, PointwiseBody& body) {
  std::vector<DType> dtypes;
  for (const TensorView& input : inputs) dtypes.push_back(input.dtype);
  std::string error;
  if (!ParsePointwise(static_cast<const fused::GroupAttrs*>(attrs)->body, dtypes, body, error)) {
    return error;
  }
  return cpu::PointwiseProgram::WhyNot(body);
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
  auto made = std::make_shared<GroupState>();
  made->tables = cpu::ByteTables::Make(body, args);
  if (made->tables == nullptr) made->program.emplace(body, args.inputs, args.outputs[0].shape);
  state = std::move(made);
  return KernelStatus::Ok();
}

KernelStatus RunGroup(const RunArgs& args) {
  const auto& state = *static_cast<const GroupState*>(args.state);
  if (state.tables != nullptr) {
    state.tables->Run(args);
  } else {
    state.program->Run(args);
  }
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
