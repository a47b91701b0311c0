// Counting what a rule says that it lowers (drr/rule/measure.h).
#ifndef TENON_DRR_REWRITE_MEASURING_H_
#define TENON_DRR_REWRITE_MEASURING_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drr/rule/measure.h"
#include "ir/core/operation.h"

namespace tenon::drr {

// Returns the measure of `ops`, which has no operation twice. Nullopt if it counts elements and an
// extent is unknown, and for measures that are no numbers.
std::optional<int64_t> MeasureOf(const Measure& measure, std::span<Operation* const> ops);
// Returns those of `ops`, operands first, that do not compute with constants alone: folding removes
// the others.
std::vector<Operation*> WithoutConstants(std::span<Operation* const> ops);

}  // namespace tenon::drr

#endif  // TENON_DRR_REWRITE_MEASURING_H_
