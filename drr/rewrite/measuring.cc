#include "drr/rewrite/measuring.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace tenon::drr {
namespace {

bool IsOne(const Operation& op, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), op.name()) != names.end();
}

std::optional<int64_t> Elements(const Operation& op, bool bytes) {
  int64_t sum = 0;
  for (unsigned r = 0; r < op.num_results(); ++r) {
    const Type type = const_cast<Operation&>(op).result(r).type();
    if (!type.is_tensor() || !type.is_static()) return std::nullopt;
    sum += type.num_elements() * (bytes ? static_cast<int64_t>(SizeOf(type.dtype())) : 1);
  }
  return sum;
}

// Operations of `names` among `ops` from which the operands of `op` are computed, each counted once
// an operand: operands may be one value, of which a rule replaces one after the other.
int64_t Below(const Operation& op, std::span<Operation* const> ops,
              const std::vector<std::string>& names) {
  const std::set<const Operation*> among(ops.begin(), ops.end());
  int64_t count = 0;
  for (unsigned first = 0; first < op.num_operands(); ++first) {
    std::set<const Operation*> seen;
    std::vector<const Operation*> open;
    const auto visit = [&](const Operation* below) {
      if (below == nullptr || !among.contains(below) || !seen.insert(below).second) return;
      count += IsOne(*below, names) ? 1 : 0;
      open.push_back(below);
    };
    visit(op.operand(first).defining_op());
    while (!open.empty()) {
      const Operation* at = open.back();
      open.pop_back();
      for (unsigned i = 0; i < at->num_operands(); ++i) visit(at->operand(i).defining_op());
    }
  }
  return count;
}

}  // namespace

std::optional<int64_t> MeasureOf(const Measure& measure, std::span<Operation* const> ops) {
  int64_t sum = 0;
  for (const Operation* op : ops) {
    switch (measure.kind) {
      case Measure::Kind::kNone:
      case Measure::Kind::kWords:
        return std::nullopt;
      case Measure::Kind::kOps:
        sum += IsOne(*op, measure.ops) ? 1 : 0;
        break;
      case Measure::Kind::kBefore:
        if (IsOne(*op, measure.behind)) sum += Below(*op, ops, measure.ops);
        break;
      case Measure::Kind::kElements:
      case Measure::Kind::kBytes: {
        if (op->Has(Trait::kConstantLike)) break;
        const auto elements = Elements(*op, measure.kind == Measure::Kind::kBytes);
        if (!elements) return std::nullopt;
        sum += *elements;
        break;
      }
    }
  }
  return sum;
}

}  // namespace tenon::drr
