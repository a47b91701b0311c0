// Products whose factors follow from constants and sizes, such as projected tables of positions.
#ifndef TENON_EXECUTOR_COMPILE_SIZE_PRODUCTS_H_
#define TENON_EXECUTOR_COMPILE_SIZE_PRODUCTS_H_

#include "executor/program_impl.h"

namespace tenon {

// Marks such products, the operations they are computed from, and those computed from them with
// only constants and sizes. Their results are kept for the current sizes although they are large.
void MarkSizeProducts(ProgramImpl& program);

}  // namespace tenon

#endif  // TENON_EXECUTOR_COMPILE_SIZE_PRODUCTS_H_
