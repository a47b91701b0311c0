// Machine code for bodies of elementwise ops, made when a kernel is prepared: everything between
// loading the inputs and storing the results happens in vector registers.
#ifndef TENON_KERNELS_CPU_JIT_POINTWISE_JIT_H_
#define TENON_KERNELS_CPU_JIT_POINTWISE_JIT_H_

#include <cstdint>
#include <memory>
#include <span>

#include "ir/base/pointwise.h"
#include "kernels/cpu/isa.h"

namespace tenon::kernels::cpu {

// The code of one body.
class PointwiseJit {
 public:
  virtual ~PointwiseJit() = default;

  // Makes code for AVX2 or AVX-512, as `isa` allows. `scalar` marks inputs with one element for a
  // row. Returns null if the body has ops or element types that are not compiled, or more live
  // values than registers. Also returns null without AVX2, in a build without an assembler, and if
  // the system refuses executable memory.
  static std::unique_ptr<const PointwiseJit> Make(const PointwiseBody& body,
                                                  std::span<const bool> scalar, Isa isa);

  // Computes `rows` rows of n elements. `pointers` are those of the inputs, then of the results, at
  // the first row; the call changes them. `steps` are the distances to the next row, in bytes.
  // Results may overwrite inputs.
  void Run(const void** pointers, const int64_t* steps, int64_t rows, int64_t n) const {
    run_(pointers, steps, rows, n);
  }

 protected:
  using Code = void (*)(const void** pointers, const int64_t* steps, int64_t rows, int64_t n);
  Code run_ = nullptr;
};

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_JIT_POINTWISE_JIT_H_
