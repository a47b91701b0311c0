// Calls of fused.rotary, as rows of the last axis, and of nn.rotary_embedding, as heads at
// positions.
#ifndef TENON_KERNELS_CALLS_ROTARY_CALL_H_
#define TENON_KERNELS_CALLS_ROTARY_CALL_H_

#include <algorithm>
#include <string>

#include "kernels/checked_index.h"
#include "kernels/kernel.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {

struct RotaryCall {
  int64_t rows = 0, size = 0, rotated = 0;  // size: elements of a row
  Dims outer;                               // the axes before the last one
  Dims cos_strides, sin_strides;            // of all axes, in elements; 0 where a table repeats

  static RotaryCall Of(const TensorView& x, const TensorView& cos, const TensorView& sin,
                       const fused::RotaryAttrs& attrs) {
    RotaryCall call;
    call.size = x.dim(-1);
    call.rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : call.size;
    call.outer.assign(x.shape.begin(), x.shape.end() - 1);
    call.rows = 1;
    for (int64_t extent : call.outer) call.rows *= extent;
    Dims shape = call.outer;
    shape.push_back(call.rotated);
    call.cos_strides = BroadcastStrides(cos.shape, shape);
    call.sin_strides = BroadcastStrides(sin.shape, shape);
    return call;
  }

  // The offset in a table of the row that belongs to row `row` of x.
  int64_t Begin(const Dims& strides, int64_t row) const {
    int64_t at = 0;
    for (size_t i = outer.size(); i-- > 0; row /= outer[i]) at += row % outer[i] * strides[i];
    return at;
  }
};

struct RotaryEmbeddingCall {
  int64_t batch = 0, heads = 0, length = 0, dim = 0;  // dim: elements of a head
  int64_t half = 0;                                   // number of rotated pairs
  int64_t batch_stride = 0, head_stride = 0, row_stride = 0;
  // cos and sin have shape [positions, half] if positions are given; otherwise they broadcast to
  // [batch, length, half].
  Dims angle_strides, position_strides;
  TensorView positions;
  int64_t table_rows = 0;

  // Returns an error unless the shapes fit each other. Call Of only if they do.
  static KernelStatus Check(std::span<const TensorView> inputs,
                            const nn::RotaryEmbeddingAttrs& attrs) {
    const TensorView &x = inputs[0], &cos = inputs[1], &sin = inputs[2];
    if (x.rank() != 3 && x.rank() != 4) return KernelStatus::Invalid("x must be of rank 3 or 4");
    const int64_t heads = x.rank() == 3 && attrs.num_heads > 0 ? attrs.num_heads : 1;
    const int64_t dim = x.dim(-1) / heads, rotated = attrs.rotary_dim > 0 ? attrs.rotary_dim : dim;
    if (x.dim(-1) % heads != 0 || rotated > dim) {
      return KernelStatus::Invalid(std::to_string(x.dim(-1)) + " elements are not " +
                                   std::to_string(heads) + " heads of at least " +
                                   std::to_string(rotated));
    }
    const bool has_positions = inputs.size() > 3 && inputs[3].present();
    const int64_t rows[3] = {x.shape[0], x.shape[x.rank() - 2], rotated / 2};
    const auto fits = [&rows](DimSpan shape, size_t rank) {
      if (shape.size() > rank) return false;
      for (size_t i = 0; i < shape.size(); ++i) {
        const int64_t extent = shape[i];
        if (extent != 1 && extent != rows[rank - shape.size() + i]) return false;
      }
      return true;
    };
    const auto is_table = [&](const TensorView& t) {
      return t.rank() > 0 && t.dim(-1) == rows[2] &&
             (has_positions ? t.rank() == 2 : fits(t.shape, 3));
    };
    // The angles of a position must lie at one offset in both tables, whatever axes of one element
    // they have. With positions, both tables must have the row.
    const auto same_places = [&] {
      const Dims cos_strides = BroadcastStrides(cos.shape, rows);
      const Dims sin_strides = BroadcastStrides(sin.shape, rows);
      return std::equal(cos_strides.begin(), cos_strides.end(), sin_strides.begin(),
                        sin_strides.end());
    };
    if (!is_table(cos) || !is_table(sin) || (!has_positions && !same_places()) ||
        (has_positions && !fits(inputs[3].shape, 2))) {
      return KernelStatus::Invalid("the tables or positions do not fit x");
    }
    return KernelStatus::Ok();
  }

  static RotaryEmbeddingCall Of(std::span<const TensorView> inputs,
                                const nn::RotaryEmbeddingAttrs& attrs) {
    const TensorView &x = inputs[0], &cos = inputs[1];
    const auto& s = x.shape;
    RotaryEmbeddingCall call;
    call.batch = s[0];
    if (x.rank() == 4) {
      call.heads = s[1], call.length = s[2], call.dim = s[3];
      call.head_stride = s[2] * s[3], call.row_stride = s[3];
    } else {
      call.heads = attrs.num_heads > 0 ? attrs.num_heads : 1;
      call.length = s[1], call.dim = s[2] / call.heads;
      call.head_stride = call.dim, call.row_stride = s[2];
    }
    call.batch_stride = call.heads * call.length * call.dim;
    call.half = (attrs.rotary_dim > 0 ? attrs.rotary_dim : call.dim) / 2;
    if (inputs.size() > 3) call.positions = inputs[3];
    const int64_t angles[3] = {call.batch, call.length, call.half};
    const int64_t rows[2] = {call.batch, call.length};
    call.angle_strides = BroadcastStrides(cos.shape, angles);
    call.position_strides =
        call.positions.present() ? BroadcastStrides(call.positions.shape, rows) : Dims(2, 0);
    if (call.positions.present()) call.table_rows = std::min(cos.shape[0], inputs[2].shape[0]);
    return call;
  }

  // Sets `at` to the offset of the angles of position i; an error if the table has no such row.
  KernelStatus AnglesAt(int64_t b, int64_t i, int64_t& at) const {
    if (!positions.present()) {
      at = b * angle_strides[0] + i * angle_strides[1];
      return KernelStatus::Ok();
    }
    const int64_t position =
        positions.as<int64_t>()[b * position_strides[0] + i * position_strides[1]];
    if (position < 0 || position >= table_rows) {
      return KernelStatus::Invalid("position " + std::to_string(position) +
                                   " is out of range for a table of " + std::to_string(table_rows) +
                                   " rows" + ExpectedRange<int64_t>(0, table_rows - 1));
    }
    at = position * half;
    return KernelStatus::Ok();
  }
};

}  // namespace tenon::kernels

#endif  // TENON_KERNELS_CALLS_ROTARY_CALL_H_
