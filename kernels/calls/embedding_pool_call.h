// The operands of fused.embedding_pool, as its kernels read them.
#ifndef TENON_KERNELS_CALLS_EMBEDDING_POOL_CALL_H_
#define TENON_KERNELS_CALLS_EMBEDDING_POOL_CALL_H_

#include <cstdint>

#include "kernels/checked_index.h"
#include "kernels/kernel.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

struct EmbeddingPoolCall {
  TensorView ids, table, out;
  int64_t rows = 0, size = 0;  // of the result
  int64_t count = 0;           // ids that each row of the result adds
  int64_t inner = 0;           // distance between two of them
  bool mean = false;

  explicit EmbeddingPoolCall(const RunArgs& args)
      : ids(args.inputs[0]), table(args.inputs[1]), out(args.outputs[0]) {
    const auto& attrs = args.get<fused::EmbeddingPoolAttrs>();
    const auto axis = static_cast<size_t>(NormalizeAxis(attrs.axis, ids.rank()));
    count = ids.shape[axis];
    inner = Product(ids.shape.subspan(axis + 1));
    size = out.shape.back();
    rows = Product(ids.shape.first(axis)) * inner;
    mean = attrs.mean;
  }

  // Reads the row of the table that summand `k` of row `row` is into `index`; an error if the table
  // does not have it.
  KernelStatus Index(int64_t row, int64_t k, int64_t& index) const {
    const int64_t at = (row / inner * count + k) * inner + row % inner;
    index = IndexAt(ids, at);
    const int64_t extent = table.shape[0];
    if (ResolveIndex(index, extent)) return KernelStatus::Ok();
    return IndexOutOfRange(index, extent, "the table", "rows");
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_EMBEDDING_POOL_CALL_H_
