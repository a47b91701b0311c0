#include "executor/control.h"

#include <cstring>

#include "executor/runner.h"
#include "fmt/format.h"
#include "ir/core/check.h"

namespace tenon {
namespace {

using kernels::TensorView;

// The one element of a boolean or i64 tensor.
absl::StatusOr<int64_t> Element(const TensorView& tensor, std::string_view what) {
  if (tensor.numel() != 1) {
    return absl::InvalidArgumentError(fmt::format("{} is {} (expected one element)", what,
                                                  ShapeText(tensor.dtype, tensor.shape)));
  }
  return LoadAsInt(tensor.dtype, static_cast<const std::byte*>(tensor.data));
}

Tensor Scalar(int64_t value) {
  return Tensor::Copy(DType::kI64, std::span<const int64_t>(), &value);
}

// Copies slices of equal shape next to each other along `axis`.
absl::StatusOr<Tensor> StackSlices(std::span<const Tensor> slices, const LoopScan& scan) {
  const std::span<const int64_t> shape = slices[0].shape();
  std::vector<int64_t> stacked(shape.begin(), shape.end());
  stacked.insert(stacked.begin() + scan.axis, static_cast<int64_t>(slices.size()));
  TENON_ASSIGN_OR_RETURN(Tensor result, Tensor::TryMake(slices[0].dtype(), stacked));
  size_t inner = SizeOf(result.dtype()), outer = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    (static_cast<int64_t>(i) < scan.axis ? outer : inner) *= static_cast<size_t>(shape[i]);
  }
  if (inner == 0 || outer == 0) return result;
  for (size_t i = 0; i < slices.size(); ++i) {
    const size_t place = scan.reverse ? slices.size() - 1 - i : i;
    for (size_t o = 0; o < outer; ++o) {
      std::memcpy(result.as<std::byte>() + (o * slices.size() + place) * inner,
                  slices[i].as<std::byte>() + o * inner, inner);
    }
  }
  return result;
}

}  // namespace

ControlRunner::ControlRunner(const ProgramImpl& program, kernels::DeviceContext& device,
                             SessionState& state)
    : program_(program), device_(device), state_(state) {}
ControlRunner::~ControlRunner() = default;

ControlRunner::Region& ControlRunner::RegionOf(size_t instruction, size_t region) {
  if (regions_.empty()) regions_.resize(program_.instructions.size());
  const std::vector<NestedProgram>& nested = program_.instructions[instruction].regions;
  if (regions_[instruction].empty()) regions_[instruction].resize(nested.size());
  Region& found = regions_[instruction][region];
  if (found.runner == nullptr) {
    found.runner = std::make_unique<Runner>(*nested[region].program, device_, state_);
  }
  return found;
}

void ControlRunner::SetSymbols(const NestedProgram& nested, const Bindings& bindings,
                               Region& region) const {
  region.symbols.clear();
  for (std::string_view symbol : nested.program->outer_symbols) {
    region.symbols.push_back(bindings.Find(symbol).value_or(kNoValue));
  }
}

absl::StatusOr<ControlRunner::Region*> ControlRunner::Choose(size_t index,
                                                             std::span<const TensorView> operands,
                                                             const Bindings& bindings) {
  const Instruction& instruction = program_.instructions[index];
  const absl::StatusOr<int64_t> condition = Element(operands[0], "the condition");
  if (!condition.ok()) return program_.Error(instruction, condition.status());
  const size_t chosen = *condition != 0 ? 0 : 1;
  const NestedProgram& nested = instruction.regions[chosen];
  Region& region = RegionOf(index, chosen);
  region.inputs.clear();
  for (int capture : nested.captures) region.inputs.push_back(operands[capture]);
  SetSymbols(nested, bindings, region);
  return &region;
}

absl::StatusOr<std::vector<ResultShape>> ControlRunner::BranchShapes(
    size_t index, std::span<const TensorView> operands, const Bindings& bindings) {
  TENON_ASSIGN_OR_RETURN(Region* const region, Choose(index, operands, bindings));
  return region->runner->PlannedShapes(region->inputs, region->symbols);
}

absl::StatusOr<ControlRunner::Tensors> ControlRunner::RunRegion(size_t instruction, size_t region,
                                                                Tensors arguments,
                                                                std::span<const Tensor> operands,
                                                                const Bindings& bindings) {
  const NestedProgram& nested = program_.instructions[instruction].regions[region];
  for (int capture : nested.captures) arguments.push_back(operands[capture]);
  Region& of = RegionOf(instruction, region);
  SetSymbols(nested, bindings, of);
  return of.runner->Run(arguments, of.symbols, /*share=*/true);
}

absl::StatusOr<ControlRunner::Tensors> ControlRunner::Run(size_t index,
                                                          std::span<const Tensor> operands,
                                                          const Bindings& bindings) {
  const Instruction& instruction = program_.instructions[index];
  if (instruction.kind == Instruction::Kind::kFor) return RunFor(index, operands, bindings);
  if (instruction.kind == Instruction::Kind::kWhile) return RunWhile(index, operands, bindings);
  const absl::StatusOr<int64_t> condition = Element(operands[0].view(), "the condition");
  if (!condition.ok()) return program_.Error(instruction, condition.status());
  return RunRegion(index, *condition != 0 ? 0 : 1, {}, operands, bindings);
}

