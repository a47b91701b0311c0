// fused.linear as a part of other kernels, which run it on blocks of rows.
#ifndef TENON_KERNELS_CPU_LINEAR_LINEAR_PART_H_
#define TENON_KERNELS_CPU_LINEAR_LINEAR_PART_H_

#include <algorithm>
#include <memory>
#include <string>

#include "kernels/kernel.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels::cpu {

// A packed matrix, which several parts share.
struct PackedMatrix {
  std::string layout;
  PackedBytes bytes;
};

// One linear layer on so many rows. Immutable once prepared.
class LinearPart {
 public:
  // Packs the matrix, input `w` of the kernel that `args` prepares, unless `packed` has it in the
  // same layout. `bias` is another input, or absent there. Requires rows, columns and depth of at
  // least 1.
  KernelStatus Prepare(PrepareArgs& args, size_t w, size_t bias, int64_t rows,
                       const fused::LinearAttrs& attrs, PackedMatrix& packed);
  size_t scratch_bytes() const { return scratch_bytes_; }
  int64_t depth() const { return depth_; }
  int64_t columns() const { return columns_; }
  // out = activation(x * w + bias) + residual for exactly as many rows as were prepared. `residual`
  // may be null, and may be `out`.
  KernelStatus Run(const RunArgs& args, const float* x, const float* residual, float* out,
                   void* scratch) const;

 private:
  fused::LinearAttrs attrs_;
  size_t w_ = 0, bias_ = 0;
  int64_t rows_ = 0, depth_ = 0, columns_ = 0;
  std::shared_ptr<KernelState> state_;
  size_t scratch_bytes_ = 0;
};

// A linear layer on blocks of rows, of which the last one may be shorter.
class BlockedLinear {
 public:
  KernelStatus Prepare(PrepareArgs& args, size_t w, size_t bias, int64_t rows, int64_t block,
                       const fused::LinearAttrs& attrs);
  size_t scratch_bytes() const { return std::max(whole_.scratch_bytes(), last_.scratch_bytes()); }
  int64_t depth() const { return whole_.depth(); }
  int64_t columns() const { return whole_.columns(); }
  // Of `count` rows: a block, or what is left behind the last whole one.
  const LinearPart& Of(int64_t count) const { return count == block_ ? whole_ : last_; }

 private:
  LinearPart whole_, last_;
  int64_t block_ = 0;
};

// How many rows make a block, of `row_floats` numbers each, so that they stay in the cache between
// two steps of the work. All rows, where matrices are too large to be read again for each block.
int64_t RowsOfBlock(int64_t rows, int64_t row_floats, int64_t matrix_floats);

}  // namespace tenon::kernels::cpu

#endif  // TENON_KERNELS_CPU_LINEAR_LINEAR_PART_H_
