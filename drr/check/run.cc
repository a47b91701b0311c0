#include "drr/check/run.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "fmt/format.h"
#include "ir/core/block.h"
#include "ir/core/constants/constant.h"
#include "ir/core/context/context.h"

namespace tenon::drr {

Attribute ArgumentOf(Operation* function, size_t argument, const Numbers& numbers) {
  const std::vector<double>& values = numbers.values;
  const Type type = function->region().front().argument(static_cast<unsigned>(argument)).type();
  const size_t size = SizeOf(type.dtype());
  std::vector<std::byte> bytes(values.size() * size);
  for (size_t k = 0; k < values.size(); ++k)
    StoreFromDouble(type.dtype(), values[k], bytes.data() + k * size);
  if (type.dtype() == DType::kI64 || type.dtype() == DType::kU64) {
    for (size_t k = 0; k < numbers.rests.size(); ++k) {
      uint64_t bits;
      std::memcpy(&bits, bytes.data() + k * size, size);
      bits += static_cast<uint64_t>(numbers.rests[k]);
      std::memcpy(bytes.data() + k * size, &bits, size);
    }
  }
  return Attribute::Elements(function->context(), type, bytes);
}

std::vector<Attribute> ArgumentsOf(const Instance& instance) {
  std::vector<Attribute> arguments;
  arguments.reserve(instance.arguments.size());
  for (size_t i = 0; i < instance.arguments.size(); ++i)
    arguments.push_back(ArgumentOf(instance.function, i, instance.arguments[i]));
  return arguments;
}

double Rounded(DType dtype, double value) {
  std::byte bytes[8];
  StoreFromDouble(dtype, value, bytes);
  return LoadAsDouble(dtype, bytes);
}

std::string NumberText(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

std::string InputsText(const std::vector<Attribute>& arguments) {
  std::string text;
  for (size_t i = 0; i < arguments.size(); ++i) {
    text += fmt::format("// input {}: [", i);
    const Attribute argument = arguments[i];
    const bool is_float = IsFloat(argument.type().dtype());
    for (int64_t k = 0; k < argument.type().num_elements(); ++k) {
      text += k > 0 ? ", " : "";
      text += is_float ? NumberText(argument.ElementAsDouble(k))
                       : fmt::format("{}", argument.ElementAsInt(k));
    }
    text += "]\n";
  }
  return text;
}

absl::StatusOr<Run> Evaluate(Operation* function, const std::vector<Attribute>& arguments,
                             Evaluator& evaluator) {
  Block& block = function->region().front();
  struct Known {
    Attribute value;
    bool constant = false;
  };
  // Programs have few values, and most operands were made just before.
  constexpr size_t kUsual = 8;  // operations of most programs
  std::vector<std::pair<ValueImpl*, Known>> values;
  values.reserve(2 * kUsual);
  for (size_t i = 0; i < arguments.size(); ++i)
    values.push_back({block.argument(static_cast<unsigned>(i)).impl(), {arguments[i], false}});
  const auto known_of = [&](Value value) {
    const auto at = std::find_if(values.rbegin(), values.rend(),
                                 [&](const auto& known) { return known.first == value.impl(); });
    return at != values.rend() ? at->second : Known();
  };
  Run run;
  run.computed.reserve(kUsual);
  for (Operation& op : block) {
    std::vector<Attribute> operands;
    operands.reserve(op.num_operands());
    bool all_constant = true;
    for (OpOperand& operand : op.operands()) {
      const Known known = known_of(operand.get());
      operands.push_back(known.value);
      all_constant &= known.constant;
    }
    if (op.Has(Trait::kTerminator)) {
      run.results = std::move(operands);
      break;
    }
    if (op.Has(Trait::kConstantLike)) {
      values.push_back({op.result().impl(), {ConstantValueOf(&op), true}});
      run.constants.push_back(ConstantValueOf(&op));
      continue;
    }
    TENON_ASSIGN_OR_RETURN(std::vector<Attribute> made, evaluator.Evaluate(op, operands));
    for (unsigned r = 0; r < op.num_results(); ++r)
      values.push_back({op.result(r).impl(), {made[r], all_constant}});
    run.computed.push_back({&op, std::move(operands), std::move(made)});
    run.is_constant.push_back(all_constant);
  }
  return run;
}

}  // namespace tenon::drr