absl::StatusOr<ControlRunner::Tensors> ControlRunner::RunFor(size_t index,
                                                             std::span<const Tensor> operands,
                                                             const Bindings& bindings) {
  const Instruction& instruction = program_.instructions[index];
  const LoopParts& loop = instruction.loop;
  int64_t bounds[3];
  constexpr std::string_view kNames[] = {"the lower bound", "the upper bound", "the step"};
  for (size_t i = 0; i < 3; ++i) {
    const absl::StatusOr<int64_t> bound = Element(operands[i].view(), kNames[i]);
    if (!bound.ok()) return program_.Error(instruction, bound.status());
    bounds[i] = *bound;
  }
  const auto [lower, upper, step] = bounds;
  if (step == 0) {
    return program_.Error(instruction, absl::InvalidArgumentError("the step of the loop is 0"));
  }
  Tensors carried(operands.begin() + loop.first_init,
                  operands.begin() + loop.first_init + loop.num_carried);
  std::vector<Tensors> stacked(loop.scans.size());
  for (int64_t i = lower; step > 0 ? i < upper : i > upper;) {
    Tensors arguments = {Scalar(i)};
    arguments.insert(arguments.end(), carried.begin(), carried.end());
    TENON_ASSIGN_OR_RETURN(Tensors yielded,
                           RunRegion(index, 0, std::move(arguments), operands, bindings));
    for (size_t s = 0; s < stacked.size(); ++s) {
      stacked[s].push_back(yielded[loop.num_carried + s]);
    }
    yielded.resize(loop.num_carried);
    carried = std::move(yielded);
    if (__builtin_add_overflow(i, step, &i)) break;
  }
  TENON_RETURN_IF_ERROR(Stack(instruction, bindings, stacked, carried));
  return carried;
}

absl::StatusOr<ControlRunner::Tensors> ControlRunner::RunWhile(size_t index,
                                                               std::span<const Tensor> operands,
                                                               const Bindings& bindings) {
  const Instruction& instruction = program_.instructions[index];
  const LoopParts& loop = instruction.loop;
  Tensors carried(operands.begin(), operands.begin() + loop.num_carried);
  std::vector<Tensors> stacked(loop.scans.size());
  for (;;) {
    TENON_ASSIGN_OR_RETURN(Tensors passed,
                           RunRegion(index, 0, std::move(carried), operands, bindings));
    const absl::StatusOr<int64_t> condition = Element(passed[0].view(), "the condition");
    if (!condition.ok()) return program_.Error(instruction, condition.status());
    passed.erase(passed.begin());
    if (*condition == 0) {
      TENON_RETURN_IF_ERROR(Stack(instruction, bindings, stacked, passed));
      return passed;
    }
    TENON_ASSIGN_OR_RETURN(carried, RunRegion(index, 1, std::move(passed), operands, bindings));
    for (size_t s = 0; s < stacked.size(); ++s) {
      stacked[s].push_back(std::move(carried[loop.num_carried + s]));
    }
    carried.resize(loop.num_carried);
  }
}

// Appends the stacked results. Without a run, extents that nothing says are 0.
absl::Status ControlRunner::Stack(const Instruction& instruction, const Bindings& bindings,
                                  std::span<const Tensors> stacked, Tensors& results) const {
  for (size_t s = 0; s < stacked.size(); ++s) {
    const LoopScan& scan = instruction.loop.scans[s];
    const Tensors& slices = stacked[s];
    if (slices.empty()) {
      const Type type = program_.values[instruction.results[instruction.loop.num_carried + s]].type;
      std::vector<int64_t> shape;
      for (DimExpr dim : type.dims()) {
        shape.push_back(dim.Evaluate(bindings.lookup()).value_or(0));
      }
      shape[scan.axis] = 0;
      TENON_ASSIGN_OR_RETURN(results.emplace_back(), Tensor::TryMake(type.dtype(), shape));
      continue;
    }
    for (const Tensor& slice : slices) {
      if (std::equal(slice.shape().begin(), slice.shape().end(), slices[0].shape().begin(),
                     slices[0].shape().end())) {
        continue;
      }
      return program_.Error(instruction, absl::InvalidArgumentError(fmt::format(
                                             "values to stack are {} and {} (expected one shape)",
                                             slices[0].type_text(), slice.type_text())));
    }
    TENON_ASSIGN_OR_RETURN(results.emplace_back(), StackSlices(slices, scan));
  }
  return absl::OkStatus();
}

absl::Status ControlRunner::RunInto(size_t index, std::span<const TensorView> operands,
                                    const Bindings& bindings, std::span<const TensorView> results) {
  const Instruction& instruction = program_.instructions[index];
  if (instruction.kind == Instruction::Kind::kIf) {
    TENON_ASSIGN_OR_RETURN(Region* const region, Choose(index, operands, bindings));
    return region->runner->RunInto(region->inputs, region->symbols, results);
  }
  Tensors tensors;
  for (const TensorView& view : operands) {
    tensors.push_back(Tensor::Borrow(view.dtype, view.shape, view.data, nullptr));
  }
  TENON_ASSIGN_OR_RETURN(const Tensors made, Run(index, tensors, bindings));
  for (size_t i = 0; i < made.size(); ++i) {
    if (!std::equal(made[i].shape().begin(), made[i].shape().end(), results[i].shape.begin(),
                    results[i].shape.end())) {
      return program_.Error(instruction,
                            absl::InvalidArgumentError(fmt::format(
                                "result {} is {} where {} was expected", i, made[i].type_text(),
                                ShapeText(results[i].dtype, results[i].shape))));
    }
    if (made[i].num_bytes() > 0) {
      std::memcpy(results[i].data, made[i].data(), made[i].num_bytes());
    }
  }
  return absl::OkStatus();
}

}  // namespace tenon
