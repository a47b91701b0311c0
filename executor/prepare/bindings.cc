#include "executor/prepare/bindings.h"

#include <algorithm>

#include "executor/tensor.h"
#include "fmt/format.h"

namespace tenon {
namespace {

using kernels::TensorView;

// "2x3xf32", and "batch x 3 x f32" where names of sizes would run together.
std::string DimsOf(const TensorSpec& spec) {
  const bool numbers = std::all_of(spec.dims.begin(), spec.dims.end(), [](const std::string& d) {
    return d.find_first_not_of("0123456789") == std::string::npos;
  });
  std::string text;
  for (const std::string& d : spec.dims) text += d + (numbers ? "x" : " x ");
  return text + Name(spec.dtype);
}

std::string NameOf(const ProgramImpl& program, size_t input) {
  if (!program.arguments_of.empty()) {
    return fmt::format("argument {} of {}", input, program.arguments_of);
  }
  return fmt::format("input '{}'", program.inputs[input].name);
}

// Symbols in the order in which plain ones come first: `past + S` can be solved once S is known.
absl::Status BindDims(const ProgramImpl& program, std::span<const TensorView> inputs, bool symbols,
                      Bindings& bindings) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type type = program.values[program.input_values[i]].type;
    for (int64_t axis = 0; axis < type.rank(); ++axis) {
      const DimExpr dim = type.dim(axis);
      const int64_t extent = inputs[i].shape[axis];
      const bool is_symbol = dim.kind() == DimExpr::Kind::kSymbol;
      if (dim.is_unknown() || is_symbol != symbols || bindings.Unify(dim, extent)) continue;
      const std::optional<int64_t> expected = dim.Evaluate(bindings.lookup());
      const std::string why =
          dim.is_constant() ? fmt::format("{}", dim.constant())
                            : fmt::format("{} = {} from the other {}", dim.text(),
                                          expected ? fmt::format("{}", *expected)
                                                   : std::string("a size that fits"),
                                          program.arguments_of.empty() ? "inputs" : "extents");
      return absl::InvalidArgumentError(fmt::format(
          "{} has extent {} at dimension {} (expected {})", NameOf(program, i), extent, axis, why));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool Bindings::Unify(DimExpr dim, int64_t extent) {
  if (dim.is_constant()) return dim.constant() == extent;
  if (dim.is_unknown()) return true;
  if (dim.kind() == DimExpr::Kind::kSymbol) {
    if (const std::optional<int64_t> value = Find(dim.symbol())) return *value == extent;
    Bind(dim.symbol(), extent);
    return true;
  }
  if (const std::optional<int64_t> value = dim.Evaluate(lookup())) return *value == extent;
  std::vector<std::string_view> symbols;
  dim.CollectSymbols(symbols);
  std::string_view open;
  int num_open = 0;
  for (std::string_view symbol : symbols) {
    if (Find(symbol)) continue;
    open = symbol;
    ++num_open;
  }
  if (num_open > 1) return true;
  if (num_open == 0) return false;  // it does not fit a number
  auto at = [&](int64_t value) {
    return dim.Evaluate(
        [&](std::string_view s) { return s == open ? std::optional<int64_t>(value) : Find(s); });
  };
  // The expression as a + b·symbol; confirmed by evaluating it at the solution.
  const std::optional<int64_t> at0 = at(0), at1 = at(1);
  if (!at0 || !at1 || *at1 == *at0) return true;
  const int64_t slope = *at1 - *at0, solution = (extent - *at0) / slope;
  if (solution < 0) return false;
  const std::optional<int64_t> check = at(solution);
  if (!check || *check != extent) return slope == 0;
  Bind(open, solution);
  return true;
}

absl::Status BindInputs(const ProgramImpl& program, std::span<const TensorView> inputs,
                        Bindings& bindings) {
  if (inputs.size() != program.inputs.size()) {
    return absl::InvalidArgumentError(
        fmt::format("{} inputs (expected {})", inputs.size(), program.inputs.size()));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const TensorSpec& spec = program.inputs[i];
    if (inputs[i].dtype != spec.dtype || inputs[i].shape.size() != spec.dims.size()) {
      return absl::InvalidArgumentError(fmt::format("{} is {} (expected {})", NameOf(program, i),
                                                    ShapeText(inputs[i].dtype, inputs[i].shape),
                                                    DimsOf(spec)));
    }
    for (int64_t extent : inputs[i].shape) {
      if (extent < 0)
        return absl::InvalidArgumentError(
            fmt::format("{} has a negative extent", NameOf(program, i)));
    }
    const absl::StatusOr<int64_t> bytes = CheckedBytes(inputs[i].dtype, inputs[i].shape);
    if (!bytes.ok()) {
      return absl::Status(
          bytes.status().code(),
          fmt::format("{} {}", NameOf(program, i), std::string(bytes.status().message())));
    }
  }
  for (const bool symbols : {true, false}) {
    if (absl::Status status = BindDims(program, inputs, symbols, bindings); !status.ok())
      return status;
  }
  return absl::OkStatus();
}

}  // namespace tenon
