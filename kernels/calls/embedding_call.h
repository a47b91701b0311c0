// The operands of fused.embedding, as its kernels read them.
#ifndef TENON_KERNELS_CALLS_EMBEDDING_CALL_H_
#define TENON_KERNELS_CALLS_EMBEDDING_CALL_H_

#include <array>
#include <cstdint>

#include "kernels/checked_index.h"
#include "kernels/kernel.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

struct EmbeddingCall {
  struct Lookup {
    TensorView ids, table;
    Dims strides;  // of the ids, over the rows of the result
  };
  absl::InlinedVector<Lookup, 4> lookups;
  TensorView added, scale, bias, out, sum;
  int64_t rows = 0, size = 0;
  DimSpan outer;           // the rows of the result as axes
  Dims added_strides;      // of `added`, over the rows of the result
  int64_t added_step = 0;  // … and along a row
  fused::EmbeddingNorm norm;
  float epsilon;

  explicit EmbeddingCall(const RunArgs& args) {
    added = args.inputs[0], scale = args.inputs[1], bias = args.inputs[2];
    out = args.outputs[0];
    if (args.outputs.size() > 1) sum = args.outputs[1];
    outer = out.shape.first(out.shape.size() - 1);
    rows = Product(outer), size = out.shape.back();
    for (size_t i = 3; i + 1 < args.inputs.size(); i += 2) {
      lookups.push_back(
          {args.inputs[i], args.inputs[i + 1], BroadcastStrides(args.inputs[i].shape, outer)});
    }
    added_strides = Dims(outer.size() + 1, 0);
    if (added.present()) added_strides = BroadcastStrides(added.shape, out.shape);
    added_step = added_strides.back();
    added_strides.pop_back();
    const auto& attrs = args.get<fused::EmbeddingAttrs>();
    norm = attrs.norm, epsilon = attrs.epsilon;
  }

  // Returns an error unless the rows of all tables are as long as those of the result.
  KernelStatus CheckRows() const {
    for (const Lookup& lookup : lookups) {
      if (lookup.table.shape[1] == size) continue;
      return KernelStatus::Invalid("the rows of a table are not as long as those of the result");
    }
    return KernelStatus::Ok();
  }
};

// Walks over the rows of the result: the rows of the tables and of `added` that each one adds.
class EmbeddingWalk {
 public:
  explicit EmbeddingWalk(const EmbeddingCall& call, int64_t row = 0)
      : call_(call), added_(call.outer, {call.added_strides}, row) {
    for (const EmbeddingCall::Lookup& lookup : call.lookups) {
      ids_.emplace_back(call.outer, std::array<Dims, 1>{lookup.strides}, row);
    }
  }
  void Next() {
    added_.Next();
    for (StridedWalk<1>& walk : ids_) walk.Next();
  }
  // Where the row of `added` begins.
  int64_t added() const { return added_[0]; }
  // Reads the row of table i into `index`; an error if the table does not have it.
  KernelStatus Index(size_t i, int64_t& index) const {
    const auto& [ids, table, strides] = call_.lookups[i];
    const int64_t at = ids_[i][0];
    index = ids.dtype == DType::kI32 ? ids.as<int32_t>()[at] : ids.as<int64_t>()[at];
    const int64_t extent = table.shape[0];
    if (ResolveIndex(index, extent)) return KernelStatus::Ok();
    return IndexOutOfRange(index, extent, "a table", "rows");
  }

 private:
  const EmbeddingCall& call_;
  StridedWalk<1> added_;
  absl::InlinedVector<StridedWalk<1>, 4> ids_;
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_EMBEDDING_CALL_H_
