// The operands of fused.embedding, as its kernels read them.
#ifndef TENON_KERNELS_EMBEDDING_CALL_H_
#define TENON_KERNELS_EMBEDDING_CALL_H_

#include <array>

#include "kernels/checked_index.h"
#include "kernels/kernel.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

struct EmbeddingCall {
  // An absent pair has no ids.
  std::array<TensorView, 3> ids, tables;
  TensorView added, scale, bias, out, sum;
  int64_t rows = 0, size = 0;
  // Strides over the rows of the result, in elements: of the three ids, and of `added`.
  std::array<Dims, 4> strides;
  int64_t added_step = 0;  // stride of `added` along a row
  fused::EmbeddingNorm norm;
  float epsilon;

  explicit EmbeddingCall(const RunArgs& args) {
    auto get = [&](size_t i) { return i < args.inputs.size() ? args.inputs[i] : TensorView{}; };
    for (size_t i = 0; i < 3; ++i) ids[i] = get(2 * i), tables[i] = get(2 * i + 1);
    added = get(6), scale = get(7), bias = get(8);
    out = args.outputs[0];
    if (args.outputs.size() > 1) sum = args.outputs[1];
    const DimSpan outer = out.shape.first(out.shape.size() - 1);
    rows = Product(outer), size = out.shape.back();
    for (size_t i = 0; i < 3; ++i) {
      strides[i] = ids[i].present() ? BroadcastStrides(ids[i].shape, outer) : Dims(outer.size(), 0);
    }
    strides[3] = Dims(outer.size() + 1, 0);
    if (added.present()) strides[3] = BroadcastStrides(added.shape, out.shape);
    added_step = strides[3].back();
    strides[3].pop_back();
    const auto& attrs = args.get<fused::EmbeddingAttrs>();
    norm = attrs.norm, epsilon = attrs.epsilon;
  }

  // Returns an error unless the rows of all tables are as long as those of the result.
  KernelStatus CheckRows() const {
    for (const TensorView& table : tables) {
      if (!table.present() || table.shape[1] == size) continue;
      return KernelStatus::Invalid("the rows of a table are not as long as those of the result");
    }
    return KernelStatus::Ok();
  }

  // Reads the element at `offset` of the ids of pair i into `index`; an error if it is not in its
  // table.
  KernelStatus Index(size_t i, int64_t offset, int64_t& index) const {
    index =
        ids[i].dtype == DType::kI32 ? ids[i].as<int32_t>()[offset] : ids[i].as<int64_t>()[offset];
    const int64_t extent = tables[i].shape[0];
    if (ResolveIndex(index, extent)) return KernelStatus::Ok();
    return IndexOutOfRange(index, extent, "a table", "rows");
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_EMBEDDING_CALL_H_
