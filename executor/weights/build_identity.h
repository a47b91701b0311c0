// What packed weights and lowered programs of this build depend on.
#ifndef TENON_EXECUTOR_WEIGHTS_BUILD_IDENTITY_H_
#define TENON_EXECUTOR_WEIGHTS_BUILD_IDENTITY_H_

#include <string_view>

namespace tenon {

// Returns hexadecimal digits that differ from those of builds with other kernels, another executor
// or other operations: a hash of their sources (tools/cmake/TenonIdentity.cmake). The static text
// is the same on every machine.
std::string_view BuildIdentity();

}  // namespace tenon

#endif  // TENON_EXECUTOR_WEIGHTS_BUILD_IDENTITY_H_
