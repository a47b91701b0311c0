// ten.pad with elements of the operand: its edges, reflected or from the other end. Which element
// of an axis shows where follows from shapes and is decided once.
#include <cstring>
#include <vector>

#include "kernels/calls/pad_source.h"
#include "kernels/cpu/support.h"
#include "kernels/kernel_list.h"
#include "kernels/op_attrs.h"
#include "kernels/shape.h"

namespace tenon::kernels {
namespace {

// Neighbours along the last padded axis; in bytes of a row of the result, and of the operand.
struct Piece {
  int64_t to, from, count;
  bool forward;  // in the operand's order too, else backward
};

struct PadState final : KernelState {
  int64_t rows = 0;                           // of the result: all axes before the last padded one
  int64_t row_bytes = 0;                      // of the result
  int64_t unit = 0;                           // bytes of all axes behind it
  std::vector<std::vector<int64_t>> sources;  // of the axes of `rows`: bytes of the operand
  std::vector<Piece> pieces;                  // of a row
};

std::string SupportsPad(const CallSignature& call) {
  const auto mode = static_cast<const ten::PadAttrs*>(call.attrs)->mode;
  return mode == ten::PadMode::kConstant ? "pads with elements of the operand only" : std::string();
}

std::vector<Piece> PiecesOf(const std::vector<int64_t>& sources, int64_t unit) {
  std::vector<Piece> pieces;
  for (size_t i = 0; i < sources.size();) {
    const auto run = [&](int64_t step) {
      size_t end = i + 1;
      while (end < sources.size() && sources[end] == sources[end - 1] + step) ++end;
      return static_cast<int64_t>(end - i);
    };
    const int64_t forward = run(1), backward = run(-1);
    const int64_t count = std::max(forward, backward);
    pieces.push_back({static_cast<int64_t>(i) * unit, sources[i] * unit, count, forward == count});
    i += static_cast<size_t>(count);
  }
  return pieces;
}

KernelStatus PreparePadWith(PrepareArgs& args, std::shared_ptr<KernelState>& state) {
  const auto& attrs = *static_cast<const ten::PadAttrs*>(args.attrs);
  const TensorView &x = args.inputs[0], &out = args.outputs[0];
  auto made = std::make_shared<PadState>();
  state = made;
  if (out.numel() == 0) return KernelStatus::Ok();
  if (x.numel() == 0) {
    return KernelStatus::Invalid("an empty axis has nothing to pad with (expected mode constant)");
  }
  size_t last = 0;
  for (size_t axis = 0; axis < out.shape.size(); ++axis) {
    if (out.shape[axis] != x.shape[axis] || attrs.pads[axis] != 0) last = axis;
  }
  const auto element = static_cast<int64_t>(SizeOf(out.dtype));
  const Dims strides = RowMajorStrides(x.shape);
  made->rows = 1;
  made->unit = element;
  if (out.shape.empty()) {
    made->row_bytes = element;
    made->pieces = {{0, 0, 1, true}};
    return KernelStatus::Ok();
  }
  made->unit = strides[last] * element;
  made->row_bytes = out.shape[last] * made->unit;
  for (size_t axis = 0; axis <= last; ++axis) {
    std::vector<int64_t> sources;
    for (int64_t i = 0; i < out.shape[axis]; ++i) {
      sources.push_back(PadSource(i, x.shape[axis], attrs.pads[axis],
                                  attrs.pads[axis + out.shape.size()], attrs.mode));
    }
    if (axis == last) {
      made->pieces = PiecesOf(sources, made->unit);
    } else {
      made->rows *= out.shape[axis];
      for (int64_t& source : sources) source *= strides[axis] * element;
      made->sources.push_back(std::move(sources));
    }
  }
  return KernelStatus::Ok();
}

template <int64_t kUnit>
void CopyBackward(const char* from, char* to, int64_t count, int64_t unit) {
  const int64_t bytes = kUnit > 0 ? kUnit : unit;
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(to + i * bytes, from - i * bytes, static_cast<size_t>(bytes));
  }
}

void CopyRow(const PadState& s, const char* from, char* to) {
  for (const Piece& piece : s.pieces) {
    const char* const first = from + piece.from;
    if (piece.forward) {
      std::memcpy(to + piece.to, first, static_cast<size_t>(piece.count * s.unit));
    } else if (s.unit == 4) {
      CopyBackward<4>(first, to + piece.to, piece.count, 4);
    } else {
      CopyBackward<0>(first, to + piece.to, piece.count, s.unit);
    }
  }
}

KernelStatus RunPad(const RunArgs& args) {
  const auto& s = *static_cast<const PadState*>(args.state);
  const char* const x = args.inputs[0].as<char>();
  char* const out = args.outputs[0].as<char>();
  args.device->parallel->operator()(
      s.rows, cpu::RowGrain(s.row_bytes / 4), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          int64_t rest = row, from = 0;
          for (size_t axis = s.sources.size(); axis-- > 0;) {
            const auto extent = static_cast<int64_t>(s.sources[axis].size());
            from += s.sources[axis][static_cast<size_t>(rest % extent)];
            rest /= extent;
          }
          CopyRow(s, x + from, out + row * s.row_bytes);
        }
      });
  return KernelStatus::Ok();
}

}  // namespace

Kernel CpuPadWithElements() {
  return {.op = "ten.pad",
          .name = "cpu.pad.with_elements",
          .priority = 10,
          .run = RunPad,
          .prepare = PreparePadWith,
          .supports = SupportsPad};
}

}  // namespace tenon::kernels
