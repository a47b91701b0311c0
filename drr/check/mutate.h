// Changing one thing of an instance, so that it nearly matches the rule.
#ifndef TENON_DRR_CHECK_MUTATE_H_
#define TENON_DRR_CHECK_MUTATE_H_

#include <cstdint>

#include "drr/check/instance.h"

namespace tenon::drr {

// Makes one change: to an op, an attribute, the operand order, a constant, an operand or the
// returned values. One seed makes one change, in every element type. False if there is nothing to
// change or the program would not be valid.
bool Mutate(Instance& instance, uint64_t seed);

}  // namespace tenon::drr

#endif  // TENON_DRR_CHECK_MUTATE_H_
