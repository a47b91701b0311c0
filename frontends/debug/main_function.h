// The function of a module that is run and compared.
#ifndef TENON_FRONTENDS_DEBUG_MAIN_FUNCTION_H_
#define TENON_FRONTENDS_DEBUG_MAIN_FUNCTION_H_

#include "ir/core/operation.h"

namespace tenon {

// The main function of a module: @main, or the only function with a body. Null if there is none.
Operation* MainFunction(const Operation& module);

}  // namespace tenon

#endif  // TENON_FRONTENDS_DEBUG_MAIN_FUNCTION_H_
