// Parts of Load and Compile that other files of this folder use. Internal to frontends/cpp.
#ifndef TENON_FRONTENDS_CPP_LOADING_H_
#define TENON_FRONTENDS_CPP_LOADING_H_

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "frontends/cpp/tenon.h"
#include "kernels/registry.h"

namespace tenon {

// Returns the kernels of this build and of the extension, which may be null.
std::shared_ptr<const kernels::KernelRegistry> KernelsOf(const Extension* extension);

// Lowers a module whose function `main` can be run, in place. Errors are those of Compile.
absl::Status LowerModel(const Model& model, bool reference, bool gpu);

}  // namespace tenon

#endif  // TENON_FRONTENDS_CPP_LOADING_H_
