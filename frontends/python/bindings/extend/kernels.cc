// Kernels in Python.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "executor/prepare/kernel_call.h"
#include "fmt/format.h"
#include "frontends/python/bindings/attr_maps.h"
#include "frontends/python/bindings/dlpack.h"
#include "frontends/python/bindings/errors.h"
#include "frontends/python/bindings/extend/extension.h"
#include "frontends/python/bindings/tensors.h"
#include "ir/base/bfloat16.h"

namespace tenon::python {
namespace {

using kernels::AttrMap;
using kernels::KernelStatus;
using kernels::RunArgs;
using kernels::TensorView;

// What the copies of a kernel share. It keeps the texts to which the kernel points.
struct CalledKernel {
  std::string op, name;
  PythonFunction function;
  std::vector<OperandDef> groups;
  std::vector<std::string> results, attributes;
  bool declared;  // its attributes are an AttrMap; those of Tenon's operations are structs
};

std::string TypeText(const TensorView& view) {
  std::string shape;
  for (const int64_t extent : view.shape)
    shape += fmt::format("{}{}", shape.empty() ? "" : ", ", extent);
  return fmt::format("{} of shape ({})", NumpyName(view.dtype), shape);
}

// A copy: Python may keep the array, and the memory of a run serves other values later. NumPy has
// no bf16, which becomes float32.
nb::object ArrayOf(const TensorView& view) {
  if (!view.present()) return nb::none();
  if (view.dtype == DType::kBF16) {
    Tensor wide = ValueOf(Tensor::TryMake(DType::kF32, view.shape));
    for (int64_t i = 0; i < view.numel(); ++i)
      wide.as<float>()[i] = std::bit_cast<float>(uint32_t{view.as<uint16_t>()[i]} << 16);
    return ToNumpy(std::move(wide));
  }
  Tensor copy = ValueOf(Tensor::TryMake(view.dtype, view.shape));
  if (copy.num_bytes() > 0) std::memcpy(copy.data(), view.data, copy.num_bytes());
  return ToNumpy(std::move(copy));
}

absl::Status Store(const std::string& name, nb::handle returned, const TensorView& out) {
  TensorSpec spec;
  spec.name = name;
  spec.dtype = out.dtype;
  const Tensor tensor = TensorFrom(returned, spec);
  const TensorView view = tensor.view();
  if (out.dtype == DType::kBF16 && view.dtype == DType::kF32 &&
      std::equal(view.shape.begin(), view.shape.end(), out.shape.begin(), out.shape.end())) {
    for (int64_t i = 0; i < out.numel(); ++i)
      out.as<uint16_t>()[i] = FloatToBFloat16(view.as<float>()[i]);
    return absl::OkStatus();
  }
  if (view.dtype != out.dtype ||
      !std::equal(view.shape.begin(), view.shape.end(), out.shape.begin(), out.shape.end())) {
    return absl::InvalidArgumentError(fmt::format("the kernel returned {} for '{}' (expected {})",
                                                  TypeText(view), name, TypeText(out)));
  }
  if (tensor.num_bytes() > 0) std::memcpy(out.data, tensor.data(), tensor.num_bytes());
  return absl::OkStatus();
}

absl::Status Call(const CalledKernel& kernel, const RunArgs& args) {
  nb::list operands;
  size_t next = 0;
  for (size_t group = 0; group < kernel.groups.size(); ++group) {
    if (kernel.groups[group].arity != Arity::kVariadic) {
      operands.append(next < args.inputs.size() ? ArrayOf(args.inputs[next]) : nb::none());
      ++next;
      continue;
    }
    // Each group behind has one input.
    const size_t end = args.inputs.size() - (kernel.groups.size() - group - 1);
    nb::list list;
    for (; next < end; ++next) list.append(ArrayOf(args.inputs[next]));
    operands.append(list);
  }
  nb::dict attributes;
  AttrMap read;
  if (!kernel.declared && args.attrs != nullptr) ReadAttrs(kernel.op, args.attrs, read);
  const AttrMap* const map = kernel.declared ? static_cast<const AttrMap*>(args.attrs) : &read;
  for (const std::string& name : kernel.attributes) {
    nb::object value = map == nullptr ? nb::object() : FromAttrMap(*map, name);
    attributes[name.c_str()] = value.is_valid() ? value : nb::none();
  }
  const nb::object returned = kernel.function.get()(*operands, **attributes);
  if (args.outputs.size() == 1) return Store(kernel.results[0], returned, args.outputs[0]);
  const bool many = nb::isinstance<nb::tuple>(returned) || nb::isinstance<nb::list>(returned);
  if (!many || nb::len(returned) != args.outputs.size()) {
    return absl::InvalidArgumentError(fmt::format("the kernel returned {} (expected {} arrays)",
                                                  many ? "another number of arrays" : "no tuple",
                                                  args.outputs.size()));
  }
  for (size_t i = 0; i < args.outputs.size(); ++i) {
    const absl::Status status = Store(kernel.results[i], returned[nb::int_(i)], args.outputs[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

KernelStatus Run(const RunArgs& args) {
  const auto& kernel = *static_cast<const CalledKernel*>(args.data);
  return ToKernelStatus(
      CallPython(fmt::format("kernel '{}'", kernel.name), [&] { return Call(kernel, args); }));
}

}  // namespace

absl::StatusOr<kernels::Kernel> PythonKernel(const OpDef& def, bool declared,
                                             const std::string& name, int priority,
                                             PythonFunction function) {
  std::vector<std::string> results, attributes;
  for (const AttrDef& attr : def.attrs) {
    if (attr.name == "operandSegmentSizes") continue;
    if (attr.type == AttrType::kAny || attr.type == AttrType::kElements ||
        attr.type == AttrType::kTypeAttr) {
      return absl::UnimplementedError(fmt::format(
          "{}: kernels do not get the attribute '{}' (expected numbers, texts and lists of them)",
          def.name, attr.name));
    }
    attributes.push_back(attr.name);
  }
  if (!def.regions.empty() || !def.successors.empty() || def.results.empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "{} has regions, successors or no result (expected a plain operation)", def.name));
  }
  int variadic = 0;
  for (const OperandDef& operand : def.operands)
    if (operand.arity == Arity::kVariadic) ++variadic;
  if (variadic > 1 || def.results.back().arity != Arity::kSingle) {
    return absl::InvalidArgumentError(fmt::format(
        "{} has several lists of operands, or a list of results (expected at most one list)",
        def.name));
  }
  for (const OperandDef& result : def.results) results.push_back(result.name);
  auto shared = std::make_shared<const CalledKernel>(
      CalledKernel{def.name, name, std::move(function), def.operands, std::move(results),
                   std::move(attributes), declared});
  kernels::Kernel kernel = {.op = shared->op.c_str(), .name = shared->name.c_str()};
  kernel.priority = priority;
  kernel.run = Run;
  kernel.data = std::move(shared);
  return kernel;
}

}  // namespace tenon::python
