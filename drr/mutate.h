// Changes one thing of an instance, so that it is nearly what a rule describes.
#ifndef TENON_DRR_MUTATE_H_
#define TENON_DRR_MUTATE_H_

#include <cstdint>

#include "drr/instance.h"

namespace tenon::drr {

// One op, attribute, order of operands or constant becomes another, a value is used in the place of
// another or returned as well. One seed makes one change, whatever the element type of the
// instance. False: there is nothing to change, or the program would not be valid.
bool Mutate(Instance& instance, uint64_t seed);

}  // namespace tenon::drr

#endif  // TENON_DRR_MUTATE_H_
