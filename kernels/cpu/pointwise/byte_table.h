// Bodies of elementwise ops from one tensor of bytes to bytes: each result is a table of 256 bytes.
#ifndef TENON_KERNELS_CPU_POINTWISE_BYTE_TABLE_H_
#define TENON_KERNELS_CPU_POINTWISE_BYTE_TABLE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/kernel.h"

namespace tenon {
struct PointwiseBody;
}  // namespace tenon

namespace tenon::kernels::cpu {

// The tables of a body, one for each result.
class ByteTables {
 public:
  // Computes the tables; null if the body has another form, or the input another shape than the
  // results.
  static std::unique_ptr<const ByteTables> Make(const PointwiseBody& body, const PrepareArgs& args);

  // Computes the results. The first may overwrite the input.
  void Run(const RunArgs& args) const;

 private:
  using Table = std::array<uint8_t, 256>;

  void RunRange(const RunArgs& args, int64_t begin, int64_t end) const;

  std::vector<Table> tables_;
};

// to[i] = table[x[i]] for n bytes; `to` may be x. The loop for the active instruction set.
using LookUpBytes = void (*)(const uint8_t* table, const uint8_t* x, uint8_t* to, int64_t n);
LookUpBytes ActiveLookUpBytes();
// Needs AVX-512 with VBMI; null where the processor has none.
LookUpBytes LookUpBytesAvx512Vnni();

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_POINTWISE_BYTE_TABLE_H_
