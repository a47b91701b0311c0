#include "executor/memory/contiguous_parts.h"

#include <algorithm>
#include <vector>

#include "ir/base/check.h"
#include "kernels/calls/strided_layout.h"

namespace tenon {
namespace {

// The first axis that may have another extent than 1; the rank if there is none.
int64_t OuterAxis(Type type) {
  int64_t axis = 0;
  while (axis < type.rank() && type.dim(axis).is_constant(1)) ++axis;
  return axis;
}

// The axis of a concatenation or split, -1 if it has none.
int64_t AxisOf(kernel::CallOp call, Type whole) {
  const Attribute properties = call.properties();
  if (!properties || properties.kind() != Attribute::Kind::kDictionary) return -1;
  const Attribute axis = properties.Get("axis");
  if (!axis || axis.kind() != Attribute::Kind::kInteger) return -1;
  return axis.int_value() < 0 ? axis.int_value() + whole.rank() : axis.int_value();
}

bool IsWindow(kernel::CallOp call) {
  const Attribute properties = call.properties();
  if (!properties || properties.kind() != Attribute::Kind::kDictionary) return false;
  const Attribute steps = properties.Get("steps");
  if (!steps || steps.kind() != Attribute::Kind::kDenseArray) return false;
  const std::span<const int64_t> values = steps.ints();
  if (!std::all_of(values.begin(), values.end(), [](int64_t step) { return step == 1; }))
    return false;
  const Type from = call->operand(0).type(), to = call->result(0).type();
  if (!from.is_tensor() || !to.is_tensor() || from.rank() != to.rank()) return false;
  for (int64_t axis = OuterAxis(from) + 1; axis < from.rank(); ++axis) {
    if (!DimExpr::ProvablyEqual(from.dim(axis), to.dim(axis))) return false;
  }
  return true;
}

// Of the bytes of operand 0.
int64_t FirstByteOfSlice(const Instruction& instruction, const void* attrs, const Walk& walk) {
  const kernels::TensorView x = walk.view(instruction.operands[0]);
  const kernels::TensorView out = walk.view(instruction.results[0]);
  if (out.numel() == 0) return 0;
  kernels::RunArgs args;
  args.inputs = {&x, 1};
  args.outputs = {&out, 1};
  args.attrs = attrs;
  kernels::StridedLayout layout;
  const kernels::KernelStatus status = kernels::SliceLayout(args, layout);
  TENON_CHECK(status.ok());
  return layout.offset * static_cast<int64_t>(SizeOf(x.dtype));
}

}  // namespace

std::vector<int64_t> JoinedOf(const Operation& call) {
  const Attribute joined = call.attr(kJoinedAttr);
  if (!joined || joined.kind() != Attribute::Kind::kDenseArray) return {};
  return {joined.ints().begin(), joined.ints().end()};
}

bool HasParts(const Operation& call) {
  const Attribute parts = call.attr(kPartsAttr);
  return parts && parts.kind() == Attribute::Kind::kBool && parts.bool_value();
}

PartsKind PartsOf(kernel::CallOp call) {
  // The CPU's leave what is in its place alone; those of devices do not look.
  if (call.kernel().starts_with("cuda.")) return PartsKind::kNone;
  const bool join = call.source() == "ten.concat", split = call.source() == "ten.split";
  if (join || split) {
    if (call->num_operands() == 0 || call->num_results() == 0) return PartsKind::kNone;
    const Type whole = join ? call->result(0).type() : call->operand(0).type();
    if (!whole.is_tensor()) return PartsKind::kNone;
    const int64_t axis = AxisOf(call, whole);
    if (axis < 0 || axis >= whole.rank() || axis > OuterAxis(whole)) return PartsKind::kNone;
    return join ? PartsKind::kJoin : PartsKind::kCut;
  }
  return call.source() == "ten.slice" && IsWindow(call) ? PartsKind::kCut : PartsKind::kNone;
}

std::vector<int64_t> PlacesInSets(const ProgramImpl& program, const Walk& walk) {
  const bool any =
      std::any_of(program.instructions.begin(), program.instructions.end(),
                  [](const Instruction& instruction) { return instruction.has_parts(); });
  if (!any) return {};
  // Where in `whole` a value begins.
  struct Place {
    int whole = -1;
    int64_t offset = 0;
  };
  std::vector<Place> places(program.values.size());
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    const Instruction& instruction = program.instructions[i];
    if (instruction.kind == Instruction::Kind::kView) {
      places[instruction.results[0]] = {instruction.operands[0], 0};
    } else if (instruction.inplace >= 0) {
      places[instruction.results[0]] = {instruction.operands[instruction.inplace], 0};
    } else if (instruction.parts) {
      int64_t offset = instruction.source->name() == "ten.slice"
                           ? FirstByteOfSlice(instruction, walk.attrs(i).get(), walk)
                           : 0;
      for (int result : instruction.results) {
        places[result] = {instruction.operands[0], offset};
        offset += walk.view(result).bytes();
      }
    }
    if (instruction.joined.empty()) continue;
    std::vector<bool> is_joined(instruction.operands.size());
    for (const int operand : instruction.joined) is_joined[static_cast<size_t>(operand)] = true;
    int64_t offset = 0;
    for (size_t k = 0; k < instruction.operands.size(); ++k) {
      const int operand = instruction.operands[k];
      if (is_joined[k]) {
        // The value that has its buffer from the start is the part.
        int root = operand;
        while (places[root].whole >= 0) root = places[root].whole;
        places[root] = {instruction.results[0], offset};
      }
      offset += walk.view(operand).bytes();
    }
  }
  // A long chain is walked once: what has been reached then lies directly in its outermost value.
  std::vector<int64_t> offsets;
  std::vector<int> chain;
  for (size_t value = 0; value < places.size(); ++value) {
    chain.clear();
    for (int at = static_cast<int>(value); places[at].whole >= 0; at = places[at].whole)
      chain.push_back(at);
    for (size_t i = chain.size(); i-- > 1;) {
      Place& inner = places[chain[i - 1]];
      const Place& outer = places[chain[i]];
      inner = {outer.whole, inner.offset + outer.offset};
    }
    offsets.push_back(places[value].offset);
  }
  return offsets;
}

}  // namespace tenon
