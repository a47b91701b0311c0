#include "ir/dialect/folds/zero_signs.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "absl/container/inlined_vector.h"
#include "ir/core/context/context.h"
#include "ir/core/operation.h"

namespace tenon {
namespace {

template <size_t N>
bool IsOneOf(std::string_view name, const std::string_view (&names)[N]) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// Their zeros are +0, or have no defined sign.
constexpr std::string_view kNeverNegativeZero[] = {"ten.exp",
                                                   "ten.abs",
                                                   "ten.sigmoid",
                                                   "ten.hard_sigmoid",
                                                   "ten.cos",
                                                   "ten.cosh",
                                                   "ten.softplus",
                                                   "ten.relu",
                                                   "ten.matmul",
                                                   "ten.einsum",
                                                   "ten.reduce_sum",
                                                   "ten.reduce_mean",
                                                   "ten.reduce_l2",
                                                   "nn.softmax",
                                                   "nn.hardmax",
                                                   "nn.layer_norm",
                                                   "nn.rms_norm",
                                                   "nn.group_norm",
                                                   "nn.batch_norm",
                                                   "nn.conv",
                                                   "nn.conv_transpose",
                                                   "nn.average_pool",
                                                   "nn.attention",
                                                   "nn.recurrence",
                                                   "fused.linear",
                                                   "fused.conv",
                                                   "fused.attention",
                                                   "fused.conv_transpose",
                                                   "fused.embedding",
                                                   "fused.embedding_pool",
                                                   "fused.skip_layer_norm",
                                                   "fused.skip_rms_norm",
                                                   "q.linear",
                                                   "q.conv"};

// They have no zero but those of their operands.
constexpr std::string_view kMoves[] = {
    "ten.reshape", "ten.transpose", "ten.slice",     "ten.concat", "ten.split",
    "ten.expand",  "ten.gather",    "ten.tile",      "ten.where",  "ten.reduce_max",
    "ten.max",     "ten.min",       "ten.reduce_min"};

// +0 and -0 give them the same result.
constexpr std::string_view kIgnoresSign[] = {
    "ten.exp",        "ten.log",           "ten.abs",
    "ten.cos",        "ten.cosh",          "ten.sigmoid",
    "ten.softplus",   "ten.less",          "ten.less_equal",
    "ten.greater",    "ten.greater_equal", "ten.equal",
    "ten.is_nan",     "ten.is_inf",        "ten.shape",
    "ten.argmax",     "ten.argmin",        "nn.softmax",
    "nn.log_softmax", "nn.hardmax",        "ten.reduce_log_sum_exp",
    "ten.reduce_l2",  "ten.nonzero",       "func.return"};

// They turn a sign of zero into an infinity of that sign, or may do anything with it.
constexpr std::string_view kTellsSign[] = {"ten.reciprocal", "ten.bitcast", "fused.group",
                                           "ten.unique"};

// The number that all elements of a constant are, if it is one number.
std::optional<double> ConstantOf(Value value) {
  const Operation* op = value.defining_op();
  if (op == nullptr || op->name() != "core.constant") return std::nullopt;
  const Attribute elements = op->slot(0);
  const int64_t size = elements.type().num_elements();
  if (size == 0 || (size > 1 && !elements.is_splat())) return std::nullopt;
  return elements.ElementAsDouble(0);
}

bool MayBeNegativeZero(Value value, int depth) {
  if (!HoldsFloats(value.type().dtype())) return false;
  const Operation* op = value.defining_op();
  if (op == nullptr || depth == 0) return true;
  const std::string_view name = op->name();
  if (IsOneOf(name, kNeverNegativeZero)) return false;
  if (name == "core.constant") {
    const Attribute elements = op->slot(0);
    const int64_t size = elements.is_splat() ? 1 : elements.type().num_elements();
    if (size > 4096) return true;
    for (int64_t i = 0; i < size; ++i) {
      const double number = elements.ElementAsDouble(i);
      if (number == 0 && std::signbit(number)) return true;
    }
    return false;
  }
  const auto may = [&](unsigned i) { return MayBeNegativeZero(op->operand(i), depth - 1); };
  // -0 is the sum of two of it alone.
  if (name == "ten.add") return may(0) && may(1);
  if (name == "ten.sub") return may(0);
  if (name == "ten.mul") return op->operand(0) != op->operand(1);
  if (name == "ten.cast") return may(0);
  if (!IsOneOf(name, kMoves)) return true;
  for (unsigned i = 0; i < op->num_operands(); ++i)
    if (may(i)) return true;
  return false;
}

// What a user does with the sign of a zero of its operand.
enum class Reading { kIgnores, kPasses, kTells };

Reading ReadingOf(const Operation& op, unsigned operand) {
  const std::string_view name = op.name();
  if (IsOneOf(name, kIgnoresSign)) return Reading::kIgnores;
  if (IsOneOf(name, kTellsSign)) return Reading::kTells;
  if (name == "ten.pow" && operand == 1) return Reading::kIgnores;
  if (name == "ten.pow")
    return ConstantOf(op.operand(1)).value_or(-1) > 0 ? Reading::kPasses : Reading::kTells;
  if (name == "ten.div") return operand == 1 ? Reading::kTells : Reading::kPasses;
  if (name == "ten.mul" && op.operand(0) == op.operand(1)) return Reading::kIgnores;
  if ((name == "ten.add" || name == "ten.sub") &&
      ConstantOf(op.operand(1 - operand)).value_or(0) != 0)
    return Reading::kIgnores;
  if (name == "ten.cast" && !IsFloat(op.result().type().dtype())) return Reading::kIgnores;
  const bool known = name.starts_with("ten.") || name.starts_with("nn.") ||
                     name.starts_with("fused.") || name.starts_with("q.");
  return known && op.num_regions() == 0 ? Reading::kPasses : Reading::kTells;
}

}  // namespace

bool MayBeNegativeZero(Value value) { return MayBeNegativeZero(value, 8); }

bool MayTellSignOfZero(Value value) {
  constexpr size_t kMostOps = 200;
  if (!value.has_uses()) return true;
  absl::InlinedVector<Value, 32> left = {value};
  absl::InlinedVector<const Operation*, 64> seen;
  while (!left.empty()) {
    const Value next = left.back();
    left.pop_back();
    for (OpOperand& use : next.uses()) {
      const Operation* user = use.owner();
      const Reading reading = ReadingOf(*user, use.index());
      if (reading == Reading::kTells) return true;
      if (reading == Reading::kIgnores || std::find(seen.begin(), seen.end(), user) != seen.end())
        continue;
      seen.push_back(user);
      if (seen.size() > kMostOps) return true;
      for (unsigned r = 0; r < user->num_results(); ++r)
        left.push_back(const_cast<Operation*>(user)->result(r));
    }
  }
  return false;
}

}  // namespace tenon
