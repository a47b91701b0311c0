// Products whose factors follow from constants and sizes, such as projected tables of positions.
#ifndef TENON_EXECUTOR_SIZE_PRODUCTS_H_
#define TENON_EXECUTOR_SIZE_PRODUCTS_H_

#include "executor/program_impl.h"

namespace tenon {

// Marks such products, what they are computed from, and what is computed from them with constants
// and sizes alone: worth keeping for the sizes at hand although the results are large.
void MarkSizeProducts(ProgramImpl& program);

}  // namespace tenon

#endif  // TENON_EXECUTOR_SIZE_PRODUCTS_H_
