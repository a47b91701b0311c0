// What an operation computes in order to know how large its results are.
#ifndef TENON_KERNELS_CALLS_FOUND_RESULTS_H_
#define TENON_KERNELS_CALLS_FOUND_RESULTS_H_

#include <memory>
#include <utility>

#include "kernels/kernel.h"

namespace tenon::kernels {

// Holds such a thing, as the boxes that are selected, from the shapes of the results to the kernel:
// it is most of the work. A kernel that takes it has no Prepare. Each operation has one type T.
template <typename T>
struct FoundResults : KernelState {
  explicit FoundResults(T found) : value(std::move(found)) {}
  T value;
};

// Keeps `found` in `kept`, unless that is null.
template <typename T>
void KeepFound(T found, std::shared_ptr<KernelState>* kept) {
  if (kept != nullptr) *kept = std::make_shared<FoundResults<T>>(std::move(found));
}

// Returns what was kept for this call. Null if the shapes were known otherwise: then the kernel
// computes it. Requires that RunArgs::state is null or of this operation.
template <typename T>
const T* KeptOf(const RunArgs& args) {
  return args.state == nullptr ? nullptr : &static_cast<FoundResults<T>*>(args.state)->value;
}

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_FOUND_RESULTS_H_
